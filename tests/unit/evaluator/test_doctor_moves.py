# SPDX-License-Identifier: BSD-3-Clause
"""What `beowire doctor` says of addresses that move from one host to another."""

from beowire.analysis.finding import State
from beowire.doctor import host_checks
from unit.evaluator.test_doctor import host, judged


def test_moves__an_address_is_at_two_hosts() -> None:
    found = [
        "10.0.0.7%eth0 02:be:00:00:00:07",
        "10.0.0.7%eth0 02:be:00:00:00:66",
        "10.0.0.8%eth0 02:be:00:00:00:08",
    ]
    judged(
        host_checks.moves,
        host(neighbours=found),
        State.BAD,
        "10.0.0.7 on eth0 was at 02:be:00:00:00:07 and at 02:be:00:00:00:66",
        "port security",
    )


def test_moves__all_stay() -> None:
    found = [
        "10.0.0.7%eth0 02:be:00:00:00:07",
        "10.0.0.8%eth0 02:be:00:00:00:07",  # one host may have several
        "fe80::1%eth0 02:be:00:00:00:01",
        "fe80::1%eth1 02:be:00:00:00:02",  # routers of two networks
    ]
    judged(host_checks.moves, host(neighbours=found), State.OK, "4 addresses of other hosts")
    judged(host_checks.moves, host(neighbours=[]), State.UNKNOWN, "ip neigh")
