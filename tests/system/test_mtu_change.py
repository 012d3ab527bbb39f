# SPDX-License-Identifier: BSD-3-Clause
"""The MTU of all interfaces is lowered and raised again while messages are exchanged."""

import contextlib
from collections.abc import Iterator

import pytest

from beowire.places.lab import cluster, network
from beowire.places.lab.options import LabOptions
from beowire.places.lab.state import LabState
from system.conftest import wait_until
from system.test_stillness import ALL_LANES, PATIENCE_S, UDP_ALONE, exchanging, run, snapshots

MESSAGES = 1_000_000
MORE = 2000


@contextlib.contextmanager
def jumbo_lab() -> Iterator[LabState]:
    lab = cluster.up_ephemeral(LabOptions(link="switch", mtu=9000), "mtu")
    try:
        yield lab.state
    finally:
        lab.close()


def set_mtu(lab: LabState, mtu: int) -> None:
    for index in (0, 1):
        ip = ("ip", "link", "set", "mtu", str(mtu), "dev")
        run(lab, network.node_name(index), *ip, "eth0")
        run(lab, network.SWITCH, *ip, network.near(index))


def received(process: int) -> int:
    """Messages that the endpoints of a process have received."""
    found = snapshots(process)
    return sum(one.values("counters").get("message_received", 0) for one in found)


@pytest.mark.timeout(5 * PATIENCE_S)
@pytest.mark.parametrize("before", [ALL_LANES, UDP_ALONE], ids=["every lane", "udp alone"])
def test_mtu_is_lowered_and_raised__the_exchange_goes_on(before: tuple[str, ...]) -> None:
    with jumbo_lab() as lab, exchanging(lab, MESSAGES, 60_000, before) as (ends, _):
        for mtu in (1500, 9000, 1500):
            set_mtu(lab, mtu)
            at = [received(end.pid) for end in ends]

            def goes_on(at: list[int] = at) -> bool:
                now = [received(end.pid) for end in ends]
                return all(more > MORE + few for more, few in zip(now, at, strict=True))

            assert wait_until(goes_on, PATIENCE_S), (mtu, at)
            assert [end.poll() for end in ends] == [None, None]
