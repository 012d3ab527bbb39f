# SPDX-License-Identifier: BSD-3-Clause
"""What `beowire doctor` says of received frames damaged."""

import os

from beowire.analysis.finding import State
from beowire.doctor import facts, host_checks
from unit.evaluator.published import endpoint, publish
from unit.evaluator.test_doctor import host, judged


def test_damage__what_the_kernel_has_counted() -> None:
    counted = [
        "Udp: InDatagrams InErrors InCsumErrors IgnoredMulti",
        "Udp: 1000 3 7 5",
        "Tcp: RtoAlgorithm InErrs OutRsts InCsumErrors",
        "Tcp: 1 0 77 2",
        "Udp6InDatagrams                 \t5",
        "Udp6InCsumErrors                \t1",
    ]
    judged(
        host_checks.damage, host(checksums=counted), State.NOTE, "8 of UDP and 2 of TCP", "nstat"
    )
    judged(host_checks.damage, host(checksums=["Udp: A InCsumErrors", "Udp: 1"]), State.OK)
    judged(host_checks.damage, host(checksums=[]), State.UNKNOWN, "/proc/net/snmp")


def test_damage__links_of_endpoints_are_named() -> None:
    link = "packet/eth0 from 10.77.0.2/4711"
    judged(host_checks.damage, host(damage=[link]), State.BAD, f"over {link}", "beowire top")


def test_damage__the_script_finds_what_endpoints_publish() -> None:
    link = "packet/eth0 from 10.77.0.2/4711"
    descriptor = publish(endpoint(1, damage=((link, 3),)))
    try:
        assert link in facts.ask_here(facts.script("", ["damage"]))["damage"]
    finally:
        os.close(descriptor)
