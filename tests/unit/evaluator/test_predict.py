# SPDX-License-Identifier: BSD-3-Clause
"""`beowire predict`: parameters from records, clusters, pieces of work, tables; without SimGrid."""

from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from beowire.errors import BeowireError
from beowire.predict import by_hand, calibrate, platform, run, show, smpi
from beowire.predict.calibrate import Parameters, Segment
from beowire.predict.platform import Topology
from beowire.predict.run import Figure, PiecesOfWork, Predicted, Prediction
from beowire.record.lines import Meta
from beowire.record.parts import Link
from beowire.record.reader import Record
from unit.evaluator import synthetic_record

DRIVERS = ("tcp-spin", "beowire", "mpi:mpich/tcp", "mpi:mpich/beowire")
SEGMENT = Segment(0, 1000, 2000, 0.5, 1000, 0.25, 5000, 8.0)
PARAMETERS = Parameters([SEGMENT, replace(SEGMENT, first=4096, send_ns=0)], 125e6, 4096)


def record(**changes: Any) -> Record:
    arguments: dict[str, Any] = {"patterns": calibrate.PATTERNS, **changes}
    return synthetic_record.held(synthetic_record.lines(DRIVERS, **arguments))


def of_size(parameters: Parameters, size: int) -> Segment:
    return next(one for one in reversed(parameters.segments) if one.first <= size)


def half_round_trip(parameters: Parameters, size: int) -> float:
    """As SMPI adds it up."""
    one = of_size(parameters, size)
    ends = one.send_ns + one.receive_ns + 2 * one.own_per_byte_ns * size
    return (ends if size < parameters.eager_bytes else 0) + one.start_ns + one.per_byte_ns * size


def test_ways__mpis__each_with_its_own_tcp() -> None:
    found = calibrate.ways(record())
    assert {way.name: way.baseline for way in found} == {
        "mpi:mpich/tcp": None,
        "mpi:mpich/beowire": "mpi:mpich/tcp",
    }
    assert {way.mpi for way in found} == {"mpich"}


def test_ways__named__tcp_is_the_baseline() -> None:
    found = calibrate.ways(record(), ["tcp-spin", "beowire"])
    assert [(way.name, way.baseline, way.mpi) for way in found] == [
        ("tcp-spin", None, ""),
        ("beowire", "tcp-spin", ""),
    ]


def test_parameters__take_as_long_as_the_record_says() -> None:
    read = record()
    (way,) = calibrate.ways(read, ["beowire"])
    measured = {
        one.size: one.half_rtt_ns.median
        for one in read.results
        if (one.driver, one.pattern) == ("beowire", "pingpong") and one.half_rtt_ns
    }
    for size in sorted(measured)[1:-1]:
        assert half_round_trip(way.versions["median"], size) == pytest.approx(
            measured[size], rel=0.02
        )
    low, median, high = (way.versions[one] for one in ("low", "median", "high"))
    for size in (8, 1024, 65536):
        assert half_round_trip(low, size) < half_round_trip(median, size)
        assert half_round_trip(median, size) < half_round_trip(high, size)
    assert low.link_bytes_per_s >= median.link_bytes_per_s >= high.link_bytes_per_s


def test_parameters__are_times_and_factors_that_simgrid_takes() -> None:
    for way in calibrate.ways(record(samples=40, seed=7)):
        for parameters in way.versions.values():
            for one in parameters.segments:
                assert one.start_ns >= 0 and one.per_byte_ns > 0
                assert one.isend_ns + one.isend_per_byte_ns * max(1, one.first) >= -1e-6


def test_ways__what_is_missing__says_what_to_measure() -> None:
    with pytest.raises(
        BeowireError, match=r"no pingping of mpi:mpich/beowire: type `beowire compare"
    ):
        calibrate.ways(record(patterns=("pingpong", "overlap", "stream")))
    with pytest.raises(BeowireError, match="at 3 sizes from 8 to 1 KiB, which are too few"):
        calibrate.ways(record(sizes=(8, 64, 1024)))
    with pytest.raises(BeowireError, match="no pingpong of verbs-send"):
        calibrate.ways(record(), ["verbs-send"])


def test_elsewhere__the_slowest_of_ends_and_wire() -> None:
    assert calibrate.elsewhere(PARAMETERS, None, 0.0) == PARAMETERS
    slower = calibrate.elsewhere(PARAMETERS, 12.5e6, 700.0)
    assert slower.segments[0].per_byte_ns == pytest.approx(80.0)
    assert slower.segments[0].start_ns == 5700.0
    quicker = calibrate.elsewhere(PARAMETERS, 1.25e9, 0.0)
    assert quicker.segments[0].per_byte_ns == 8.0 and quicker.link_bytes_per_s == 1.25e9


def test_payload_rate__beyond_the_record_s_wire__is_refused() -> None:
    read = record(wire_bytes_per_s=118.6e6)
    assert calibrate.payload_rate(read, 100_000_000) == pytest.approx(11.87e6, rel=0.01)
    with pytest.raises(BeowireError, match="does not show what the nodes could do"):
        calibrate.payload_rate(read, 10_000_000_000)
    with pytest.raises(BeowireError, match="more than 0"):
        calibrate.payload_rate(read, 0)
    free = record(wire_bytes_per_s=None)
    meta = free.meta.model_copy(update={"link": Link(kind="lab", mtu=9000)})
    assert isinstance(meta, Meta)
    found = calibrate.payload_rate(replace(free, meta=meta), 10_000_000_000)
    assert found == pytest.approx(1.239e9, rel=0.001)


def test_settings__sections_begin_where_segments_do() -> None:
    told = platform.settings(PARAMETERS, "mpich")
    assert told["smpi/os"] == "0:1e-06:2.5e-10;4095:0:2.5e-10"
    assert told["smpi/ois"] == "0:2e-06:5e-10;4095:2e-06:5e-10"
    assert told["smpi/lat-factor"] == "15:5;4111:5"  # with SMPI's envelope of 16 bytes
    assert told["smpi/bw-factor"] == "15:1;4111:1"
    assert told["smpi/async-small-thresh"] == told["smpi/send-is-detached-thresh"] == "4096"
    assert told["smpi/coll-selector"] == "mpich"


def test_xml__a_fat_tree__each_switch_reaches_each() -> None:
    assert platform.xml(Topology(), 16, PARAMETERS, 0.5).count("<cluster ") == 1
    text = platform.xml(platform.parse_topology("fat-tree:8,2"), 20, PARAMETERS, 1.0)
    assert [f'radical="{one}"' in text for one in ("0-7", "8-15", "16-19")] == [True] * 3
    assert text.count("<zoneRoute ") == 6 and 'bandwidth="2.5e+08Bps"' in text


@pytest.mark.parametrize("text", ["", "ring", "fat-tree", "fat-tree:0", "fat-tree:8,9", "switch:4"])
def test_parse_topology__anything_else__one_line(text: str) -> None:
    with pytest.raises(BeowireError, match="write switch, or fat-tree:PORTS"):
        platform.parse_topology(text)


def test_check_size__more_switches_than_can_be_described() -> None:
    platform.check_size(platform.parse_topology("fat-tree:8"), 4096)
    with pytest.raises(BeowireError, match="name more ports"):
        platform.check_size(platform.parse_topology("fat-tree:1"), 4096)


def test_parse_nodes() -> None:
    assert platform.parse_nodes("64, 16,16") == [16, 64]
    assert platform.hosts(2) == "node0\nnode1\n"
    for text in ("1", "x", "", "2,99999"):
        with pytest.raises(BeowireError, match="--nodes"):
            platform.parse_nodes(text)


def pieces(*ranks: list[float]) -> PiecesOfWork:
    return PiecesOfWork(min(map(min, ranks)), [array("d", one) for one in ranks])


def test_pieces__median_of_each__and_back_from_a_file(tmp_path: Path) -> None:
    merged = run.merge([pieces([3, 1], [9]), pieces([1, 2], [8]), pieces([2, 9], [7])])
    assert merged == pieces([2, 2], [8])
    run.write_pieces(tmp_path / "pieces", merged)
    assert run.read_pieces(tmp_path / "pieces") == merged
    assert run.merge([pieces([1, 2]), pieces([1])]) is None


@pytest.mark.parametrize("content", [b"", b"abc", array("d", [1, 5, 1]).tobytes()])
def test_pieces__a_file_of_something_else__one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "pieces").write_bytes(content)
    with pytest.raises(BeowireError, match="no times of pieces of work"):
        run.read_pieces(tmp_path / "pieces")


def test_by_hand__numbers_of_a_paper(tmp_path: Path) -> None:
    path = tmp_path / "paper.toml"
    path.write_text(
        'link_megabytes_per_s = 118\n[[way]]\nname = "tcp"\nhalf_round_trip_us = [44.8, 40, 50]\n'
        'megabytes_per_s = [46.7, 45, 48]\noverhead_us = 10\n[[way]]\nname = "pm"\n'
        "half_round_trip_us = 18.8\nmegabytes_per_s = 77.6\n"
    )
    tcp, other = by_hand.ways(path)
    assert (tcp.baseline, other.baseline) == (None, "tcp")
    assert half_round_trip(tcp.versions["median"], 0) == pytest.approx(44.8e3)
    assert tcp.versions["low"].segments[0].per_byte_ns == pytest.approx(1e3 / 48)
    assert tcp.versions["high"].segments[0].per_byte_ns == pytest.approx(1e3 / 45)
    assert other.versions["low"] == other.versions["high"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("way = 1", "link_megabytes_per_s"),
        ("[", "paper.toml"),
        ('link_megabytes_per_s = 1\n[[way]]\nname = "a"\n', "half_round_trip_us"),
        (
            'link_megabytes_per_s = 1\n[[way]]\nname = "a"\nhalf_round_trip_us = 1\n'
            "megabytes_per_s = 0",
            "more than 0",
        ),
        ("link_megabytes_per_s = inf\n", "link_megabytes_per_s"),
        (
            "link_megabytes_per_s = 1\n"
            + 2 * '[[way]]\nname = "a"\nhalf_round_trip_us = 1\nmegabytes_per_s = 1\n',
            "the same name",
        ),
    ],
)
def test_by_hand__wrong__one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "paper.toml"
    path.write_text(text)
    with pytest.raises(BeowireError, match=said) as found:
        by_hand.ways(path)
    assert "\n" not in str(found.value)


def test_check__without_simgrid__names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BeowireError, match="Debian: libsimgrid-dev"):
        smpi.check()


def test_render__times_speedups_and_shares() -> None:
    tcp = Predicted(16, "tcp", Figure(2e-3, 1e-3, 3e-3), Figure(0.5, 0.4, 0.6), None)
    other = replace(tcp, way="beowire", speedup=Figure(1.25, 1.1, 1.5))
    found = Prediction("is", [tcp, other, replace(tcp, nodes=64)], ["told"])
    text = show.render(found, 100)
    assert "is, predicted on 16 nodes" in text and "is, predicted on 64 nodes" in text
    assert "2.00 ms (1.00–3.00 ms)" in text and "1.25 (1.10–1.50)" in text
    assert "50 % (40–60)" in text and "told" in text
    data = show.as_data(found)
    assert isinstance(data["predicted"], list)
    assert data["predicted"][1]["speedup"] == {"median": 1.25, "interval": [1.1, 1.5]}
