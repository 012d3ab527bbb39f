# SPDX-License-Identifier: BSD-3-Clause
"""For the tests of `beowire.apps`: lines of a record, with the members that a test is about."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from beowire.apps.record import AppInfo, AppsMeta, AppsRecord, Launch, MpiInfo, Profile
from beowire.record.lines import NodeEnd
from beowire.record.parts import Link, RecordLine
from beowire.record.writer import RecordWriter

STARTED = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)


def meta(*apps: str, unit: str = "MOP/s", less: bool = False, **options: Any) -> AppsMeta:
    """The first line of a record."""
    return AppsMeta(
        beowire="0",
        started=STARTED,
        command=["beowire", "apps", "run"],
        options={"class": "S", "ranks": 2, "over": ["tcp", "beowire", "shm"], **options},
        link=Link(kind="lab", topology="direct", mtu=1500),
        ends=[NodeEnd(node="node0"), NodeEnd(node="node1")],
        mpis=[MpiInfo(name="openmpi4", version="4.1.4", launcher="/usr/bin/mpirun")],
        apps=[AppInfo(name=app, summary="", unit=unit, less_is_better=less) for app in apps],
    )


def launch(app: str, over: str, number: int, figure: float | None, **more: object) -> Launch:
    """One launch; without a figure it failed."""
    members: dict[str, object] = {
        "mpi": "openmpi4",
        "status": "ok" if figure is not None else "it failed",
        "verified": True if figure is not None else None,
        "wall_s": 1.0,
        **more,
    }
    return Launch(app=app, over=over, round=number, figure=figure, **members)  # type: ignore[arg-type]


def launches(app: str, over: str, figures: Sequence[float], **more: object) -> list[Launch]:
    """A launch that warmed up, and one for each figure."""
    return [launch(app, over, 0, 0.001, **more)] + [
        launch(app, over, number, figure, **more) for number, figure in enumerate(figures, 1)
    ]


def profile(app: str, over: str, **more: object) -> Profile:
    """What was counted of it."""
    members: dict[str, object] = {
        "mpi": "openmpi4",
        "status": "ok",
        "mpi_share": 0.25,
        "messages": 100,
        "bytes": 25600,
        "collectives": 2,
        "collective_bytes": 16,
        **more,
    }
    return Profile(app=app, over=over, **members)  # type: ignore[arg-type]


def record(first: AppsMeta, *lines: RecordLine, **more: object) -> AppsRecord:
    """A record of these lines."""
    return AppsRecord(
        Path("record.jsonl"),
        first,
        [one for one in lines if isinstance(one, Launch)],
        [one for one in lines if isinstance(one, Profile)],
        **more,  # type: ignore[arg-type]
    )


def written(path: Path, *lines: RecordLine) -> Path:
    """The lines in a file."""
    with RecordWriter(path) as writer:
        for line in lines:
            writer.write(line)
    return path
