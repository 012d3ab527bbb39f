# SPDX-License-Identifier: BSD-3-Clause
"""`beowire top` looks into processes that exchange messages across a lab: the sums agree."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from beowire.places.lab import cluster
from beowire.places.lab.options import LabOptions
from system.conftest import ROOT, RunBeowire, assert_refused, wait_until

EXCHANGE = ROOT / "build" / "release" / "tests" / "system" / "exchange"
MESSAGES = 2000
PATIENCE_S = 60

Ends = list["subprocess.Popen[str]"]


@contextmanager
def exchanging(**options: Any) -> Iterator[Ends]:
    """Two processes that exchange messages, and then keep their endpoints open to be looked at."""
    lab = cluster.up_ephemeral(LabOptions(**options), "top")
    ends: Ends = []
    try:
        for node, incoming, outgoing in (("node0", 1, 2), ("node1", 2, 1)):
            seeds = [str(incoming), str(outgoing)]
            program = [str(EXCHANGE), "eth0", *seeds, str(MESSAGES), "hold"]
            ends.append(
                subprocess.Popen(
                    cluster.command_in(cluster.node_of(lab.state, node), program, pin=True),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
        addresses = [line_of(end) for end in ends]
        for end, other in zip(ends, reversed(addresses), strict=True):
            assert end.stdin is not None
            end.stdin.write(other)
            end.stdin.flush()
        yield ends
    finally:
        for end in ends:
            end.kill()
            end.communicate()
        lab.close()


def line_of(end: "subprocess.Popen[str]") -> str:
    assert end.stdout is not None
    line = end.stdout.readline()
    assert line, "it has ended"
    return line


def look(run_beowire: RunBeowire, *words: str) -> dict[str, Any]:
    done = run_beowire("top", "--json", *words)
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = done.stdout.splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def sum_of(rows: list[dict[str, Any]], column: str) -> int:
    return sum(row[column] for row in rows)


def agree(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Nothing is under way any more: all that left here has been published as come there."""
    return all(
        sum_of(a["lanes"], "sent_frames") == sum_of(b["lanes"], "received_frames")
        for a, b in ((one, other), (other, one))
    )


def test_top__sums_agree_with_what_was_sent(run_beowire: RunBeowire) -> None:
    with exchanging() as ends:
        counters = [json.loads(line_of(end)) for end in ends]
        seen: list[dict[str, Any]] = []

        def settled() -> bool:
            found = {one["pid"]: one for one in look(run_beowire)["endpoints"]}
            seen[:] = [found[end.pid] for end in ends if end.pid in found]
            # One that was interrupted while it published cannot be read just now.
            return len(seen) == 2 and agree(*seen)

        assert wait_until(settled, PATIENCE_S), seen
        for published, own, other in zip(seen, counters, reversed(seen), strict=True):
            assert published["counters"]["message_received"] == MESSAGES
            for name in ("message_eager", "message_announced", "message_received"):
                assert published["counters"][name] == own[name]
            types = {row["name"]: row for row in published["frames"]}
            theirs = {row["name"]: row for row in other["frames"]}
            # Each frame is counted under its lane, and under its type, where it leaves and where
            # it arrives.
            assert sum_of(published["frames"], "sent") == sum_of(published["lanes"], "sent_frames")
            assert sum_of(published["frames"], "received") == sum_of(
                published["lanes"], "received_frames"
            )
            for name, row in types.items():
                assert row["sent"] == theirs[name]["received"], name
            # What a stall of the machine has sent again is counted again.
            again = sum(one["counters"]["flow_retransmitted_frames"] for one in (published, other))
            assert types["announce"]["sent"] > 0
            assert abs(types["announce"]["sent"] - types["done"]["received"]) <= again
            assert types["data"]["received"] > 0
            (peer,) = published["peers"]
            assert peer["state"] == "connected"
            assert peer["lane"] in ("packet/eth0", "udp/eth0")  # whichever proved itself
            assert peer["in_flight_frames"] == 0
            for name in ("sent_frames", "retransmitted_frames"):
                assert peer[name] == published["counters"][f"flow_{name}"]
            assert peer["rtt_ns"] > 0
            assert peer["name"] in look_at_text(run_beowire, published["pid"])


def look_at_text(run_beowire: RunBeowire, pid: int) -> str:
    done = run_beowire("top", "--pid", str(pid))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_top__of_a_lossy_wire_it_shows_what_was_sent_again(run_beowire: RunBeowire) -> None:
    with exchanging(loss=0.02) as ends:
        for end in ends:
            line_of(end)  # done
        found = look(run_beowire, "--pid", str(ends[0].pid))["endpoints"]
        assert [one["pid"] for one in found] == [ends[0].pid]
        assert found[0]["counters"]["flow_retransmitted_frames"] > 0
        assert found[0]["peers"][0]["retransmitted_frames"] > 0


def test_top__a_process_that_was_killed_leaves_nothing(run_beowire: RunBeowire) -> None:
    with exchanging() as ends:
        pid = ends[0].pid
        assert look(run_beowire, "--pid", str(pid))["endpoints"]
        ends[0].kill()
        ends[0].wait()
        assert_refused(
            run_beowire("top", "--json", "--pid", str(pid)),
            f"process {pid}",
            "no open endpoint",
            code=1,
        )
        assert pid not in [one["pid"] for one in look(run_beowire)["endpoints"]]


def test_top__bad_input_is_one_line(run_beowire: RunBeowire) -> None:
    assert_refused(run_beowire("top", "--interval", "0"), "--interval")
    assert_refused(run_beowire("top", "--pid", "x"), "--pid")
