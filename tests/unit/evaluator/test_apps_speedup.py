# SPDX-License-Identifier: BSD-3-Clause
"""What is said of one program over several ways."""

from pathlib import Path

import pytest

from beowire.apps import speedup
from beowire.apps.record import AppsRecord
from beowire.errors import BeowireError
from beowire.places.mpi import installation
from beowire.places.mpi.installation import Installation
from beowire.record.lines import End
from unit.evaluator.apps_records import STARTED, launch, launches, meta, record
from unit.evaluator.test_mpi_linkage import program

WORDS = ["./heat", "512"]


def found(tcp: list[float], beowire: list[float], **more: object) -> AppsRecord:
    first = meta("heat", unit="s", less=True, over=["tcp", "beowire"])
    return record(
        first, *launches("heat", "beowire", beowire, **more), *launches("heat", "tcp", tcp)
    )


def test_render__times_and_ratio_with_its_interval() -> None:
    shown = speedup.render(found([4.0, 4.2, 4.4, 4.1, 4.0, 4.3], [2.0] * 6), WORDS, 80)
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.startswith("./heat 512: 2 ranks, Open MPI 4.1.4, node0 ⇄ node1, ")
    rows = {line.split()[0]: line.split()[1:] for line in shown.splitlines() if line.strip()}
    assert rows["tcp"] == ["4.15", "s", "4.00", "s", "4.40", "s", "6"]
    assert rows["beowire"] == ["2.00", "s", "2.00", "s", "2.00", "s", "6"]
    text = " ".join(shown.split())
    assert (
        "Over Beowire it is 2.08 times as fast as over TCP (median of the ratios of 6 rounds;"
        " 95 % interval 2.00 to 2.20)." in text
    )


def test_render__what_cannot_be_told_and_what_has_no_interval() -> None:
    same = " ".join(speedup.render(found([4.0, 4.2, 4.1] * 2, [4.1] * 6), WORDS, 100).split())
    assert "): no significant difference." in same
    few = " ".join(speedup.render(found([4.0, 5.0], [2.0, 2.0]), WORDS, 100).split())
    ratios = "median of the ratios of 2 rounds, 2.00 to 2.50"
    assert f"({ratios}; --repeat 6 and more give a 95 % interval)" in few


def test_render__outputs() -> None:
    shown = speedup.render(found([4.0], [2.0]), WORDS, 100)
    assert "Output: the same in all 4 runs." in shown
    bad = {"verified": False, "check": "it prints 'a', 'b' over tcp at first"}
    wrong = found([4.0], [2.0], **bad)
    shown = " ".join(speedup.render(wrong, WORDS, 100).split())
    assert "Output: different in 2 of 4 runs, over Beowire: it prints 'a', 'b' over tcp" in shown
    assert not speedup.agrees(wrong)
    assert speedup.agrees(found([4.0], [2.0]))


def test_render__a_program_that_never_says_the_same_twice() -> None:
    first = meta("heat", unit="s", less=True, over=["tcp", "beowire"])
    lines = [
        launch("heat", "tcp", 0, 4.0),
        launch("heat", "tcp", 1, 4.0, verified=False, check="it prints '4.1'"),
    ]
    assert "use --ignore REGEX to leave out lines that always change" in " ".join(
        speedup.render(record(first, *lines), WORDS, 100).split()
    )


def test_render__a_way_that_failed_is_said() -> None:
    first = meta("heat", unit="s", less=True, over=["tcp", "beowire"])
    lines = [*launches("heat", "tcp", [4.0]), launch("heat", "beowire", 0, None)]
    shown = speedup.render(record(first, *lines), WORDS, 100)
    assert "heat (openmpi4 over beowire): it failed" in shown
    assert "times as fast" not in shown


def test_as_data__has_times_and_ratios() -> None:
    data = speedup.as_data(found([4.0] * 6, [2.0] * 6), WORDS)
    assert data["seconds"] == {"tcp": [4.0] * 6, "beowire": [2.0] * 6}
    assert data["speedup"] == [{"over": "beowire", "to": "tcp", "median": 2.0, "ci95": [2.0, 2.0]}]
    assert data["different_outputs"] == []


def test_mpi_of__is_what_the_program_was_linked_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(name: str, prefix: Path | None = None) -> Installation:
        if name in ("openmpi4", "mpich"):
            raise BeowireError(f"no {name}")
        return Installation(name, "1", Path("/opt/bin/mpirun"), None)

    monkeypatch.setattr(installation, "find", find)
    open_mpi = str(program(tmp_path / "a", ["libmpi.so.40"]))
    mpich = str(program(tmp_path / "b", ["libmpi.so.12"]))
    assert speedup.mpi_of([open_mpi], None, None).name == "openmpi5"
    assert speedup.mpi_of([mpich], None, None).name == "intel"
    assert speedup.mpi_of(["sh"], None, None).name == "openmpi5"
    assert speedup.mpi_of([mpich], "intel", None).name == "intel"
    with pytest.raises(BeowireError, match="is a program of Open MPI"):
        speedup.mpi_of([open_mpi], "intel", None)


def parts(init_s: float, run_s: float, finalize_s: float) -> dict[str, float]:
    return {"init_s": init_s, "run_s": run_s, "finalize_s": finalize_s}


def timed(**more: object) -> AppsRecord:
    """Beowire runs in half the time of TCP, and the whole job takes as long."""
    first = meta("heat", unit="s", less=True, over=["tcp", "beowire"], **more)
    return record(
        first,
        *launches("heat", "beowire", [4.0] * 6, **parts(1.4, 1.0, 0.6)),
        *launches("heat", "tcp", [4.0] * 6, **parts(0.5, 2.0, 0.1)),
    )


def test_render__the_run_first_and_start_and_end_beside_it() -> None:
    shown = speedup.render(timed(), WORDS, 100)
    rows = [line.split() for line in shown.splitlines() if line.split()[:1] == ["beowire"]]
    assert rows[0] == ["beowire", "1.00", "s", "1.40", "s", "600", "ms"]
    text = " ".join(shown.split())
    run = text.index("Over Beowire the run is 2.00 times as fast as over TCP")
    assert run < text.index("Over Beowire the whole job is 1.00 times as fast as over TCP")
    data = speedup.as_data(timed(), WORDS)
    assert data["run_speedup"] == [
        {"over": "beowire", "to": "tcp", "median": 2.0, "ci95": [2.0, 2.0]}
    ]
    assert data["init_seconds"] == {"tcp": [0.5] * 6, "beowire": [1.4] * 6}


def test_render__the_whole_alone_where_the_program_says_nothing() -> None:
    text = " ".join(speedup.render(found([4.0] * 6, [2.0] * 6), WORDS, 100).split())
    assert "That includes the launcher, MPI_Init and MPI_Finalize" in text
    assert "the run is" not in text


def test_render__more_ranks_than_cores_and_all_nodes() -> None:
    shown = speedup.render(timed(ranks=3, cores=2, nodes=["node0", "node1", "node2"]), WORDS, 100)
    assert "node0 ⇄ node1 ⇄ node2" in shown
    assert "note: 3 ranks share 2 cores" in " ".join(shown.split())
    assert "note:" not in speedup.render(timed(ranks=2, cores=2), WORDS, 100)


def test_render__others_on_the_processors() -> None:
    end = End(
        finished=STARTED, status="ok", elapsed_s=60.0, other_cpus=1.5, busy_s=60.0, busy_cpus=1.5
    )
    base = timed()
    busy = AppsRecord(base.path, base.meta, base.launches, end=end)
    text = " ".join(speedup.render(busy, WORDS, 100).split())
    assert "note: other programs used 1.5 CPUs of this machine during the run" in text
    assert any("other programs" in str(one) for one in speedup.as_data(busy, WORDS)["warnings"])  # type: ignore[attr-defined]
