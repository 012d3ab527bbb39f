# SPDX-License-Identifier: BSD-3-Clause
"""The limit of the link, which no protocol can exceed, if it is known."""

from collections.abc import Sequence

from beowire.record.reader import Record
from beowire.units import bit_rate_text, rate_text

#: The shortest frame with preamble, header, check sequence and gap.
_LEAST_FRAME_BITS = 8 * 84


def is_known(record: Record) -> bool:
    """Whether a limit is known."""
    return record.meta.wire is not None or bool(record.meta.link.delay_ns)


def time_ns(record: Record, size: int) -> float:
    """Minimum time of one message of `size` bytes on the link; 0: unknown."""
    link, wire = record.meta.link, record.meta.wire
    took_ns = 0.0
    if wire is not None:
        took_ns = size / wire.payload_bytes_per_s * 1e9
        if link.rate_bits_per_s:
            took_ns = max(took_ns, _LEAST_FRAME_BITS / link.rate_bits_per_s * 1e9)
    return took_ns + (link.delay_ns or 0.0)


def different(records: Sequence[Record]) -> list[Record]:
    """One record for each known link."""
    found: dict[tuple[object, ...], Record] = {}
    for record in records:
        link, wire = record.meta.link, record.meta.wire
        if is_known(record):
            limit = wire.payload_bytes_per_s if wire else None
            found.setdefault((limit, link.rate_bits_per_s, link.delay_ns), record)
    return list(found.values())


def wire_text(record: Record) -> str:
    """The limit of the link in words: `117 MB/s of payload: 1 Gbit/s, MTU 1500`."""
    if record.meta.wire is None:
        return ""
    link = record.meta.link
    facts = [bit_rate_text(link.rate_bits_per_s)] if link.rate_bits_per_s else []
    facts += [f"MTU {link.mtu}"] if link.mtu else []
    limit = rate_text(record.meta.wire.payload_bytes_per_s)
    return f"{limit} of payload" + (f": {', '.join(facts)}" if facts else "")


def burst_text(record: Record) -> str:
    """Why figures may exceed the limit of the link, in a sentence; empty: they cannot."""
    burst_bytes = record.meta.link.burst_bytes
    if record.meta.wire is None or not burst_bytes:
        return ""
    return (
        f"The lab's rate limit lets {burst_bytes / 1e3:.3g} kB pass at once after each pause, so a"
        " ping-pong of messages up to about that size can be faster than this link."
    )
