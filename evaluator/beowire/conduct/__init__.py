# SPDX-License-Identifier: BSD-3-Clause
"""How rounds are carried out, by pattern: what is in no table here is one run of its session."""

from collections.abc import Mapping

from beowire.conduct.all_pairs import AllPairs
from beowire.conduct.base import Conductor, How, Loading, Stage, Turn
from beowire.conduct.incast import Incast
from beowire.conduct.oneway import OneWay
from beowire.conduct.open_loop import OpenLoop
from beowire.conduct.pairs import Pairs

__all__ = ["Conductor", "How", "Loading", "Stage", "Turn", "conductor_of"]

_CONDUCTORS: Mapping[str, type[Conductor]] = {
    "open-loop": OpenLoop,
    "oneway": OneWay,
    "incast": Incast,
    "pairs": Pairs,
    "all-pairs": AllPairs,
}


def conductor_of(pattern: str) -> type[Conductor]:
    """What carries out this pattern's rounds."""
    return _CONDUCTORS.get(pattern, Conductor)
