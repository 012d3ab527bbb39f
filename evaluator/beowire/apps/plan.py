# SPDX-License-Identifier: BSD-3-Clause
"""In which order programs are launched. Pure: the same seed gives the same order.

In each round every way of every program has its turn once. Loads take turns as wholes, for they
have to be started and ended; under each the programs come in random order, and the ways of one
program one after the other, in random order again: so what is compared is near in time.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from beowire.apps.record import IDLE
from beowire.errors import BeowireError
from beowire.plan.load import Load


@dataclass(frozen=True)
class Turn:
    """One launch."""

    app: str
    mpi: str
    over: str
    load: str


def parse_loads(text: str | None) -> dict[str, Load | None]:
    """The loads of `--load`, by name: `nice19`, `nice0`, `idle`, or several. BeowireError."""
    loads: dict[str, Load | None] = {}
    for word in [IDLE] if text is None else text.split(","):
        word = word.strip()
        found = re.fullmatch(r"nice(\d{1,2})", word)
        if word == IDLE:
            loads[IDLE] = None
        elif found and int(found[1]) <= 19:
            loads[word] = Load(int(found[1]))
        else:
            raise BeowireError(
                f"cannot read --load {text!r}: write nice19 (it gives way), nice0 (an equal),"
                " idle, or several: idle,nice19"
            )
    return loads


def round_of(
    ways: Sequence[tuple[str, str, str]], loads: Sequence[str], seed: int, number: int
) -> list[Turn]:
    """The turns of a round; `ways` are (program, MPI, way)."""
    order = random.Random(f"{seed} {number}")
    turns = []
    for load in order.sample(list(loads), len(loads)):
        groups: dict[tuple[str, str], list[str]] = {}
        for app, mpi, over in ways:
            groups.setdefault((app, mpi), []).append(over)
        for app, mpi in order.sample(list(groups), len(groups)):
            overs = groups[app, mpi]
            turns += [Turn(app, mpi, one, load) for one in order.sample(overs, len(overs))]
    return turns
