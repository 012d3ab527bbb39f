# SPDX-License-Identifier: BSD-3-Clause
"""`beowire compare` between more than two nodes, and by schedules: real engines, in labs."""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from beowire.compare import run as running
from beowire.conduct.session import RoundShape, Session
from beowire.conduct.survey import survey
from beowire.interrupts import Interrupts
from beowire.places.lab import cluster
from beowire.places.lab.options import LabOptions
from beowire.places.launch.lab import LabLauncher
from beowire.places.launch.local import LocalLauncher
from beowire.plan.patterns import PATTERNS
from beowire.record.reader import Record, read_record
from system.conftest import RunBeowire, assert_refused

#: So much slower than any node of a lab that nothing else can be meant.
_SLOW = "100mbit"


@pytest.fixture
def lab() -> Iterator[str]:
    """A lab of four nodes."""
    cluster.up(LabOptions(nodes=4, link="switch"), "four")
    yield "four"
    cluster.down("four")


def _inside(lab: str, node: str, *words: str) -> None:
    command = cluster.command_in(cluster.node_of(cluster.find(lab), node), words, pin=False)
    subprocess.run(command, check=True, capture_output=True)


def _slow_down(lab: str, node: str, to: str) -> None:
    """What this node sends to that one is slow; all else is as it was."""
    address = cluster.node_of(cluster.find(lab), to).address
    device = ("dev", "eth0")
    _inside(lab, node, "tc", "qdisc", "add", *device, "root", "handle", "1:", "htb", "default", "1")
    for number, rate in (("1:1", "100gbit"), ("1:2", _SLOW)):
        words = ("parent", "1:", "classid", number, "htb", "quantum", "60000", "rate", rate)
        _inside(lab, node, "tc", "class", "add", *device, *words)
    where = ("parent", "1:", "protocol", "ip", "u32", "match", "ip", "dst", f"{address}/32")
    _inside(lab, node, "tc", "filter", "add", *device, *where, "flowid", "1:2")


def _measured(launcher: LabLauncher | LocalLauncher, path: Path, **request: object) -> Record:
    asked = running.Request(directory=path, **request)  # type: ignore[arg-type]
    with Interrupts() as interrupts:
        outcome = running.run(launcher, asked, interrupts)
    assert outcome.failures == []
    return read_record(asked.record)


def test_all_pairs__names_the_slow_link(lab: str, tmp_path: Path) -> None:
    _slow_down(lab, "node1", "node2")
    record = _measured(
        LabLauncher.attach(lab),
        tmp_path / "o",
        patterns=["all-pairs"],
        sizes=[16384],
        drivers="tcp",
        seconds=8.0,
    )
    (result,) = record.results
    assert result.slow == ["node1 – node2"]
    assert len(result.pairs) == 6
    slowest = min(result.pairs, key=lambda pair: pair.rate_bytes_per_s)
    assert (slowest.a, slowest.b) == ("node1", "node2")
    assert [end.node for end in record.meta.others] == ["node2", "node3"]


def test_many_nodes__every_driver_or_a_reason(run_beowire: RunBeowire, tmp_path: Path) -> None:
    names = ("incast", "pairs", "all-pairs")
    done = run_beowire(
        *("compare", "--lab", "--nodes", "4", "--link", "switch", "--time", "15"),
        *("--drivers", "tcp,udp,shm,memcpy", "--sizes", "64", "--out", "o"),
        *("--pattern", ",".join(names)),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    record = read_record(tmp_path / "o" / "record.jsonl")
    reasons = {(one.driver, one.pattern): one.reason for one in record.skipped}
    assert reasons == {
        ("udp", "incast"): "it loses messages",
        **{("shm", name): "both of its ends are on one node" for name in names},
        **{("memcpy", name): "it has no other end" for name in names},
    }
    results = {(one.driver, one.pattern): one for one in record.results}
    incast = results["tcp", "incast"]
    assert [step.senders for step in incast.senders] == [1, 2, 3]
    assert incast.time_ns is not None and incast.rate_bytes_per_s is not None
    assert incast.rate_bytes_per_s.median == pytest.approx(3 * 64e9 / incast.time_ns.median)
    pairs = results["udp", "pairs"].pairs
    assert [(pair.a, pair.b) for pair in pairs] == [("node0", "node2"), ("node1", "node3")]
    assert "2 pairs at the same time" in done.stdout
    assert "Time until all senders are answered, and goodput" in done.stdout
    assert (tmp_path / "o" / "report.html").read_text().count("the diagonal half a round trip") >= 2


def test_many_nodes__over_beowire(tmp_path: Path) -> None:
    record = _measured(
        LabLauncher(LabOptions(nodes=3, link="switch")),
        tmp_path / "o",
        patterns=["incast", "all-pairs"],
        sizes=[4096],
        drivers="beowire",
        seconds=8.0,
    )
    results = {one.pattern: one for one in record.results}
    assert [step.senders for step in results["incast"].senders] == [1, 2]
    assert len(results["all-pairs"].pairs) == 3


def test_open_loop__a_rate_of_the_users_is_the_only_one(tmp_path: Path) -> None:
    """And of one way the bound is there, on one machine: both ends have one clock."""
    record = _measured(
        LocalLauncher(),
        tmp_path / "o",
        patterns=["open-loop", "oneway"],
        sizes=[8, 64],
        drivers="tcp,udp",
        seconds=4.0,
        message_rate=5000.0,
    )
    assert {one.reason for one in record.skipped} == {
        f"{name} needs messages of 16 bytes or more" for name in ("open-loop", "oneway")
    }
    assert len(record.results) == 4
    for one in record.results:
        if one.pattern == "open-loop":
            (level,) = one.levels
            assert (level.share, level.rate_messages_per_s) == (None, 5000.0)
            assert one.time_ns is not None and one.time_ns.median > 0
        else:
            assert one.clock_bound_ns is not None and 0 < one.clock_bound_ns < 1e6


def test_open_loop__a_stall_counts_for_all_that_were_due() -> None:
    """At 2000 messages a second the receiver stands still for 100 ms of 250: two of five messages
    are late, by up to all of that. A sender that had waited would have told of one."""
    launcher, interrupts = LocalLauncher(), Interrupts()
    found = survey(launcher, interrupts)
    session = Session(next(one for one in found.drivers if one.name == "tcp"), launcher, interrupts)
    try:
        session.start(found, (None, None), 64, 20)
        pid = session.responder.process.pid
        stop = threading.Timer(0.05, os.kill, (pid, signal.SIGSTOP))
        go_on = threading.Timer(0.15, os.kill, (pid, signal.SIGCONT))
        words = {"interval_ns": 500_000, "clock_offset_ns": 0}
        session.prepare(PATTERNS["open-loop"], 64, RoundShape(500, 1), 5.0, words)
        session.go()
        stop.start()
        go_on.start()
        one = session.finish(PATTERNS["open-loop"], 64, 5.0, float("inf"))
        go_on.join()
    finally:
        session.end()
    assert one is not None and one.messages == 500
    assert one.histogram.quantile(0.8) > 40e6
    assert one.histogram.quantile(0.99) > 90e6


def _as_if_hosts() -> LocalLauncher:
    launcher = LocalLauncher()
    launcher.kind = "hosts"
    return launcher


def test_oneway__between_hosts_each_clock_is_looked_at(tmp_path: Path) -> None:
    """Both clocks are one here; what is known of them is less than what a long message takes."""
    record = _measured(
        _as_if_hosts(),
        tmp_path / "o",
        patterns=["oneway"],
        sizes=[1 << 20],
        drivers="tcp",
        seconds=4.0,
    )
    (one,) = record.results
    assert one.clock_bound_ns is not None and one.time_ns is not None
    assert 60 < one.clock_bound_ns < one.time_ns.max


def test_between_hosts__what_is_at_once_begins_by_the_control_channel(tmp_path: Path) -> None:
    record = _measured(
        _as_if_hosts(),
        tmp_path / "o",
        patterns=["open-loop", "pairs", "incast"],
        sizes=[4096],
        drivers="tcp",
        seconds=8.0,
    )
    results = {one.pattern: one for one in record.results}
    assert set(results) == {"open-loop", "pairs", "incast"}
    assert len(results["open-loop"].levels) == 3
    assert results["pairs"].start_skew_ns == results["incast"].start_skew_ns == 0  # of one


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--pattern", "pairs", "--lab", "--nodes", "3", "--link", "switch"),
            "3 nodes are no pairs",
        ),
        (
            ("--pattern", "incast", "--lab", "--nodes", "1", "--link", "switch"),
            "2 to 250 nodes, not 1",
        ),
        (("--pattern", "open-loop", "--message-rate", "0"), "--message-rate '0'"),
        (("--pattern", "open-loop", "--message-rate", "x"), "messages per second, 0.1 to 100M"),
        (("--message-rate", "5k"), "needs --pattern open-loop"),
        (("--pattern", "pairs", "--hosts", "a"), "two or more different hosts"),
        (("--pattern", "pairs", "--hosts", "a,b,a"), "two or more different hosts"),
        (("--pattern", "pingpong", "--hosts", "a,b,c"), "--hosts A,B"),
    ],
)
def test_compare__what_cannot_be_is_one_line(
    run_beowire: RunBeowire, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    assert_refused(run_beowire("compare", *words, cwd=tmp_path), said)
