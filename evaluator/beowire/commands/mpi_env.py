# SPDX-License-Identifier: BSD-3-Clause
"""`beowire mpi-env`: what makes an MPI use Beowire."""

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from beowire.places.mpi import environment, installation
from beowire.places.mpi.installation import KINDS

MpiOption = Annotated[str, typer.Option("--mpi", help=f"One of {', '.join(KINDS)}.")]
OverOption = Annotated[str, typer.Option("--over", help="beowire, or tcp (the MPI's own TCP).")]
PrefixOption = Annotated[
    Path | None,
    typer.Option("--prefix", help="Directory of the MPI to use, with `bin` in it."),
]


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("mpi-env")(mpi_env)


def mpi_env(
    *,
    mpi: MpiOption,
    over: OverOption = "beowire",
    prefix: PrefixOption = None,
    print_cc: Annotated[
        bool, typer.Option("--print-cc", help="Print the path of its C compiler wrapper instead.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Prints the variables with which an MPI uses Beowire.

    For a shell: `eval "$(beowire mpi-env --mpi mpich)"`.
    """
    found = installation.find(mpi, prefix)
    if print_cc:
        print(installation.compiler_of(found))
        return
    variables = environment.variables(found, over)
    if as_json:
        compiler = None if found.compiler is None else str(found.compiler)
        print(
            json.dumps(
                {
                    "mpi": found.name,
                    "version": found.version,
                    "launcher": str(found.launcher),
                    "compiler": compiler,
                    "over": over,
                    "variables": variables,
                },
                allow_nan=False,
            )
        )
        return
    caution = environment.caution(found, over)
    if caution is not None:
        # Where `eval` does not take it.
        typer.echo(f"beowire: {caution}", err=True)
    print(f"# {KINDS[mpi].title} {found.version}, {found.launcher}")
    for name, value in variables.items():
        print(f"export {name}={shlex.quote(value)}")
