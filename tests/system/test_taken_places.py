# SPDX-License-Identifier: BSD-3-Clause
"""Others take the place of an end of a job: its port, when its process has ended, or its address on
the switch, while it is there."""

import contextlib
import itertools
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from beowire.analysis.finding import State
from beowire.doctor import facts, host_checks
from beowire.places.lab import network
from beowire.places.lab.state import LabState
from system.conftest import wait_until
from system.test_off_path import VERSIONS, place, use_version
from system.test_stillness import (
    ALL_LANES,
    PATIENCE_S,
    UDP_ALONE,
    exchanging,
    finish,
    in_node,
    lab_of,
    run,
    states,
)

SEALED = ("env", "BEOWIRE_SETTINGS=authenticate=true")
MESSAGES = 10_000
PEER_TIMEOUT_MS = 4000  # the usual one


def program(lab: LabState, node: int, name: str, *words: str) -> "subprocess.Popen[str]":
    """Starts one of the programs beside this file, which is ready when this returns."""
    path = Path(__file__).with_name(name)
    started = subprocess.Popen(
        in_node(lab, network.node_name(node), sys.executable, str(path), *words),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    return started


@pytest.mark.timeout(5 * PATIENCE_S)
@pytest.mark.parametrize("seal", [(), SEALED], ids=["no seals", "sealed"])
@VERSIONS
def test_port_of_a_process_that_ends_is_taken__its_peer_gives_up(
    version: int, seal: tuple[str, ...]
) -> None:
    with lab_of(2) as lab:
        use_version(lab, version)
        with exchanging(lab, 10 * MESSAGES, PEER_TIMEOUT_MS, (*seal, *UDP_ALONE)) as (
            ends,
            addresses,
        ):
            taker = program(lab, 1, "take_port.py", *place(addresses[1]))
            try:
                assert taker.stdout is not None
                # Nothing is on its way that could find the port free, and be refused.
                ends[1].send_signal(signal.SIGSTOP)
                assert wait_until(lambda: states(ends[0].pid) == ["standing still"], PATIENCE_S)
                ends[1].kill()
                assert taker.stdout.readline() == "taken\n"
                _, error = ends[0].communicate(timeout=PATIENCE_S / 3)
                assert (ends[0].returncode, "does not answer" in error) == (1, True), error
                got, _ = taker.communicate(timeout=PATIENCE_S)  # it was there all the time
                assert int(got) > 0
            finally:
                taker.kill()
                taker.communicate()


@pytest.mark.timeout(5 * PATIENCE_S)
@pytest.mark.parametrize("before", [ALL_LANES, UDP_ALONE], ids=["every lane", "udp alone"])
def test_address_is_stolen_for_a_while__a_sealed_exchange_goes_on(before: tuple[str, ...]) -> None:
    with (
        lab_of(3) as lab,
        exchanging(lab, MESSAGES, PEER_TIMEOUT_MS, (*SEALED, *before)) as (ends, _),
    ):
        thief = program(lab, 2, "steal_place.py", network.node_mac(1), network.node_mac(0))
        read, _ = thief.communicate("now\n", timeout=PATIENCE_S)
        counters = [finish(end) for end in ends]
        assert int(read) > 0
        assert [one["message_received"] for one in counters] == [MESSAGES, MESSAGES]
        assert counters[0]["refusals_heard"] > 0


@pytest.mark.timeout(5 * PATIENCE_S)
def test_address_is_stolen__an_exchange_without_seals_is_ended() -> None:
    with lab_of(3) as lab, exchanging(lab, MESSAGES, PEER_TIMEOUT_MS) as (ends, _):
        thief = program(lab, 2, "steal_place.py", network.node_mac(1), network.node_mac(0))
        read, _ = thief.communicate("now\n", timeout=PATIENCE_S)
        assert int(read) > 0
        _, error = ends[0].communicate(timeout=PATIENCE_S)
        assert (ends[0].returncode, "closed" in error) == (1, True), error


def test_address_moves_to_another_host__doctor_says_so() -> None:
    with lab_of(2) as lab:
        script = facts.script("", ["neighbours"])
        with subprocess.Popen(
            in_node(lab, "node0", "sh", "-c", script), stdout=subprocess.PIPE, text=True
        ) as asked:
            macs = itertools.cycle((network.node_mac(1), network.node_mac(2)))
            while asked.poll() is None:
                entry = ("10.77.0.9", "lladdr", next(macs), "nud", "reachable", "dev", "eth0")
                run(lab, "node0", "ip", "neigh", "replace", *entry)
                # It looks every half second, five times: so it sees both.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    asked.wait(0.6)
            assert asked.stdout is not None
            said = facts.sections(asked.stdout.read())
        found = host_checks.moves(facts.Facts("node0", "eth0", sections=said))
        assert found.state is State.BAD
        assert "10.77.0.9 on eth0 was at" in found.text
