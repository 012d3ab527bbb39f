# SPDX-License-Identifier: BSD-3-Clause
"""A host that knows no secret says what it likes to an endpoint that exchanges messages with
another: it gets no answer, leaves nothing behind, and the exchange goes on."""

import contextlib
import json
import secrets
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from beowire.counters import stats
from beowire.places.lab.state import LabState
from system import speakers
from system.conftest import wait_until
from system.exchanges import introduce, start
from system.speakers import ACCEPT, EAGER, GET, PUT, RESET, Place, Speaker, speaking
from system.test_stillness import (
    ENOUGH_BYTES,
    PATIENCE_S,
    lab_of,
    received_bytes,
    run,
    snapshots,
    states,
)

MESSAGES = 5000

#: The usual lanes, and frames by AF_XDP.
XDP = ("env", "EXCHANGE_LANES=xdp,udp")
BEFORE = pytest.mark.parametrize("before", [(), XDP], ids=["usual", "xdp"])


@dataclass
class Exchange:
    """The end in node0 of an exchange with node1, and what has been said of it."""

    lab: LabState
    ends: list["subprocess.Popen[str]"]
    address: str
    place: Place
    secret: bytes

    def snapshot(self) -> stats.Snapshot:
        (found,) = snapshots(self.ends[0].pid)
        return found

    def counter(self, name: str) -> int:
        return self.snapshot().values("counters")[name]

    def peers(self) -> int:
        return len(self.snapshot().rows("peers"))

    def reaches(self, name: str, least: int) -> bool:
        """Does the counter become as great as that?"""
        return wait_until(lambda: self.counter(name) >= least, PATIENCE_S)

    def finish(self) -> None:
        """Both ends have got all messages; they stay open."""
        for end in self.ends:
            assert end.stdout is not None
            assert json.loads(end.stdout.readline())["message_received"] == MESSAGES


@contextlib.contextmanager
def exchanging(nodes: int, before: tuple[str, ...] = ()) -> Iterator[Exchange]:
    """Two ends that are in the middle of their exchange, and stay open when that is done."""
    with lab_of(nodes) as lab:
        ends: list[subprocess.Popen[str]] = []
        try:
            for node, incoming, outgoing in (("node0", 1, 2), ("node1", 2, 1)):
                ends.append(start(lab, node, (incoming, outgoing, MESSAGES, "hold"), before))
            address = introduce(ends)[0]
            if before == XDP and not snapshots(ends[0].pid)[0].values("counters")["lanes_xdp"]:
                pytest.skip("AF_XDP is not to be had here")
            assert wait_until(lambda: received_bytes(lab, "node0") > ENOUGH_BYTES, PATIENCE_S)
            yield Exchange(lab, ends, address, *speakers.parse(address))
            for end in ends:
                _, error = end.communicate(timeout=PATIENCE_S)
                assert (end.returncode, error) == (0, "")
        finally:
            for end in ends:
                end.kill()
                end.communicate()


def udp_ports(lab: LabState, node: str) -> set[int]:
    """The UDP ports of a node at which somebody listens."""
    lines = run(lab, node, "cat", "/proc/net/udp").splitlines()[1:]
    return {int(line.split()[1].split(":")[1], 16) for line in lines}


def guessed(speaker: Speaker, target: Place) -> list[bytes]:
    """CONNECTs that are right in all but what nobody can guess: by any endpoint for whoever is
    there, or for the one that is."""
    return [
        speakers.connect(speakers.another(speaker.place), target, secrets.token_bytes(16), expected)
        for expected in (0, target.incarnation)
        for _ in range(20)
    ]


def assert_accepted(speaker: Speaker, target: Place, secret: bytes) -> None:
    """Whoever knows the secret gets one answer each way, and that is all that has come so far."""
    asked: dict[str, bytes] = {}
    for way, say in (("udp", speaker.say_udp), ("ethernet", speaker.say_ethernet)):
        asked[way] = speakers.connect(speakers.another(speaker.place), target, secret)
        say(target, [asked[way]])
        assert wait_until(lambda: len(speaker.heard()) >= len(asked), PATIENCE_S), way
    heard = speaker.heard()
    assert [(one.way, one.kind) for one in heard] == [("udp", ACCEPT), ("ethernet", ACCEPT)]
    for one in heard:
        asks = asked[one.way]
        right = speakers.proof(one.frame, secret, speakers.nonce_of(asks))
        assert (speakers.proof_of(one.frame), len(one.frame)) == (right, len(asks))


@pytest.mark.timeout(5 * PATIENCE_S)
@BEFORE
def test_connects_with_guessed_proofs__are_not_answered(before: tuple[str, ...]) -> None:
    with exchanging(3, before) as exchange, speaking(exchange.lab, "node2") as speaker:
        ports = udp_ports(exchange.lab, "node0")
        assert exchange.place.port in ports
        said = 0
        for port in sorted(ports):
            frames = guessed(speaker, exchange.place)
            speaker.say_udp(replace(exchange.place, port=port), frames)
            said += len(frames) if port == exchange.place.port else 0
        for number in (exchange.place.endpoint, exchange.place.endpoint ^ 1, 0, 1, 0xFFFF):
            target = replace(exchange.place, endpoint=number)
            frames = guessed(speaker, target)
            speaker.say_ethernet(target, frames)
            said += len(frames) if target == exchange.place else 0
        assert exchange.reaches("dropped_proof", said)
        assert exchange.peers() == 1
        assert speaker.heard() == []
        assert_accepted(speaker, exchange.place, exchange.secret)
        assert wait_until(lambda: exchange.peers() == 3, PATIENCE_S)
        exchange.finish()
        assert exchange.counter("dropped_proof") == said


@pytest.mark.timeout(5 * PATIENCE_S)
def test_two_thousand_connects__somebody_honest_still_connects() -> None:
    with exchanging(3) as exchange, speaking(exchange.lab, "node2") as speaker:
        frames = [
            speakers.connect(
                speakers.another(speaker.place), exchange.place, secrets.token_bytes(16)
            )
            for _ in range(2000)
        ]
        for at in range(0, len(frames), 100):
            speaker.say_udp(exchange.place, frames[at : at + 100])
        assert exchange.reaches("dropped_proof", len(frames) // 2)
        assert exchange.peers() == 1
        assert speaker.heard() == []
        with start(exchange.lab, "node2", (2, 1, 10), ()) as third:
            try:
                assert third.stdin is not None
                third.stdin.write(exchange.address)
                third.stdin.flush()
                assert wait_until(lambda: exchange.peers() == 2, PATIENCE_S)
                assert wait_until(lambda: states(third.pid) == ["connected"], PATIENCE_S)
            finally:
                third.kill()
        exchange.finish()


@pytest.mark.timeout(5 * PATIENCE_S)
@BEFORE
def test_operations_with_guessed_keys__are_refused_in_fewer_bytes(before: tuple[str, ...]) -> None:
    with exchanging(3, before) as exchange, speaking(exchange.lab, "node2") as speaker:
        frames = [
            speakers.operation(kind, speaker.place, exchange.place, data)
            for kind, data in ((EAGER, b""), (EAGER, bytes(500)), (PUT, bytes(64)), (GET, b""))
            for _ in range(25)
        ]
        dropped = exchange.counter("dropped_key")
        speaker.say_udp(exchange.place, frames)
        speaker.say_ethernet(exchange.place, frames)
        assert exchange.reaches("dropped_key", dropped + 2 * len(frames))
        assert wait_until(lambda: len(speaker.heard()) >= 2 * len(frames), PATIENCE_S)
        exchange.finish()
        for way in ("udp", "ethernet"):
            heard = [one for one in speaker.heard() if one.way == way]
            assert {one.kind for one in heard} == {RESET}
            assert len(heard) == len(frames)
            assert sum(len(one.frame) for one in heard) < sum(map(len, frames))
        assert exchange.peers() == 1


@pytest.mark.timeout(5 * PATIENCE_S)
def test_connect_in_the_name_of_a_third_host__that_hears_nothing() -> None:
    with (
        exchanging(4) as exchange,
        speaking(exchange.lab, "node2") as speaker,
        speaking(exchange.lab, "node3") as third,
    ):
        target = exchange.place
        for secret in (secrets.token_bytes(16), exchange.secret):  # even who has been told it
            frames = [
                speakers.connect(speakers.another(third.place), target, secret) for _ in range(20)
            ]
            speaker.say_udp(target, frames)
            speaker.say_ethernet(target, frames)
        assert exchange.reaches("dropped_source", 4 * 20)
        forged = [
            speakers.connect(speakers.another(third.place), target, secrets.token_bytes(16))
            for _ in range(20)
        ]
        speaker.say_ethernet(target, forged, third.place.mac)
        assert exchange.reaches("dropped_proof", len(forged))
        assert exchange.peers() == 1
        assert (speaker.heard(), third.heard()) == ([], [])
        # It would be heard: what is said in its name by who knows the secret is answered, once. The
        # switch has learned that this host is where the stranger is.
        right = speakers.connect(speakers.another(third.place), target, exchange.secret)
        speaker.say_ethernet(target, [right], third.place.mac)
        assert wait_until(lambda: speaker.heard() + third.heard(), PATIENCE_S)
        exchange.finish()
        assert [(one.kind, len(one.frame)) for one in speaker.heard() + third.heard()] == [
            (ACCEPT, len(right))
        ]
