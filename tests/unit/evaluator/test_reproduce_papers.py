# SPDX-License-Identifier: BSD-3-Clause
"""Papers 000, 001, 003 and 004: what they run, and what is made of records that are made up."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar
from xml.etree import ElementTree

import pytest

from beowire.errors import BeowireError
from beowire.lab.machines import parts
from beowire.mpi import installation
from beowire.record import Explained, Record, Result, Summary, read_record
from beowire.reproduce import base, paper_000, paper_001, paper_003, paper_004, shared
from beowire.reproduce.base import Missing, Part, Picture, Reproduction, Table
from beowire.reproduce.comparison import Comparison
from beowire.reproduce.steps import Found, Step
from unit.evaluator import apps_records, synthetic_record

_Kind = TypeVar("_Kind", Table, Picture, Missing)

#: A picture of a page that is kept.
MOST_BYTES = 100_000


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Comparison]:
    """A comparison of drivers, patterns and sizes; `change` makes each result another."""

    def make(
        drivers: Sequence[str],
        patterns: Sequence[str],
        sizes: Sequence[int],
        change: Callable[[Result], Result] = lambda one: one,
        load: str = "",
    ) -> Comparison:
        lines = synthetic_record.lines(
            tuple(drivers), patterns=tuple(patterns), sizes=tuple(sizes), samples=60
        )
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
        synthetic_record.write(
            path, [change(one) if isinstance(one, Result) else one for one in lines]
        )
        record: Record = read_record(path)
        if load:
            record.results.extend([one.model_copy(update={"load": load}) for one in record.results])
        return Comparison(record, "beowire compare --lab")

    return make


def of(told: Reproduction, kind: type[_Kind]) -> dict[str, _Kind]:
    return {part.title: part for part in told.parts if isinstance(part, kind)}


def row(table: Table, first: str) -> tuple[str, ...]:
    return next(one[1:] for one in table.rows if one[0].startswith(first))


def found(paper: base.Paper, **comparisons: Comparison) -> Found:
    named = {name.replace("_", "-"): one for name, one in comparisons.items()}
    return Found(tuple(paper.plan(60.0)), named)


def check_pictures(told: Reproduction, number: str) -> None:
    for picture in told.pictures:
        assert picture.name.startswith(f"{number}-") and picture.name.endswith(".svg")
        assert len(picture.svg) < MOST_BYTES
        ElementTree.fromstring(picture.svg)
        assert f"({picture.name})" in told.markdown()


@pytest.mark.parametrize("number", ["000", "001", "002", "003", "004"])
def test_plan__commands_that_take_about_the_time(number: str) -> None:
    planned = base.paper_of(number).plan(200.0)
    assert len({step.name for step in planned}) == len(planned)
    for step in planned:
        assert step.words[0] in ("compare", "explain", "apps")
        assert "--out" not in step.words
    given = [
        float(step.words[step.words.index("--time") + 1])
        for step in planned
        if "--time" in step.words
    ]
    assert 0 < sum(given) <= 200.5
    assert sum(given) < sum(step.seconds for step in planned) < 200 * 8


def test_plan__absent_where_there_is_no_qemu(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> parts.QemuParts:
        raise BeowireError("--backend vm is absent: no QEMU: apt-get install qemu")

    monkeypatch.setattr(parts, "qemu_parts", none)
    for paper in (paper_000, paper_003):
        assert {step.absent for step in paper.plan(60.0)} == {
            "--backend vm is absent: no QEMU: apt-get install qemu"
        }
    absent = {step.name: bool(step.absent) for step in paper_004.plan(60.0)}
    assert absent["interrupts"] and not absent["layers"]


def test_plan__without_an_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> installation.Installation:
        raise BeowireError(f"there is no {name}")

    monkeypatch.setattr(installation, "find", none)
    assert not any("mpi:" in word for step in paper_001.plan(60.0) for word in step.words)
    of_mpi = {step.name: step.absent for step in paper_000.plan(60.0)}
    assert "no MPI" in of_mpi["mpi"] or "--backend vm is absent" in of_mpi["mpi"]


SIZES_1 = (8, 1024, 1 << 20, 4 << 20)


@pytest.fixture
def found_001(made: Callable[..., Comparison]) -> Found:
    copies = [size + off for size in (64, 1 << 10, 4 << 20) for off in (-3, 0, 3)]

    def slow_odd(one: Result) -> Result:
        """memcpy-bytes takes ten times as long for sizes that 4 does not divide."""
        assert one.half_rtt_ns is not None
        if one.driver != "memcpy-bytes" or one.size % 4 == 0:
            return one
        half = one.half_rtt_ns.model_copy(update={"median": 10 * one.half_rtt_ns.median})
        return one.model_copy(update={"half_rtt_ns": half})

    return found(
        paper_001.PAPER,
        warm=made(
            ["tcp", "tcp-spin", "beowire", "mpi:mpich/beowire", "shm", "memcpy"],
            ["pingpong"],
            SIZES_1,
        ),
        gigabit=made(["tcp", "tcp-buffer", "beowire"], ["pingpong"], SIZES_1),
        modes=made(
            ["tcp-spin", "beowire"],
            ["pingpong", "cold", "burst", "stream", "bidirectional"],
            SIZES_1,
        ),
        copies=made(paper_001.COPIES, ["pingpong", "cold"], copies, slow_odd),
    )


def test_001__claims_beside_what_is_here(found_001: Found) -> None:
    claims = of(paper_001.tell(found_001), Table)["What the paper says, and what is here"]
    paper, here = row(claims, "half a round trip")
    assert paper.startswith("62.0 µs and 24.0 µs")
    warm = found_001.comparisons["warm"].half_rtt("beowire", 8)
    assert warm is not None and f"beowire {warm.median / 1e3:.3g}"[:12] in here
    assert row(claims, "throughput, 1 Gbit/s")[0] == "900 Mbit/s"
    assert row(claims, "the same, MTU 9000") == ("950 Mbit/s (1.06 ×)", "not measured")
    assert "mpi:mpich/beowire to beowire: latency" in row(claims, "a library")[1]
    odd = row(claims, "copies of sizes")[1]
    assert "memcpy 1.0" in odd
    assert float(odd.split("memcpy-bytes ")[1].split(" ")[0]) > 8


def test_001__a_picture_of_each_graph(found_001: Found) -> None:
    told = paper_001.tell(found_001)
    check_pictures(told, "001")
    assert [picture.name for picture in told.pictures] == [
        *("001-throughput.svg", "001-signature.svg", "001-gigabit.svg", "001-caches.svg"),
        "001-copies.svg",
    ]
    assert "tcp, MTU 9000" not in told.pictures[2].svg


def test_001__nothing_measured_says_why() -> None:
    told = paper_001.tell(Found(tuple(paper_001.plan(9.0)), reasons={"warm": "it fell over"}))
    missing = of(told, Missing)
    assert missing["Throughput against size"].reason == "it fell over"
    assert missing["Figure 4: copies in memory"].reason == "it has not been run"
    assert "`warm` was not measured: it fell over." in told.notes


@pytest.fixture
def found_000(made: Callable[..., Comparison]) -> Found:
    def counted(one: Result) -> Result:
        """TIPC has three times TCP's throughput to a second of system time, and half its CPU."""
        better = 3.0 if one.driver.startswith("tipc") else 1.0
        if (one.driver, one.size) == ("tipc-rdm", 1024):
            one = one.model_copy(update={"n": 75, "lost": 25})
        return one.model_copy(
            update={
                "bytes_per_system_s": [2e8 * better, 2e8 * better],
                "cpu_ns_per_message": 6e3 / better,
            }
        )

    kernels = [
        line
        for app in ("cg", "is")
        for line in (
            *apps_records.launches(app, "tcp", [90.0, 100.0]),
            *apps_records.launches(app, "tipc", [110.0, 99.0]),
        )
    ]
    meta = apps_records.meta("cg", "is", launches=2)
    plain = found(
        paper_000.PAPER,
        sockets=made(
            paper_000.SOCKETS,
            ["pingpong", "stream"],
            (64, 1024, 60_000, 256 << 10),
            counted,
            "hog:0",
        ),
        mpi=made(["mpi:mpich/tcp", "mpi:mpich/tipc"], ["pingpong"], (64, 1024)),
    )
    programs = {"nas": apps_records.record(meta, *kernels)}
    return Found(plain.steps, plain.comparisons, programs, {"nas-loaded": "no time"})


def test_000__tipc_to_tcp_idle_and_loaded(found_000: Found) -> None:
    told = paper_000.tell(found_000)
    table = of(told, Table)["TIPC to TCP (NODELAY)"]
    idle = row(table, "TIPC, stream, 1 KiB, idle")
    sockets = found_000.comparisons["sockets"]
    tcp, tipc = (sockets.half_rtt(name, 1024) for name in ("tcp", "tipc"))
    assert tcp is not None and tipc is not None
    assert float(idle[0].split()[0]) == pytest.approx(tcp.median / tipc.median, rel=0.01)
    assert tcp.ci95 is not None and tipc.ci95 is not None
    assert f"({tcp.ci95[0] / tipc.ci95[1]:.2f}"[:4] in idle[0]
    assert idle[1:] == ("0.333 ×", "3.00 ×")
    assert row(table, "TIPC, connectionless, 64 B, loaded")[1:] == ("0.333 ×", "3.00 ×")
    check_pictures(told, "000")
    assert len(told.pictures) == 5
    assert any("25 % at 1 KiB. Their" in note for note in told.notes)
    assert told.markdown().split("\n\n")[1] == shared.EMULATED
    of_mpi = of(told, Table)["MPI: TCP's time to TIPC's"]
    mpi = found_000.comparisons["mpi"]
    over = [mpi.half_rtt(f"mpi:mpich/{way}", 64) for way in ("tcp", "tipc")]
    assert row(of_mpi, "64 B") == (shared.ratio_text(*over),)


def test_000__the_table_of_nas(found_000: Found) -> None:
    told = paper_000.tell(found_000)
    table = of(told, Table)["Table 1: NAS's kernels, TIPC relative to TCP, %"]
    assert row(table, "CG") == ("+2.07", "+2.35", "+10.00", "-")
    assert row(table, "LU") == ("+4.96", "+8.34", "-", "-")
    assert (
        "best of 2, of which those of one program over one way differ by up to 1.11 ×" in table.said
    )
    assert "`nas-loaded` was not measured: no time." in told.notes


@pytest.fixture
def found_003(made: Callable[..., Comparison]) -> Found:
    def counted(one: Result) -> Result:
        polls = one.driver in ("verbs-send", "tcp-spin")
        busy = one.elapsed_ns / one.n * (1.0 if polls else 0.25)
        costs = [cost.model_copy(update={"user_ns": busy, "system_ns": 0.0}) for cost in one.cpu]
        return one.model_copy(
            update={
                "cpu": costs,
                "probes": [{"interrupts": 1000.0}, {"interrupts": 900.0}],
                "probes_ci95": [{"interrupts": (900.0, 1100.0)}, {"interrupts": None}],
            }
        )

    return found(
        paper_003.PAPER,
        rdma=made(paper_003.DRIVERS, ["pingpong", "pingping"], (8, 64 << 10), counted),
    )


def test_003__figures_2_to_7(found_003: Found) -> None:
    told = paper_003.tell(found_003)
    theirs, ours = of(told, Table).values()
    assert row(theirs, paper_003.RDMA)[:4] == ("17.62", "23.11", "110.21", "110.07")
    tcp = row(ours, "tcp")
    assert tcp[3:6] == ("25 %", "25 %", "1,000 (900 to 1,100)")
    assert row(ours, "verbs-send")[3] == "100 %"
    half = found_003.comparisons["rdma"].half_rtt("tcp", 8)
    assert half is not None
    assert float(tcp[6]) == pytest.approx(1000 * 2 * half.median / 1e9, rel=0.1)
    assert [picture.name for picture in told.pictures] == [
        f"003-figure-{number}.svg" for number in range(2, 8)
    ]
    check_pictures(told, "003")
    assert any(
        "Polling takes 100 % of the processor, waiting for events 25 %" in one for one in told.notes
    )
    assert told.markdown().split("\n\n")[1] == shared.EMULATED


EXPLAINED = Explained(
    half_rtt_ns=20_000.0,
    parts_ns={"system call": 2_000.0, "protocol": 4_000.0, "copy": 1_000.0, "wake-up": 5_000.0},
    rest_ns=8_000.0,
    spins=False,
    seen=0.99,
    samples=1234,
)


@pytest.fixture
def found_004(made: Callable[..., Comparison]) -> Found:
    def into(one: Result) -> Result:
        return one.model_copy(update={"explained": EXPLAINED})

    def counted(one: Result) -> Result:
        return one.model_copy(update={"probes": [{"interrupts": 5000.0}, {"interrupts": 2500.0}]})

    plain = found(
        paper_004.PAPER,
        layers=made(["tcp", "tcp-spin", "packet", "beowire"], ["pingpong", "stream"], (8, 1 << 20)),
        explain_tcp=made(["tcp"], ["pingpong"], (8,), into),
        interrupts=made(["tcp", "packet"], ["pingpong"], (8,), counted),
    )
    return Found(plain.steps, plain.comparisons, {}, {"is": "no MPI"})


def test_004__the_table_of_layers_and_where_it_goes(found_004: Found) -> None:
    told = paper_004.tell(found_004)
    tables = of(told, Table)
    layers = tables["Protocol layers: half a round trip and bandwidth"]
    assert row(layers, "TCP/IP (")[:3] == ("44.8 µs", "1.00 ×", "46.7 MB/s")
    assert row(layers, "reliable")[1] == "0.420 ×"
    parts_ = tables["Where half a round trip of 8 B goes"]
    assert parts_.columns == ("", "paper, TCP/IP", "paper, PM/Ethernet", "`tcp`")
    assert row(parts_, "protocol, with copying") == (
        "21.7 µs, 48 %",
        "4.80 µs, 26 %",
        "5.00 µs, 25 %",
    )
    assert row(parts_, "waking up") == ("-", "-", "5.00 µs, 25 %")
    assert row(parts_, "card and wire")[2] == "8.00 µs, 40 %"
    assert row(parts_, "half a round trip") == ("44.8 µs", "18.8 µs", "20.0 µs")
    check_pictures(told, "004")


def test_004__interrupts_of_a_round_trip(found_004: Found) -> None:
    table = of(paper_004.tell(found_004), Table)["Interrupts"]
    half = found_004.comparisons["interrupts"].half_rtt("tcp", 8)
    assert half is not None
    of_tcp = row(table, "tcp")
    assert float(of_tcp[1]) == pytest.approx(5000 * 2 * half.median / 1e9, rel=0.1)
    assert float(of_tcp[1]) == pytest.approx(2 * float(of_tcp[2]), rel=0.1)


def test_004__is_faster_or_why_not(found_004: Found) -> None:
    missing: dict[str, Part] = {**of(paper_004.tell(found_004), Missing)}
    assert missing["NAS's IS, class A"] == Missing("NAS's IS, class A", "no MPI")
    lines = [
        *apps_records.launches("is", "tcp", [50.0]),
        *apps_records.launches("is", "beowire", [60.0]),
    ]
    record = apps_records.record(apps_records.meta("is"), *lines)
    table = paper_004.programs(Found((), programs={"is": record}))
    assert isinstance(table, Table)
    assert row(table, "faster")[0] == "1.75 ×"
    assert row(table, "over Beowire") == ("-", "60.0")


def test_shared__a_ratio_and_how_far_the_intervals_let_it_be() -> None:
    def summary(median: float, ci95: tuple[float, float] | None) -> Summary:
        return Summary(median=median, ci95=ci95, p90=None, p99=None, min=1.0, max=99.0)

    sure, other = summary(20.0, (15.0, 30.0)), summary(10.0, (10.0, 12.0))
    assert shared.ratio_text(sure, other) == "2.00 × (1.25 to 3.00)"
    assert shared.ratio_text(sure, summary(10.0, None)) == "2.00 × (?)"
    assert shared.ratio_text(sure, None) == "-"


def test_shared__a_chart_of_what_was_not_measured_says_why(made: Callable[..., Comparison]) -> None:
    one = made(["tcp"], ["pingpong"], (8,))
    part = shared.part(
        "T",
        Found((Step("s", "", ("compare",), 1.0),), {"s": one}),
        "s",
        lambda found: shared.times("T", "x.svg", found, [shared.Shown("verbs")], ""),
    )
    assert part == Missing(
        "T", "verbs: no RDMA device: `rdma link` shows none on node0; udp: longer than a datagram"
    )
