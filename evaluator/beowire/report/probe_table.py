# SPDX-License-Identifier: BSD-3-Clause
"""The table of what probes counted, and what each of them is."""

from collections.abc import Sequence
from html import escape

from beowire.record import ProbeInfo, Record, Result
from beowire.report import palette
from beowire.report.curves import record_labels
from beowire.units import significant, time_text


def counted(records: Sequence[Record]) -> str:
    """A row a result, a column a figure, both ends in a cell; then what the figures are."""
    infos = {info.name: info for record in records for info in record.meta.probes}
    known = {
        name
        for record in records
        for result in record.results
        for end in (0, 1)
        for name in result.figures(end)
    }
    shown = [info for info in infos.values() if info.name in known]
    if not shown:
        return "<p>Nothing that this record names: an older version measured it.</p>"
    with_methods = any(one.cpu_methods for record in records for one in record.results)
    loaded = any(one.load for record in records for one in record.results)
    labels = record_labels(records)
    heads = [
        *(["Record"] if len(records) > 1 else []),
        "Driver",
        "Pattern",
        *(["Beside"] if loaded else []),
        "Size",
        *(_heading(info) for info in shown),
        "Throughput to a second of system time",
        *(["CPU time: accounted, soaker"] if with_methods else []),
    ]
    rows = []
    for record, label in zip(records, labels, strict=True):
        for result in sorted(record.results, key=_order):
            cells = [
                *([_text(label)] if len(records) > 1 else []),
                _text(result.driver),
                _text(result.pattern),
                *([_text(result.load or "nothing")] if loaded else []),
                _number(result.size, f"{result.size:,}"),
                *(_figure(info, result) for info in shown),
                _per_system(result),
                *([_methods(result)] if with_methods else []),
            ]
            rows.append(f"<tr>{''.join(cells)}</tr>")
    head = "".join(f'<th scope="col"><button type="button">{text}</button></th>' for text in heads)
    return (
        "<p>Each cell has the initiator, then the responder; a heading sorts by the first. Times"
        " and numbers are of a message, of a ping-pong of a round trip; interrupts of a second.</p>"
        '<div class="scroll tall" tabindex="0" role="region" aria-label="What probes counted">'
        '<table id="all-probes" class="figures sortable">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        f"{_meanings(shown)}{_absent(records)}"
    )


def reasons(record: Record) -> list[str]:
    """Why figures could not be had: a line a reason, with the figures and the nodes."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    for info in record.meta.probes:
        for end, reason in zip(record.meta.ends, info.reasons, strict=False):
            if reason:
                names, nodes = found.setdefault(reason, ([], []))
                names.append(info.name)
                nodes.append(end.node)
    return [
        f"{', '.join(dict.fromkeys(names))} ({', '.join(dict.fromkeys(nodes))}): {reason}"
        for reason, (names, nodes) in found.items()
    ]


def _order(result: Result) -> tuple[object, ...]:
    rank = palette.rank(result.driver)
    return result.pattern, rank, result.load or "", result.size, result.launch


def _heading(info: ProbeInfo) -> str:
    words = info.name.removesuffix("_ns").replace("_", " ")
    unit = "/s" if info.per == "second" else "µs" if info.unit == "ns" else ""
    return f"{escape(words)}" + (f" <small>{unit}</small>" if unit else "")


def _figure(info: ProbeInfo, result: Result) -> str:
    values = [result.figures(end).get(info.name) for end in range(max(1, len(result.cpu)))]
    if all(value is None for value in values):
        return _number(None, "–")
    factor = 1e3 if info.unit == "ns" else 1.0
    texts = ["–" if value is None else significant(value / factor) for value in values]
    return _number(values[0], ", ".join(texts))


def _per_system(result: Result) -> str:
    rates = result.bytes_per_system_s
    texts = ["–" if rate is None else f"{significant(rate / 1e6)}" for rate in rates]
    return _number(rates[0] if rates else None, f"{', '.join(texts)} MB" if texts else "–")


def _methods(result: Result) -> str:
    both = result.cpu_methods
    if both is None:
        return _number(None, "–")
    text = f"{time_text(both.accounted_ns)}, {time_text(both.taken_ns)}"
    mark = ' <span class="mark">differ</span>' if both.differ else ""
    return _number(both.taken_ns, text, mark)


def _meanings(shown: Sequence[ProbeInfo]) -> str:
    items = "".join(
        f"<dt>{_heading(info)}</dt><dd>{escape(info.summary)}: {escape(info.how)}"
        f"{'; in rounds of its own' if info.disturbs else ''}</dd>"
        for info in shown
    )
    return f'<dl class="drivers">{items}</dl>'


def _absent(records: Sequence[Record]) -> str:
    lines = dict.fromkeys(line for record in records for line in reasons(record))
    if not lines:
        return ""
    items = "".join(f"<li>{escape(text)}</li>" for text in lines)
    return f"<p>Not counted:</p><ul>{items}</ul>"


def _text(value: str) -> str:
    return f"<td>{escape(value)}</td>"


def _number(value: float | None, text: str, mark: str = "") -> str:
    sorts = "" if value is None else f"{value:.6g}"
    return f'<td class="number" data-value="{sorts}">{escape(text)}{mark}</td>'
