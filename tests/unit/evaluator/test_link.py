# SPDX-License-Identifier: BSD-3-Clause
"""The link in words, for records of labs and of hosts, and for those that know less."""

import pytest

from beowire.analysis.link import link_text
from beowire.record.lines import Meta
from beowire.record.parts import Link
from unit.evaluator import synthetic_record


def meta(link: Link, first: str | None = "cubic", second: str | None = "cubic") -> Meta:
    line = synthetic_record.lines(("tcp",))[0]
    assert isinstance(line, Meta)
    ends = [
        end.model_copy(update={"environment": {"net_ipv4_tcp_congestion_control": name}})
        for end, name in zip(line.ends, (first, second), strict=True)
    ]
    return line.model_copy(update={"link": link, "ends": ends})


def test_link_text__a_lab_with_everything() -> None:
    link = Link(
        kind="lab",
        topology="direct",
        mtu=9000,
        rate_bits_per_s=1e9,
        delay_ns=10_000,
        loss=0.01,
        congestion_control="reno",
    )
    assert link_text(meta(link)) == (
        "virtual cluster (direct link), MTU 9000, 1 Gbit/s, delay 10.0 µs, loss 0.01,"
        " congestion control reno"
    )


def test_link_text__a_lab_whose_record_says_it_only_of_the_ends() -> None:
    assert link_text(meta(Link(kind="lab"), "bbr", "bbr")) == (
        "virtual cluster (lab link), congestion control bbr"
    )


@pytest.mark.parametrize(
    ("backend", "nic", "accelerator", "words"),
    [
        ("vm", "e1000", "tcg", "virtual machines with cards e1000 (direct link), emulated"),
        ("vm", "virtio", "kvm", "virtual machines with cards virtio (direct link), under KVM"),
        ("uml", None, "uml", "namespaces of user-mode Linux (direct link), on a kernel that is a"
         " program"),
    ],
)  # fmt: skip
def test_link_text__machines_say_what_their_figures_are_worth(
    backend: str, nic: str | None, accelerator: str, words: str
) -> None:
    link = Link(
        kind="lab", topology="direct", mtu=1500, backend=backend, nic=nic, accelerator=accelerator
    )
    assert link_text(meta(link, None, None)) == (
        f"{words}: figures compare only with one another, MTU 1500"
    )


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("cubic", "cubic", "real hosts, congestion control cubic"),
        ("cubic", "bbr", "real hosts, congestion control cubic on node0 and bbr on node1"),
        (None, "bbr", "real hosts, congestion control unknown on node0 and bbr on node1"),
        (None, None, "real hosts"),
    ],
)
def test_link_text__hosts_have_one_each(first: str | None, second: str | None, words: str) -> None:
    assert link_text(meta(Link(kind="hosts"), first, second)) == words


def test_link_text__loopback() -> None:
    assert link_text(meta(Link(kind="local"))) == "one host, loopback, congestion control cubic"
