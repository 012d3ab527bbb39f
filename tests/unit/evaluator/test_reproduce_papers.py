# SPDX-License-Identifier: BSD-3-Clause
"""The papers: what they run, and what is made of records that are made up."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from xml.etree import ElementTree

import pytest

from beowire.apps.record import AppResult, Ratio
from beowire.errors import BeowireError
from beowire.places.lab.machines import parts
from beowire.places.mpi import installation
from beowire.record.lines import Explained, Result
from beowire.record.reader import Record, read_record
from beowire.reproduce import paper
from beowire.reproduce.comparison import Comparison
from beowire.reproduce.page import Missing, Part, Picture, Reproduction, Table
from beowire.reproduce.paper import paper_of
from beowire.reproduce.steps import Found
from beowire.reproduce.values import Scope, Value
from unit.evaluator import apps_records, synthetic_record

_Kind = TypeVar("_Kind", Table, Picture, Missing)

#: A picture of a page that is kept.
MOST_BYTES = 100_000

EMULATED = (
    "**Figures under emulation compare only with one another**: those below say nothing of any"
    " network card."
)


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


def found(number: str, **comparisons: Comparison) -> Found:
    named = {name.replace("_", "-"): one for name, one in comparisons.items()}
    return Found(tuple(paper_of(number).plan(60.0)), named)


def value(what: Found, expression: str) -> Any:
    return Scope(what, {}).value(expression)


def check_pictures(told: Reproduction, number: str) -> None:
    for picture in told.pictures:
        assert picture.name.startswith(f"{number}-") and picture.name.endswith(".svg")
        assert len(picture.svg) < MOST_BYTES
        ElementTree.fromstring(picture.svg)
        assert f"({picture.name})" in told.markdown()


@pytest.mark.parametrize("number", ["000", "001", "002", "003", "004"])
def test_plan__commands_that_take_about_the_time(number: str) -> None:
    planned = paper_of(number).plan(200.0)
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
    for number in ("000", "003"):
        assert {step.absent for step in paper_of(number).plan(60.0)} == {
            "--backend vm is absent: no QEMU: apt-get install qemu"
        }
    absent = {step.name: bool(step.absent) for step in paper_of("004").plan(60.0)}
    assert absent["interrupts"] and not absent["layers"]


def test_plan__without_an_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> installation.Installation:
        raise BeowireError(f"there is no {name}")

    monkeypatch.setattr(installation, "find", none)
    assert not any("mpi:" in word for step in paper_of("001").plan(60.0) for word in step.words)
    of_mpi = {step.name: step.absent for step in paper_of("000").plan(60.0)}
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
        "001",
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
        copies=made(
            ["memcpy", "memcpy-bytes", "memcpy-movsb", "memcpy-nontemporal"],
            ["pingpong", "cold"],
            copies,
            slow_odd,
        ),
    )


def test_001__claims_beside_what_is_here(found_001: Found) -> None:
    claims = of(paper_of("001").tell(found_001), Table)["What the paper says, and what is here"]
    paper, here = row(claims, "half a round trip")
    assert paper.startswith("62.0 µs and 24.0 µs")
    warm = value(found_001, "half('warm', 'beowire', 8)")
    assert f"beowire {warm.median / 1e3:.3g}"[:12] in here
    assert row(claims, "throughput, 1 Gbit/s")[0] == "900 Mbit/s"
    assert row(claims, "the same, MTU 9000") == ("950 Mbit/s (1.06 ×)", "not measured")
    assert "mpi:mpich/beowire to beowire: latency" in row(claims, "a library")[1]
    odd = row(claims, "copies of sizes")[1]
    assert "memcpy 1.0" in odd
    assert float(odd.split("memcpy-bytes ")[1].split(" ")[0]) > 8


def test_001__a_picture_of_each_graph(found_001: Found) -> None:
    told = paper_of("001").tell(found_001)
    check_pictures(told, "001")
    assert [picture.name for picture in told.pictures] == [
        *("001-throughput.svg", "001-signature.svg", "001-gigabit.svg", "001-caches.svg"),
        "001-copies.svg",
    ]
    assert "tcp, MTU 9000" not in told.pictures[2].svg


def test_001__nothing_measured_says_why() -> None:
    told = paper_of("001").tell(
        Found(tuple(paper_of("001").plan(9.0)), reasons={"warm": "it fell over"})
    )
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
        "000",
        sockets=made(
            ["tcp", "tcp-nagle", "tipc", "tipc-seqpacket", "tipc-rdm"],
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
    told = paper_of("000").tell(found_000)
    table = of(told, Table)["TIPC to TCP (NODELAY)"]
    idle = row(table, "TIPC, stream, 1 KiB, idle")
    tcp, tipc = (value(found_000, f"half('sockets', '{one}', 1024)") for one in ("tcp", "tipc"))
    assert float(idle[0].split()[0]) == pytest.approx(tcp.median / tipc.median, rel=0.01)
    assert tcp.ci95 is not None and tipc.ci95 is not None
    assert f"({tcp.ci95[0] / tipc.ci95[1]:.2f}"[:4] in idle[0]
    assert idle[1:] == ("0.333 ×", "3.00 ×")
    assert row(table, "TIPC, connectionless, 64 B, loaded")[1:] == ("0.333 ×", "3.00 ×")
    check_pictures(told, "000")
    assert len(told.pictures) == 5
    assert any("25 % at 1 KiB. Their" in note for note in told.notes)
    assert told.markdown().split("\n\n")[1] == EMULATED
    of_mpi = of(told, Table)["MPI: TCP's time to TIPC's"]
    over = [value(found_000, f"half('mpi', 'mpi:mpich/{way}', 64)") for way in ("tcp", "tipc")]
    assert row(of_mpi, "64 B")[0].startswith(f"{over[0].median / over[1].median:.3f} × (")


def test_000__the_table_of_nas(found_000: Found) -> None:
    told = paper_of("000").tell(found_000)
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
        "003",
        rdma=made(
            ["tcp", "tcp-spin", "verbs-send", "verbs-send-events", "verbs-write"],
            ["pingpong", "pingping"],
            (8, 64 << 10),
            counted,
        ),
    )


def test_003__figures_2_to_7(found_003: Found) -> None:
    told = paper_of("003").tell(found_003)
    theirs, ours = of(told, Table).values()
    assert row(theirs, "RDMA card, RDMA")[:4] == ("17.62", "23.11", "110.21", "110.07")
    tcp = row(ours, "tcp")
    assert tcp[3:6] == ("25 %", "25 %", "1,000 (900 to 1,100)")
    assert row(ours, "verbs-send")[3] == "100 %"
    half = value(found_003, "half('rdma', 'tcp', 8)")
    assert float(tcp[6]) == pytest.approx(1000 * 2 * half.median / 1e9, rel=0.1)
    assert [picture.name for picture in told.pictures] == [
        f"003-figure-{number}.svg" for number in range(2, 8)
    ]
    check_pictures(told, "003")
    assert any(
        "Polling takes 100 % of the processor, waiting for events 25 %" in one for one in told.notes
    )
    assert told.markdown().split("\n\n")[1] == EMULATED


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
        "004",
        layers=made(["tcp", "tcp-spin", "packet", "beowire"], ["pingpong", "stream"], (8, 1 << 20)),
        explain_tcp=made(["tcp"], ["pingpong"], (8,), into),
        interrupts=made(["tcp", "packet"], ["pingpong"], (8,), counted),
    )
    return Found(plain.steps, plain.comparisons, {}, {"is": "no MPI"})


def test_004__the_table_of_layers_and_where_it_goes(found_004: Found) -> None:
    told = paper_of("004").tell(found_004)
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
    table = of(paper_of("004").tell(found_004), Table)["Interrupts"]
    half = value(found_004, "half('interrupts', 'tcp', 8)")
    of_tcp = row(table, "tcp")
    assert float(of_tcp[1]) == pytest.approx(5000 * 2 * half.median / 1e9, rel=0.1)
    assert float(of_tcp[1]) == pytest.approx(2 * float(of_tcp[2]), rel=0.1)


def test_004__is_faster_or_why_not(found_004: Found) -> None:
    missing: dict[str, Part] = {**of(paper_of("004").tell(found_004), Missing)}
    assert missing["NAS's IS, class A"] == Missing("NAS's IS, class A", "no MPI")
    lines = [
        *apps_records.launches("is", "tcp", [50.0]),
        *apps_records.launches("is", "beowire", [60.0]),
    ]
    ratio = Ratio(median=1.2, ci95=(1.1, 1.3))
    here = AppResult(
        app="is", mpi="openmpi4", over="beowire", n=1, status="ok", best=1, median=1, speedup=ratio
    )
    record = apps_records.record(apps_records.meta("is"), *lines, results=[here])
    only = Found(found_004.steps, programs={"is": record})
    table = of(paper_of("004").tell(only), Table)["NAS's IS, class A"]
    assert row(table, "faster") == ("1.75 ×", "1.20 × (1.10 to 1.30)")
    assert row(table, "over Beowire") == ("-", "60.0")


@pytest.fixture
def found_002(made: Callable[..., Comparison]) -> Found:
    """Half a round trip and a stream's rate are what a driver's name says."""
    halves = {"memcpy": 50e3, "beowire": 2e3, "pvm-beowire": 3e3, "pvm-direct": 12e3}
    halves |= {"mpi:mpich/beowire": 2.5e3}
    rates = {"beowire": 4e9, "pvm-beowire": 3e9}

    def set_(one: Result) -> Result:
        summary = one.half_rtt_ns or one.rate_bytes_per_s
        assert summary is not None
        figure = halves[one.driver] if one.half_rtt_ns else rates.get(one.driver, 1e9)
        new = summary.model_copy(update={"median": figure, "ci95": None})
        return one.model_copy(
            update={"half_rtt_ns" if one.half_rtt_ns else "rate_bytes_per_s": new}
        )

    return found("002", compare=made([*halves], ["pingpong", "stream"], (8, 1 << 20), set_))


def test_002__each_layer_beside_the_papers(found_002: Found) -> None:
    told = paper_of("002").tell(found_002)
    layers, latency, bandwidth, long = of(told, Table).values()
    assert row(layers, "protocol")[:4] == ("9.00 µs", "1.00 ×", "2.00 µs", "1.00 ×")
    assert row(layers, "PVM over it") == (
        *("45.0 µs", "5.00 ×", "3.00 µs", "1.50 ×"),
        *("48.0 MB/s", "0.578 ×", "3.00 GB/s", "0.750 ×"),
    )
    assert row(layers, "MPI over it (mpi:mpich/beowire)")[2] == "2.50 µs"
    assert row(layers, "PVM's own way (pvm)") == ("-",) * 8
    assert latency.rows[0] == ("8 B", "3.00 µs", "12.0 µs", "-", "0.250 × (?)")
    assert row(bandwidth, "1 MiB") == ("3.00 GB/s", "1.00 GB/s", "-", "3.00 × (?)")
    assert long.rows[0] == ("1 MiB", "2.50 µs", "3.00 µs", "500 ns", "50.0 µs", "0.010")
    assert long.rows[1][1:] == ("-",) * 5
    check_pictures(told, "002")
    assert [one.name for one in told.pictures] == ["002-latency.svg", "002-bandwidth.svg"]
    said = "\n".join(told.notes)
    assert "PVM adds 1.00 µs to half a round trip of 8 B; the paper's 36.0 µs," in said
    assert "takes 0.250 of that over PVM's direct route" in said
    assert "PVM's highest bandwidth is 0.750 × of the protocol's, in the paper 0.578 ×" in said


def test_002__measures_in_one_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper, "first_mpi", lambda: "mpich")
    (step,) = paper_of("002").plan(30.0)
    drivers = step.words[step.words.index("--drivers") + 1]
    assert drivers == "memcpy,beowire,mpi:mpich/beowire,pvm-beowire,pvm-direct,pvm"
    monkeypatch.setattr(paper, "first_mpi", lambda: None)
    (step,) = paper_of("002").plan(30.0)
    assert "mpi:" not in step.command
    told = paper_of("002").tell(Found((step,)))
    assert any("There is no MPI here" in note for note in told.notes)


def test_chart__of_what_was_not_measured_says_why(made: Callable[..., Comparison]) -> None:
    told = paper_of("003").tell(found("003", rdma=made(["tcp"], ["pingpong"], (8,))))
    assert of(told, Missing)["Figure 4: PingPing, time"].reason == (
        "verbs: no RDMA device: `rdma link` shows none on node0; udp: longer than a datagram"
    )


def test_ratio__how_far_the_intervals_let_it_be() -> None:
    names = {"a": Value(20.0, (15.0, 30.0)), "b": Value(10.0, (10.0, 12.0)), "c": Value(10.0)}
    scope = Scope(Found(()), names)
    assert scope.text("{ratio(a, b):text}") == "2.00 × (1.25 to 3.00)"
    assert scope.text("{ratio(a, c):text}") == "2.00 × (?)"
    assert scope.text("{ratio(a, half('x', 'tcp', 8)):text}") == "-"
    assert scope.text("{a / c - 0.5:times}, {share(c, 40):text}") == "1.50 ×, 10.0 ns, 25 %"


def test_expression__is_of_known_names_and_functions_only() -> None:
    scope = Scope(Found(()), {})
    for wrong in ("unknown", "print(1)", "(1).real", "[x for x in 'ab']"):
        with pytest.raises((KeyError, ValueError)):
            scope.value(wrong)
