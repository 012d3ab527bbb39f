# SPDX-License-Identifier: BSD-3-Clause
"""`beowire drivers`: what can be measured on this host, and why the rest cannot."""

import json
import shutil
import socket
import sys
from typing import Annotated

import typer

from beowire import text_table
from beowire.engine import EngineError, EngineProcess
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.launch.local import LocalLauncher
from beowire.mpi import drivers as mpi_drivers
from beowire.record import DriverInfo
from beowire.survey import end_engines, greet, known_drivers, start_engine


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("drivers")(drivers)


def drivers(
    interface: Annotated[
        str, typer.Option("--interface", help="Ask for this interface; default: any.")
    ] = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object: drivers, and broken files.")
    ] = False,
) -> None:
    """Lists every driver: ready, or absent and why."""
    _check_interface(interface)
    found, broken = _ask(interface)
    if as_json:
        print(
            json.dumps(
                {"drivers": [one.model_dump() for one in found], "broken": broken}, allow_nan=False
            )
        )
        return
    width = max((len(one.name) for one in found), default=0)
    # In a pipe each is one line, for programs that look for it.
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 1 << 16
    for one in found:
        state = "ready " if one.ready else "absent"
        line = f"{one.name:<{width}}  {state}  {one.summary}".rstrip()
        print(text_table.filled(line, columns, width + 10))
        if not one.ready:
            print(text_table.filled(f"{'':<{width}}          {one.reason}", columns, 0))


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
