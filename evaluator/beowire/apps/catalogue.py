# SPDX-License-Identifier: BSD-3-Clause
"""The programs that can be measured: those of the folder `apps`, LINPACK, and NAS's own eight.

Pure: nothing here looks whether a compiler, a tree or a package is there.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from beowire.errors import BeowireError

CLASSES = ("S", "W", "A", "B")

#: All that have no condition, such as a user's own NPB tree or a package.
ALL = "all"

Kind = Literal["own", "npb", "hpl", "user"]


@dataclass(frozen=True)
class Ranks:
    """Which numbers of ranks a program can use."""

    text: str
    """For people, after "runs on"."""

    allow: Callable[[int], bool]


ANY = Ranks("any number of ranks", lambda ranks: ranks >= 1)
POWER_OF_TWO = Ranks("1, 2, 4, 8 or another power of two of ranks", lambda n: n & (n - 1) == 0)
SQUARE = Ranks("1, 4, 9, 16 or another square of ranks", lambda n: math.isqrt(n) ** 2 == n)
AT_LEAST_TWO = Ranks("two ranks or more", lambda ranks: ranks >= 2)


@dataclass(frozen=True)
class App:
    """A program."""

    name: str
    summary: str
    ranks: Ranks = ANY
    unit: str = "MOP/s"
    """Of its figure; the more the better, unless it is a time (`s`)."""
    kind: Kind = "own"
    source: str = ""
    """Its name where it comes from, if that is another."""
    arguments: tuple[str, ...] = ()
    """Words that it is given besides its class."""
    classes: tuple[str, ...] = CLASSES
    in_all: bool = True
    """Whether `all` means it, too."""

    @property
    def less_is_better(self) -> bool:
        """Whether its figure is a time."""
        return self.unit == "s"

    @property
    def file(self) -> str:
        """What it is called in the folder or tree that it comes from."""
        return self.source or self.name

    def refusal(self, ranks: int) -> str:
        """Why it cannot run on so many ranks; empty if it can."""
        if self.ranks.allow(ranks):
            return ""
        return f"{self.name} runs on {self.ranks.text}, not on {ranks}: choose another --ranks"


OWN = (
    App("ep", "random numbers (NAS EP): next to no messages"),
    App("is", "sorts whole numbers (NAS IS): all data between all ranks", POWER_OF_TWO),
    App("cg", "conjugate gradients (NAS CG): short messages and inner products", POWER_OF_TWO),
    App("mg", "multigrid (NAS MG): faces of boxes, long and short", POWER_OF_TWO),
    App("ft", "Fourier transforms (NAS FT): all data between all ranks", POWER_OF_TWO),
    App(
        "sweep",
        "wave fronts (messages of NAS LU): many short messages",
        POWER_OF_TWO,
        unit="steps/s",
    ),
    App("halo", "waves in a box: six faces exchanged each step", unit="Mpoints/s"),
    App(
        "halo-overlap",
        "the same, computing while faces are on their way",
        unit="Mpoints/s",
        source="halo",
        arguments=("--overlap", "yes"),
    ),
    App("transpose", "transposes a matrix: all data between all ranks", unit="MB/s"),
    App("allreduce", "sums of vectors around a ring, as in machine learning", unit="MB/s"),
    App(
        "allreduce-tree",
        "the same, up and down a tree",
        unit="MB/s",
        source="allreduce",
        arguments=("--algorithm", "tree"),
    ),
    App("climate", "spectral elements on a sphere, as in HOMME: long messages", unit="steps/s"),
    App(
        "pipeline",
        "rows passed on between pieces of work, compared with messages that take no time",
        unit="% of ideal",
        in_all=False,
    ),
    App(
        "pipeline-halo",
        "the same, exchanging rows with neighbours during the work",
        unit="% of ideal",
        source="pipeline",
        arguments=("--pattern", "halo"),
        in_all=False,
    ),
    App(
        "pipeline-lag",
        "share of rows between pieces of work that arrive within 10 us (needs one clock)",
        AT_LEAST_TWO,
        unit="% in time",
        source="pipeline",
        arguments=("--pattern", "lag"),
        in_all=False,
    ),
    App(
        "hpl",
        "LINPACK, by Debian's package hpcc (variant WR00C2C2)",
        unit="Gflop/s",
        kind="hpl",
        arguments=("crout",),
        in_all=False,
    ),
    App(
        "hpl-left",
        "the same, its variant WR00C2L2",
        unit="Gflop/s",
        kind="hpl",
        arguments=("left",),
        in_all=False,
    ),
)

_NPB_RANKS = {"bt": SQUARE, "sp": SQUARE, "ep": ANY}
_NPB_SUMMARIES = {
    "bt": "block tridiagonal solver",
    "cg": "conjugate gradients",
    "ep": "random numbers",
    "ft": "Fourier transforms",
    "is": "sorting",
    "lu": "wave fronts",
    "mg": "multigrid",
    "sp": "scalar pentadiagonal solver",
}
NPB_NAMES = tuple(_NPB_SUMMARIES)


def npb_app(name: str) -> App:
    """One of the eight of a user's NPB tree."""
    return App(
        f"npb-{name}",
        f"NPB {name.upper()}, of your own tree: {_NPB_SUMMARIES[name]}",
        _NPB_RANKS.get(name, POWER_OF_TWO),
        kind="npb",
        source=name,
    )


def user_app(words: Sequence[str]) -> App:
    """A program of the user: its figure is the time that it takes, launcher and all."""
    name = words[0].rpartition("/")[2]
    return App(name, "a program of yours", unit="s", kind="user", source=words[0])


def choose(names: Sequence[str], *, npb: bool) -> tuple[list[App], dict[str, str]]:
    """The programs of these names, each once; of a user's NPB tree those that it has, with or
    without `npb-` before the name; `NAME:OPTION=VALUE,...` gives a program options of its own. And
    names that are none, with the reason; BeowireError if all are."""
    own = {app.name: app for app in OWN}
    chosen: dict[str, App] = {}
    unknown: dict[str, str] = {}
    if npb and not names:
        names = [ALL]
    for name in names:
        found: list[App] = []
        if name == ALL:
            found = [npb_app(one) for one in NPB_NAMES] if npb else [a for a in OWN if a.in_all]
        elif npb and name.removeprefix("npb-") in NPB_NAMES:
            found = [npb_app(name.removeprefix("npb-"))]
        elif name.partition(":")[0] in own:
            found = [_with_options(own[name.partition(":")[0]], name)]
        else:
            unknown[name] = _unknown(name, npb)
        chosen.update((app.name, app) for app in found)
    if not chosen:
        raise BeowireError("; ".join(unknown.values()))
    return list(chosen.values()), unknown


def _with_options(app: App, name: str) -> App:
    """The program with the options that its name says; its own name is all of that then."""
    _, colon, text = name.partition(":")
    if not colon:
        return app
    words: list[str] = []
    for option in text.split(","):
        key, _, value = option.partition("=")
        if app.kind != "own" or not re.fullmatch(r"[a-z]+=[\w.]+", option, re.ASCII):
            raise BeowireError(
                f"cannot read {name!r}: write NAME:OPTION=VALUE,... with options of a program of"
                " apps/, such as halo:iterations=100"
            )
        words += [f"--{key}", value]
    return replace(app, name=name, source=app.file, arguments=(*app.arguments, *words))


def _unknown(name: str, npb: bool) -> str:
    if not npb and name.removeprefix("npb-") in NPB_NAMES:
        return f"{name} is one of NPB's: --npb DIR names your tree of it"
    known = ", ".join([app.name for app in OWN] + ([*NPB_NAMES] if npb else []) + [ALL])
    return f"no program is called {name!r}: {known}, or one of your own after --"


def check_class(letter: str) -> str:
    """The class, in the letter that programs take. BeowireError for none."""
    if letter.upper() not in CLASSES:
        raise BeowireError(f"no class is called {letter!r}: --class is one of {', '.join(CLASSES)}")
    return letter.upper()
