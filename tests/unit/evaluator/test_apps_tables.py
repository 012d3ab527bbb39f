# SPDX-License-Identifier: BSD-3-Clause
"""Tables as papers have them, in a terminal and in the report."""

from beowire.apps import tables
from beowire.apps.record import Left
from unit.evaluator.apps_records import launch, launches, meta, profile, record

TCP = [100.0] * 6
WHOLE = record(
    meta("cg", "mg", load=["idle", "nice19"]),
    *launches("cg", "beowire", [110.0] * 6),
    *launches("cg", "tcp", TCP),
    *launches("cg", "shm", [220.0] * 6),
    *launches("mg", "beowire", [90.0] * 6),
    *launches("mg", "tcp", TCP),
    *launches("cg", "tcp", [50.0] * 6, load="nice19"),
    *launches("cg", "beowire", [60.0] * 6, load="nice19"),
    profile("cg", "tcp"),
)


def rows(title: str) -> dict[str, list[str]]:
    (table,) = [one for one in tables.tables(WHOLE) if title in one.title]
    assert all(len(row) == len(table.heads) for row in table.rows)
    return {row[0]: row[1:] for row in table.rows}


def test_figures__rows_of_ways_idle_and_loaded_and_relative_to_tcp() -> None:
    found = rows("best of 6 launches, class S, 2 ranks")
    assert found[""] == ["MOP/s", "MOP/s"]
    assert found["openmpi4/tcp"] == ["100.00", "100.00"]
    assert found["openmpi4/beowire"] == ["110.00", "90.00"]
    assert found["openmpi4/shm"] == ["220.00", "–"]
    assert found["beowire rel. tcp (%)"] == ["+10.00", "-10.00"]
    assert found["openmpi4/beowire (nice19)"] == ["60.00", "–"]
    assert found["beowire rel. tcp (nice19) (%)"] == ["+20.00", "–"]
    assert list(found)[1] == "openmpi4/tcp"  # as asked for, whatever was launched first


def test_speedups__a_column_for_each_way_and_the_mean() -> None:
    found = rows("Speedup over tcp")
    assert found["cg"] == ["1.10 (1.10–1.10)", "2.20 (2.20–2.20)", "1.20 (1.20–1.20)"]
    assert found["mg"] == ["0.900 (0.900–0.900)", "–", "–"]
    assert found["geometric mean"][0] == "0.995"


def test_traffic__share_of_the_bound_and_messages() -> None:
    found = rows("Time in MPI")
    assert found["cg beowire"][1] == "0.50"
    assert found["cg tcp"] == ["100.0 MOP/s", "0.45", "–", "25%", "100 × 256 B", "2 × 8 B"]
    # It was counted without load, and is said there.
    assert found["cg tcp (nice19)"][3:] == ["–", "–", "–"]


def test_render__says_what_failed() -> None:
    whole = record(
        meta("cg"),
        launch("cg", "tcp", 0, None, status="it hangs"),
        skipped=[Left(mpi="intel", reason="there is no Intel MPI here")],
    )
    text = tables.render(whole, 100)
    assert "node0 ⇄ node1" in text
    assert "cg (openmpi4 over tcp): it hangs" in text
    assert "intel: there is no Intel MPI here" in text
    assert "best of" not in text


def test_render__few_rounds_say_what_helps() -> None:
    whole = record(meta("cg"), *launches("cg", "tcp", [1.0]), *launches("cg", "beowire", [2.0]))
    assert "--launches 6" in tables.render(whole, 100)


def test_text__folds_what_is_too_wide() -> None:
    table = tables.Table("title", ["", "one", "two"], [["name", "1" * 10, "2" * 10]])
    assert len(tables.text(table, 100).splitlines()) == 3
    folded = tables.text(table, 20).splitlines()
    assert max(map(len, folded)) <= 20
    assert sum("name" in line for line in folded) == 2


#: Of launches that do not count.
LONG = {"init_s": 70.0, "run_s": 70.0, "finalize_s": 70.0}


def test_parts_of_jobs__the_ratio_of_the_run_first() -> None:
    first = meta("cg", over=["tcp", "beowire"])
    lines = [
        *launches("cg", "tcp", [9.0] * 6, init_s=0.05, run_s=3.0, finalize_s=0.04),
        *launches("cg", "beowire", [9.0] * 6, init_s=0.4, run_s=1.5, finalize_s=0.1),
        *(launch("cg", "beowire", n, 9.0, status="wrong", **LONG) for n in range(7, 15)),
        *launches("ep", "tcp", [9.0] * 6),
    ]
    table = tables.parts_of_jobs(record(first, *lines))
    assert table.rows == [
        ["cg tcp", "–", "3.00 s", "50.0 ms", "40.0 ms", "1.00 s"],
        ["cg beowire", "2.00 (2.00–2.00)", "1.50 s", "400 ms", "100 ms", "1.00 s"],
    ]
