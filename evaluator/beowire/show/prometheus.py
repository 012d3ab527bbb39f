# SPDX-License-Identifier: BSD-3-Clause
"""Records as Prometheus's text (exposition format 0.0.4), for node_exporter's textfile collector or
a push gateway: the newest figures of each cell, of all launches of a run together. Pure.

Names and units are as Prometheus has them: seconds, bytes, a share as a share. What is not known
has no line: there is no NaN.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from beowire.analysis.curves import combined, median_or_none
from beowire.record.lines import Result, Summary
from beowire.record.reader import Record
from beowire.visible import visible

_NS = 1e-9


@dataclass
class _Metric:
    help: str
    lines: list[str] = field(default_factory=list)


_HELP = {
    "beowire_time_seconds": "What a message takes: half a round trip, or the pattern's time.",
    "beowire_time_seconds_low": "Low end of the 95 % interval of the median time.",
    "beowire_time_seconds_high": "High end of the 95 % interval of the median time.",
    "beowire_rate_bytes_per_second": "Throughput, median.",
    "beowire_cpu_seconds_per_message": "User, system and softirq time of both ends.",
    "beowire_messages": "Measured messages.",
    "beowire_lost_messages": "Messages that were lost.",
    "beowire_ok": "1: the cell is whole.",
    "beowire_run_timestamp_seconds": "When the run began.",
    "beowire_run_ok": "1: the run ended well.",
}


def text(records: Sequence[Record]) -> str:
    """All of it. Of several records with the same cell the one that began last counts."""
    metrics = {name: _Metric(text) for name, text in _HELP.items()}
    cells: dict[tuple[str, str, int, str], list[Result]] = {}
    ordered = sorted(records, key=lambda record: record.meta.started)
    for record in ordered:
        own: dict[tuple[str, str, int, str], list[Result]] = {}
        for result in record.results:
            key = result.driver, result.pattern, result.size, result.load or ""
            own.setdefault(key, []).append(result)
        cells |= own
    for launches in cells.values():
        for name, labels, value in _of(launches):
            if math.isfinite(value):
                metrics[name].lines.append(f"{name}{_labels(labels)} {value:.9g}")
    for record in ordered[-1:]:
        ends = {"node": record.meta.ends[0].node, "peer": record.meta.ends[1].node}
        ends["version"] = record.meta.beowire
        ok = record.end is not None and record.end.status == "ok"
        for name, value in (
            ("beowire_run_timestamp_seconds", record.meta.started.timestamp()),
            ("beowire_run_ok", float(ok)),
        ):
            metrics[name].lines.append(f"{name}{_labels(ends)} {value:.16g}")
    return "".join(
        "\n".join([f"# HELP {name} {one.help}", f"# TYPE {name} gauge", *one.lines, ""])
        for name, one in metrics.items()
        if one.lines
    )


def _of(launches: Sequence[Result]) -> Iterator[tuple[str, dict[str, str], float]]:
    first = launches[0]
    labels = {"driver": first.driver, "pattern": first.pattern, "size": str(first.size)}
    if first.load:
        labels["load"] = first.load
    if times := [time for one in launches if (time := one.time()) is not None]:
        time = combined(times)
        for quantile, value in _quantiles(time):
            yield "beowire_time_seconds", labels | {"quantile": quantile}, value * _NS
        if time.ci95 is not None:
            yield "beowire_time_seconds_low", labels, time.ci95[0] * _NS
            yield "beowire_time_seconds_high", labels, time.ci95[1] * _NS
    if rates := [rate for one in launches if (rate := one.rate_bytes_per_s) is not None]:
        yield "beowire_rate_bytes_per_second", labels, combined(rates).median
    if (cpu := median_or_none([one.cpu_ns_per_message for one in launches])) is not None:
        yield "beowire_cpu_seconds_per_message", labels, cpu * _NS
    yield "beowire_messages", labels, float(sum(one.n for one in launches))
    yield "beowire_lost_messages", labels, float(sum(one.lost for one in launches))
    yield "beowire_ok", labels, float(all(one.status == "ok" for one in launches))


def _quantiles(time: Summary) -> Iterator[tuple[str, float]]:
    for quantile, value in (("0.5", time.median), ("0.9", time.p90), ("0.99", time.p99)):
        if value is not None:
            yield quantile, value


def _labels(labels: dict[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return visible(value, "\n").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
