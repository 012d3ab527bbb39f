# SPDX-License-Identifier: BSD-3-Clause
"""Records as a run would write them, from a model of a machine instead of a machine.

Deterministic: the same arguments give the same record. The figures resemble those of two
namespaces on one host, and are good for looking at the report, not for quoting.
"""

import functools
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Literal

from pydantic import JsonValue

from beowire.plan.patterns import PATTERNS, Pattern
from beowire.record.histogram import Histogram as Counts
from beowire.record.lines import (
    Clock,
    CpuCost,
    CpuMethods,
    DriverInfo,
    End,
    Histogram,
    Line,
    Meta,
    NodeEnd,
    ProbeInfo,
    Result,
    Skipped,
    Summary,
    Wire,
)
from beowire.record.parts import Link
from beowire.record.reader import Record
from beowire.record.writer import RecordWriter

SIZES = (1, 4, 8, 13, 16, 64, 256, 1024, 1536, 4096, 16384, 65536, 262144, 1048576, 4194304)

STARTED = datetime(2026, 11, 20, 15, 4, 5, tzinfo=UTC)


@dataclass(frozen=True)
class Model:
    """A driver's half round trip: start + size / rate, spread by a log-normal, with a slow path."""

    start_ns: float
    bytes_per_ns: float
    spread: float
    slow_share: float
    summary: str
    placement: str = "pair"
    spins: bool = True


MODELS = {
    "beowire": Model(1620, 1.05, 0.05, 0.004, "Beowire over raw frames: reliable, spinning"),
    "packet": Model(1290, 1.12, 0.04, 0.003, "bare Ethernet frames, a receive ring, spinning"),
    "tcp-spin": Model(3900, 0.98, 0.07, 0.01, "TCP without delay, spinning as MPI does"),
    "tcp": Model(29000, 0.95, 0.15, 0.06, "TCP without delay, blocking", spins=False),
    "udp": Model(3100, 1.1, 0.08, 0.02, "UDP datagrams, spinning"),
    "shm": Model(110, 9.0, 0.06, 0.002, "shared memory of one host", placement="host"),
    "memcpy": Model(18, 11.0, 0.03, 0.0, "one copy in memory", placement="process"),
}


def lines(
    drivers: tuple[str, ...] = tuple(MODELS),
    *,
    sizes: tuple[int, ...] = SIZES,
    patterns: tuple[str, ...] = ("pingpong", "stream"),
    launches: int = 1,
    samples: int = 500,
    seed: int = 1,
    node: str = "node0",
    wire_bytes_per_s: float | None = 1.2e9,
) -> list[Line]:
    """The lines of a whole record. A driver that has no model gets one that its name decides."""
    options: dict[str, JsonValue] = {
        "drivers": list(drivers),
        "sizes": list(sizes),
        "patterns": list(patterns),
        "budget_s": 120,
        "launches": launches,
        "seed": seed,
    }
    found: list[Line] = [_meta(drivers, options, node, wire_bytes_per_s)]
    for pattern in patterns:
        for launch in range(1, launches + 1):
            for driver in drivers:
                if "peer" in PATTERNS[pattern].needs and model(driver).placement == "process":
                    continue
                key = f"{seed} {driver} {pattern}"
                found += (_cell(key, size, launch, samples) for size in sizes)
    found.append(Skipped(driver="verbs", reason="no RDMA device: `rdma link` shows none on node0"))
    found.append(
        Skipped(driver="udp", pattern="pingpong", size=8388608, reason="longer than a datagram")
    )
    finished = STARTED + timedelta(seconds=112.4)
    found.append(End(finished=finished, status="ok", elapsed_s=112.4))
    return found


@functools.cache
def _cell(key: str, size: int, launch: int, samples: int) -> Result:
    driver, pattern = key.split(maxsplit=1)[1].rsplit(maxsplit=1)
    random = Random(f"{key} {size} {launch}")
    kind = PATTERNS[pattern]
    make = _pingpong if kind.is_times else _stream
    return _of_pattern(kind, make(driver, size, launch, samples, random))


def write(path: Path, content: list[Line]) -> Path:
    """Writes the lines as a record."""
    with RecordWriter(path) as writer:
        for line in content:
            writer.write(line)
    return path


def held(content: list[Line]) -> Record:
    """The lines as a record that was read, without a file."""
    meta, end = content[0], content[-1]
    assert isinstance(meta, Meta) and isinstance(end, End)
    results = [line for line in content if isinstance(line, Result)]
    skipped = [line for line in content if isinstance(line, Skipped)]
    return Record(Path("record.jsonl"), meta, results, skipped, end)


def model(driver: str) -> Model:
    """The driver's model."""
    known = MODELS.get(driver)
    return known or Model(2000 + 500 * len(driver), 0.9, 0.06, 0.01, f"the driver {driver}")


def _meta(
    drivers: tuple[str, ...],
    options: dict[str, JsonValue],
    node: str,
    wire_bytes_per_s: float | None,
) -> Meta:
    environment: dict[str, str | int | float | bool | None] = {
        "hostname": node,
        "kernel": "6.18.2-amd64",
        "distribution": "Debian GNU/Linux 12 (bookworm)",
        "cpu_model": "AMD EPYC 9B45",
        "cpus": 2,
        "cpu_governor": None,
        "memory_bytes": 25276502016,
        "mtu": 1500,
        "mac": "02:00:00:00:00:01",
        "net_ipv4_tcp_congestion_control": "cubic",
        "offload_tso": True,
        "offload_gro": True,
        "load_average": 0.52,
    }
    clock = Clock(
        source="CLOCK_MONOTONIC", overhead_ns=22.4, overhead_p99_ns=30.0, resolution_ns=1.0
    )
    ends = [
        NodeEnd(
            node=node,
            address="10.77.0.1",
            interface="bw0",
            cpu=0,
            clock=clock,
            environment=environment,
        ),
        NodeEnd(
            node="node1",
            address="10.77.0.2",
            interface="bw0",
            cpu=1,
            clock=clock,
            environment=environment | {"hostname": "node1", "mac": "02:00:00:00:00:02"},
        ),
    ]
    return Meta(
        beowire="0.1.0",
        started=STARTED,
        command=["beowire", "compare", "--lab", "--drivers", ",".join(drivers), "--out", "my run"],
        options=options,
        link=Link(
            kind="lab",
            topology="switch",
            mtu=1500,
            rate_bits_per_s=1e10 if wire_bytes_per_s else None,
            delay_ns=0,
            loss=0,
            congestion_control="cubic",
        ),
        wire=Wire(payload_bytes_per_s=wire_bytes_per_s) if wire_bytes_per_s else None,
        ends=ends,
        drivers=[
            DriverInfo(
                name=name,
                summary=model(name).summary,
                placement=model(name).placement,
                reliable=name not in ("udp", "packet"),
                spins=model(name).spins,
                min_size=1,
                max_size=1 << 30,
                ready=True,
            )
            for name in drivers
        ],
    )


#: Figures that a record may have.
PROBES = [
    ProbeInfo.model_validate(
        {
            "name": name,
            "summary": f"the {name}",
            "unit": unit,
            "per": per,
            "probe": probe,
            "how": "/proc/" + "a_long_name_" * 6 if name == "user_ns" else "by heart",
            "of": "machine",
            "disturbs": probe == "soaker",
            "reasons": reasons,
        }
    )
    for name, unit, per, probe, reasons in (
        ("taken_ns", "ns", "message", "soaker", ["", ""]),
        ("user_ns", "ns", "message", "usage", ["", ""]),
        ("voluntary_switches", "", "message", "usage", ["", ""]),
        ("interrupts", "", "second", "interrupts", ["", ""]),
        ("cycles", "", "message", "hardware", ["no such counter", "<i>not allowed</i>"]),
    )
]


def with_probes(record: Record, *, differ: bool = False) -> Record:
    """The record, as if probes had counted."""
    results = [
        one.model_copy(
            update={
                "service_demand_us_per_kb": 1.5,
                "bytes_per_system_s": [2e9, 3e9],
                "probes": [{"interrupts": 44_432.0, "taken_ns": 700.0}, {"interrupts": 1000.0}],
                "probes_ci95": [{"interrupts": (43_000.0, 46_000.0)}, {"interrupts": None}],
                "probed_rounds": 2,
                "cpu_methods": CpuMethods(accounted_ns=600.0, taken_ns=700.0, differ=differ),
            }
        )
        for one in record.results
    ]
    meta = record.meta.model_copy(update={"probes": PROBES})
    return replace(record, meta=meta, results=results)


def with_load(record: Record, load: str, factor: float) -> Record:
    """The record with a second line of each ping-pong, beside a load that makes it slower."""

    def slower(summary: Summary) -> Summary:
        values = {name: getattr(summary, name) for name in ("median", "p90", "p99", "min", "max")}
        scaled = {name: value and value * factor for name, value in values.items()}
        low, high = summary.ci95 or (summary.median, summary.median)
        return summary.model_copy(update={**scaled, "ci95": (low * factor, high * factor)})

    loaded = [
        one.model_copy(
            update={"load": load, "half_rtt_ns": slower(one.half_rtt_ns), "rate_bytes_per_s": None}
        )
        for one in record.results
        if one.half_rtt_ns is not None
    ]
    described: JsonValue = {"kind": "hog", "load": load, "in_turns": True}
    options = {**record.meta.options, "load": described}
    meta = record.meta.model_copy(update={"options": options})
    return replace(record, meta=meta, results=[*record.results, *loaded])


def _of_pattern(pattern: Pattern, line: Result) -> Result:
    """The line as that of another pattern that reports the same."""
    changes: dict[str, object] = {"pattern": pattern.name}
    if pattern.field == "time_ns":
        changes |= {"half_rtt_ns": None, "time_ns": line.half_rtt_ns}
    return line.model_copy(update=changes)


def _pingpong(driver: str, size: int, launch: int, samples: int, random: Random) -> Result:
    shape = model(driver)
    typical = shape.start_ns + size / shape.bytes_per_ns
    halves = sorted(
        typical
        * random.lognormvariate(0, shape.spread)
        * (random.uniform(2, 12) if random.random() < shape.slow_share else 1)
        for _ in range(samples)
    )
    counts = Counts.of_values(round(2 * half) for half in halves)
    half_rtt = Summary(
        median=halves[samples // 2],
        ci95=_interval(halves, 0.5),
        p90=halves[int(samples * 0.9)],
        p99=halves[int(samples * 0.99)] if samples >= 368 else None,
        min=halves[0],
        max=halves[-1],
    )
    assert half_rtt.ci95 is not None and half_rtt.p90 is not None
    return Result(
        driver=driver,
        pattern="pingpong",
        size=size,
        launch=launch,
        n=samples,
        rounds=20,
        batch=1,
        lost=0,
        status="ok",
        stopped_by=_rule(random),
        half_rtt_ns=half_rtt,
        rate_bytes_per_s=Summary(
            median=size / half_rtt.median * 1e9,
            ci95=(size / half_rtt.ci95[1] * 1e9, size / half_rtt.ci95[0] * 1e9),
            p90=size / half_rtt.p90 * 1e9,
            p99=None if half_rtt.p99 is None else size / half_rtt.p99 * 1e9,
            min=size / half_rtt.max * 1e9,
            max=size / half_rtt.min * 1e9,
        ),
        round_medians=[half_rtt.median * random.uniform(0.99, 1.01) for _ in range(20)],
        histogram=Histogram(buckets=[(lower, count) for lower, count in counts.buckets()]),
        cpu=_cpu(driver, 2 * typical, random),
        elapsed_ns=2 * sum(halves),
        settled=True,
    )


def _stream(driver: str, size: int, launch: int, samples: int, random: Random) -> Result:
    shape = model(driver)
    message_ns = shape.start_ns / 5 + size / shape.bytes_per_ns
    rates = sorted(size / (message_ns * random.lognormvariate(0, 0.03)) * 1e9 for _ in range(20))
    return Result(
        driver=driver,
        pattern="stream",
        size=size,
        launch=launch,
        n=samples,
        rounds=20,
        batch=1,
        lost=3 if driver == "udp" and size > 65535 else 0,
        status="ok",
        stopped_by=_rule(random),
        rate_bytes_per_s=Summary(
            median=rates[10], ci95=(rates[5], rates[15]), p90=None, p99=None, min=rates[0],
            max=rates[-1],
        ),
        round_medians=rates,
        cpu=_cpu(driver, message_ns, random),
        elapsed_ns=samples * message_ns,
        settled=True,
    )  # fmt: skip


def _interval(ordered: list[float], quantile: float) -> tuple[float, float]:
    reach = 1.96 * (len(ordered) * quantile * (1 - quantile)) ** 0.5
    middle = len(ordered) * quantile
    return (
        ordered[max(0, int(middle - reach))],
        ordered[min(len(ordered) - 1, int(middle + reach) + 1)],
    )


def _rule(random: Random) -> Literal["precise", "time", "rounds"]:
    return random.choice(("precise", "precise", "precise", "time", "rounds"))


def _cpu(driver: str, message_ns: float, random: Random) -> list[CpuCost]:
    shape = model(driver)
    busy = message_ns if shape.spins else message_ns * 0.25
    return [
        CpuCost(
            user_ns=busy * 0.3,
            system_ns=busy * random.uniform(0.6, 0.7),
            voluntary_switches=0.0 if shape.spins else 1.0,
            involuntary_switches=0.001,
        )
        for _ in range(1 if shape.placement == "process" else 2)
    ]
