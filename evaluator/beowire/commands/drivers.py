# SPDX-License-Identifier: BSD-3-Clause
"""`beowire drivers`: what can be measured on this host, and why the rest cannot."""

import json
import shutil
import socket
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated

import typer

from beowire import text_table
from beowire.conduct.survey import end_engines, greet, known_drivers, start_engine
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.mpi import drivers as mpi_drivers
from beowire.places.engine import EngineError, EngineProcess
from beowire.places.launch.local import LocalLauncher
from beowire.record.lines import DriverInfo

#: Names that are longer, such as those of MPIs' one-sided drivers, begin further to the right what
#: is said of them.
_WIDEST_NAME = 24


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("drivers")(drivers)


def drivers(
    interface: Annotated[
        str, typer.Option("--interface", help="For this network interface. Default: any.")
    ] = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object: drivers, and broken files.")
    ] = False,
) -> None:
    """Lists the drivers, and why some cannot run here."""
    _check_interface(interface)
    found, broken = _ask(interface)
    if as_json:
        print(
            json.dumps(
                {"drivers": [one.model_dump() for one in found], "broken": broken}, allow_nan=False
            )
        )
        return
    in_terminal = sys.stdout.isatty()
    columns = shutil.get_terminal_size().columns if in_terminal else 1 << 16
    print("\n".join(_lines(found, columns, _WIDEST_NAME if in_terminal else None)))


def _lines(found: Sequence[DriverInfo], columns: int, widest: int | None) -> Iterator[str]:
    """The list. In a pipe (`widest` None) all that is said of a driver is beside it, for programs
    that look for it; in a terminal what several lack, one after the other, is said once, and the
    longest names do not push the others' text to the side."""
    width = max((len(one.name) for one in found), default=0)
    if widest is not None:
        width = min(width, widest)
    for (ready, reason), same in groupby(found, key=lambda one: (one.ready, one.reason)):
        ones = list(same)
        for one in ones:
            state = "ready " if ready else "absent"
            line = f"{one.name:<{width}}  {state}  {one.summary}".rstrip()
            yield text_table.filled(line, columns, width + 10)
            if not ready and (widest is None or one is ones[-1]):
                of_all = f"all {len(ones)}: " if widest is not None and len(ones) > 1 else ""
                yield text_table.filled(f"{'':<{width}}          {of_all}{reason}", columns, 0)


def _check_interface(name: str) -> None:
    """BeowireError, with those that are here, if there is none of this name; empty: any will do."""
    known = [one for _, one in socket.if_nameindex()]
    if name and name not in known:
        raise BeowireError(
            f"no network interface is called {name!r} here: --interface is one of"
            f" {', '.join(known)}"
        )


def _ask(interface: str) -> tuple[list[DriverInfo], list[dict[str, str]]]:
    with Interrupts() as interrupts, LocalLauncher() as launcher:
        engines: list[EngineProcess] = []
        try:
            engine = start_engine(launcher, launcher.nodes[0], interrupts, engines)
            greet(engine)
            options = {"interface": interface} if interface else {}
            answer = engine.request("drivers", "drivers", options)
            found = [*known_drivers(answer), *mpi_drivers.every()]
            return found, list(answer.get("broken", []))
        except EngineError as error:
            raise BeowireError(str(error), exit_code=1) from None
        finally:
            with interrupts.held():
                end_engines(engines)
