# SPDX-License-Identifier: BSD-3-Clause
"""The order of turns."""

from collections import Counter

import pytest

from beowire.apps.plan import parse_loads, round_of
from beowire.errors import BeowireError
from beowire.plan.load import Load

WAYS = [(app, "m", over) for app in ("cg", "is", "mg") for over in ("tcp", "beowire", "shm")]


def test_round_of__each_way_once_under_each_load() -> None:
    turns = round_of(WAYS, ["idle", "nice19"], seed=1, number=0)
    counted = Counter((one.app, one.mpi, one.over, one.load) for one in turns)
    assert len(counted) == len(WAYS) * 2
    assert set(counted.values()) == {1}


def test_round_of__ways_of_a_program_are_neighbours_and_loads_are_whole() -> None:
    turns = round_of(WAYS, ["idle", "nice19"], seed=3, number=1)
    blocks = [turns[at : at + 3] for at in range(0, len(turns), 3)]
    assert all(len({(one.app, one.load) for one in block}) == 1 for block in blocks)
    loads = [one.load for one in turns]
    assert loads in (["idle"] * 9 + ["nice19"] * 9, ["nice19"] * 9 + ["idle"] * 9)


def test_round_of__another_order_in_each_round_and_the_same_from_a_seed() -> None:
    orders = [round_of(WAYS, ["idle"], seed=1, number=number) for number in range(6)]
    assert len({tuple(order) for order in orders}) > 1
    assert orders[4] == round_of(WAYS, ["idle"], seed=1, number=4)


def test_parse_loads() -> None:
    assert parse_loads(None) == {"idle": None}
    assert parse_loads("nice19") == {"nice19": Load(19)}
    assert parse_loads("idle, nice0") == {"idle": None, "nice0": Load(0)}


@pytest.mark.parametrize("text", ["", "nice", "nice20", "nice-1", "hog:19", "idle,,nice0"])
def test_parse_loads__refused(text: str) -> None:
    with pytest.raises(BeowireError, match="write nice19"):
        parse_loads(text)
