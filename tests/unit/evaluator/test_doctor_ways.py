# SPDX-License-Identifier: BSD-3-Clause
"""What `beowire doctor --hosts` says of the ways between hosts."""

import re

from beowire.analysis.finding import Finding, State
from beowire.doctor.facts import Facts
from beowire.doctor.pairs import WAYS, Bounced, Pair
from beowire.doctor.ways import all_pass, judge

OPEN = {way.name: Bounced(5000.0) for way in WAYS}


def host(name: str, mtu: int = 1500, kernel: str = "6.1") -> Facts:
    address = ["2: eth0    inet 10.77.0.1/24 scope global eth0"]
    return Facts(name, "eth0", {"interface_mtu": mtu, "kernel": kernel}, {"addresses": address}, {})


HOSTS = [host("a"), host("b"), host("c")]


def pairs(changed: dict[tuple[str, str], dict[str, Bounced]]) -> list[Pair]:
    names = [("a", "b"), ("a", "c"), ("b", "c")]
    return [Pair(pair, {**OPEN, **changed.get(pair, {})}) for pair in names]


def of(findings: list[Finding], check: str) -> list[Finding]:
    return [finding for finding in findings if finding.check == check]


def test_judge__all_is_open() -> None:
    found = judge(pairs({("b", "c"): {"frames": Bounced(9000.0)}}), HOSTS)
    assert [one.state for one in found] == [State.OK] * len(WAYS)
    (frames,) = of(found, "frames")
    assert frames.text == "half a round trip of 8 B takes 5.00 µs to 9.00 µs (the slowest: b – c)"


def test_judge__messages_that_take_longer_than_their_frames_one_after_the_other() -> None:
    # 262,144 bytes are 179 full frames of 1,472, each of which takes 5 us.
    for name, right_ns, slow_ns in (("cut frames", 895e3, 896e3), ("UDP", 15e3, 16e3)):
        (right,) = of(judge(pairs({("a", "b"): {name: Bounced(right_ns)}}), HOSTS), name)
        assert right.state is State.OK
        (slow,) = of(judge(pairs({("a", "b"): {name: Bounced(slow_ns)}}), HOSTS), name)
        assert slow.state is State.WORSE
        assert re.search(r"\. Slow: \d+ full frames one after the other take [\d.]+ µs$", slow.text)
        unknown = {"full frames": Bounced(tried=False), name: Bounced(slow_ns)}
        (one,) = of(judge(pairs({("a", "b"): unknown}), HOSTS), name)
        assert one.state is State.OK


def test_judge__a_card_that_does_not_say_its_mtu__differs_from_none() -> None:
    silent = Facts("c", "eth0", {"interface_mtu": None, "kernel": "6.1"}, {}, {})
    found = judge(pairs({}), [*HOSTS[:2], silent])
    assert of(found, "MTU") == []
    (one,) = of(judge(pairs({}), [HOSTS[0], host("b", mtu=9000), silent]), "MTU")
    assert one.text == "not the same: a 1500, b 9000"


def test_judge__a_way_that_is_closed_between_some() -> None:
    stopped = Bounced(why="c: the peer does not answer")
    found = judge(pairs({("a", "c"): {"UDP": stopped}, ("b", "c"): {"UDP": stopped}}), HOSTS)
    (one,) = of(found, "UDP")
    assert one.state is State.BAD
    assert one.text == ("stopped: a – c, b – c: c: the peer does not answer")
    assert "ip saddr 10.77.0.0/24" in one.do
    assert "{ udp, icmp }" in one.do


def test_judge__frames_that_a_switch_does_not_pass() -> None:
    closed = {
        pair: {"frames": Bounced(why="nothing")} for pair in (("a", "b"), ("a", "c"), ("b", "c"))
    }
    (one,) = of(judge(pairs(closed), HOSTS), "frames")
    assert one.text == "stopped: between all: nothing"
    assert "0x88B5" in one.do


def test_all_pass__only_if_it_was_tried() -> None:
    some = pairs({("a", "c"): {"UDP": Bounced(why="nothing")}})
    assert all_pass("b", "UDP", some)
    assert not all_pass("a", "UDP", some)
    assert not all_pass("a", "UDP", [])


def test_judge__frames_that_are_too_long_on_the_way() -> None:
    (one,) = of(
        judge(pairs({("a", "b"): {"full frames": Bounced(why="nothing")}}), HOSTS), "full frames"
    )
    assert one.state is State.BAD
    assert "ip link set eth0 mtu" in one.do


def test_judge__what_was_not_tried_is_not_closed() -> None:
    untried = Bounced(why="b: needs CAP_NET_RAW", tried=False)
    changed = {("a", "b"): {"frames": untried}, ("b", "c"): {"frames": untried}}
    found = of(judge(pairs(changed), HOSTS), "frames")
    assert [one.state for one in found] == [State.UNKNOWN, State.OK]
    assert found[0].text == "not tried: b: needs CAP_NET_RAW"
    changed[("a", "c")] = {"frames": Bounced(why="a: needs CAP_NET_RAW", tried=False)}
    (one,) = of(judge(pairs(changed), HOSTS), "frames")
    assert one.text == "not tried: b, a: needs CAP_NET_RAW"


def test_judge__what_is_lost() -> None:
    found = of(
        judge(pairs({("a", "b"): {"full frames": Bounced(9000.0, lost=3)}}), HOSTS), "full frames"
    )
    assert found[0].state is State.WORSE
    assert "a – b 3" in found[0].text


def test_judge__hosts_that_differ() -> None:
    found = judge(pairs({}), [host("a", 9000), host("b"), host("c", kernel="6.6")])
    (mtu,) = of(found, "MTU")
    assert "a 9000, b 1500, c 1500" in mtu.text
    assert "mtu 1500" in mtu.do
    (kernels,) = of(found, "kernels")
    assert kernels.state is State.NOTE
