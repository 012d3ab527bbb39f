# SPDX-License-Identifier: BSD-3-Clause
"""Files of counters as endpoints publish them (transport/endpoint/stats.h), made by hand."""

import os
import struct

from beowire.counters.stats import MAGIC, VERSION

Table = tuple[list[tuple[str, int]], list[list[int | str]]]  # columns (name, bytes), and rows

ADDRESS = (
    "beowire:3:88b5:1267:0123456789abcdef:0000000000000001:00000063:-:"
    "020000000001/00000000000000000000ffff0a4d0001/0fa0"
)


def table(columns: dict[str, int], *rows: list[int | str]) -> Table:
    """Columns by their lengths: 8 with a value that is a number is a number."""
    return list(columns.items()), list(rows)


def file_of(
    tables: dict[str, Table],
    *,
    process: int = 0,
    opened_ns: int = 0,
    published_ns: int = 0,
    sequence: int = 2,
    numbers: frozenset[str] = frozenset(),
) -> bytes:
    """The bytes of such a file. A column is text if its first value is, or it has no rows."""
    head_bytes = 64 + 48 * len(tables)
    descriptors, fields, rows_data = b"", b"", b""
    fields_at = head_bytes
    rows_at = head_bytes + 32 * sum(len(columns) for columns, _ in tables.values())
    for name, (columns, rows) in tables.items():
        row_bytes = sum(length for _, length in columns)
        descriptors += struct.pack(
            "<16sIIIII12x", name.encode(), fields_at, len(columns), rows_at, row_bytes, len(rows)
        )
        offset = 0
        for at, (column, length) in enumerate(columns):
            is_text = column not in numbers and (not rows or isinstance(rows[0][at], str))
            fields += struct.pack("<24sHHI", column.encode(), offset, length, 1 if is_text else 2)
            offset += length
        for row in rows:
            for (_, length), value in zip(columns, row, strict=True):
                rows_data += (
                    value.encode("utf-8", "surrogateescape")[:length].ljust(length, b"\0")
                    if isinstance(value, str)
                    else value.to_bytes(length, "little")
                )
        fields_at += 32 * len(columns)
        rows_at += row_bytes * len(rows)
    body = descriptors + fields + rows_data
    header = struct.pack(
        "<8sIIQQQQI12x",
        MAGIC,
        VERSION,
        len(tables),
        64 + len(body),
        sequence,
        published_ns,
        opened_ns,
        process,
    )
    return header + body


def endpoint(
    sent: int = 0,
    *,
    at_s: float = 1.0,
    process: int = 0,
    peers: int = 1,
    drops: int = 0,
    missing: tuple[tuple[str, str], ...] = (),
    damage: tuple[tuple[str, int], ...] = (),
) -> bytes:
    """An endpoint opened at 0 that has sent so many frames of 100 bytes by then."""
    lane = {"name": 24, "down": 8, "sent_frames": 8, "sent_bytes": 8, "sent_calls": 8}
    peer = {"name": 64, "state": 16, "lane": 24, "rtt_ns": 8, "sent_frames": 8}
    rows: list[list[int | str]] = [
        [f"10.77.0.2/{number}", "connected", "packet/eth0", 8200, sent + number]
        for number in range(peers)
    ]
    absent: list[list[int | str]] = [[name, reason] for name, reason in missing]
    links: list[list[int | str]] = [[name, frames] for name, frames in damage]
    return file_of(
        {
            "endpoint": table(
                {"name": 272, "number": 8, "peers_known": 8, "peers_connected": 8},
                [ADDRESS, 4711, peers, peers],
            ),
            "lanes": table(lane, ["packet/eth0", 0, sent, 100 * sent, sent], ["shm", 1, 0, 0, 0]),
            "frames": table(
                {"name": 16, "sent": 8, "received": 8}, ["eager", sent, 0], ["ack", 0, 5]
            ),
            "drops": table({"name": 40, "value": 8}, ["key", drops], ["data_unknown", 0]),
            "counters": table({"name": 40, "value": 8}, ["message_eager", sent]),
            "peers": table(peer, *rows),
            "missing": table({"name": 24, "reason": 96}, *absent),
            "damage": table({"name": 96, "frames": 8}, *links),
        },
        process=process,
        published_ns=round(at_s * 1e9),
    )


def publish(data: bytes, name: str = "beowire-stats") -> int:
    """Makes a file without a name in any directory, as an endpoint does; its descriptor."""
    descriptor = os.memfd_create(name)
    os.write(descriptor, data)
    return descriptor
