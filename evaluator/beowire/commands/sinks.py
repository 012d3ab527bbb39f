# SPDX-License-Identifier: BSD-3-Clause
"""Where results go besides table and report: options that several commands have."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from beowire import columns, files
from beowire.errors import BeowireError
from beowire.record import Record
from beowire.visible import unguarded

#: The file that stands for standard output.
_STDOUT = "-"

CsvOption = Annotated[
    str | None,
    typer.Option("--csv", help="Write every result to FILE as comma-separated values; - prints."),
]
ColumnsOption = Annotated[
    bool,
    typer.Option(
        "--netpipe-columns",
        help="Print bytes, Mbps and seconds as NetPIPE's np.out has them, and no table; and write "
        "np.DRIVER.out beside the record.",
    ),
]


def check(
    csv: str | None, netpipe_columns: bool, as_json: bool = False, *, text: bool = False
) -> None:
    """BeowireError if more than one of them wants standard output."""
    wanted = {
        "--csv -": csv == _STDOUT,
        "--netpipe-columns": netpipe_columns,
        "--json": as_json,
        "--text": text,
    }
    names = [name for name, is_wanted in wanted.items() if is_wanted]
    if len(names) > 1:
        raise BeowireError(f"{' and '.join(names)} print different things: take one")


def takes_output(csv: str | None, netpipe_columns: bool) -> bool:
    """Whether standard output is for columns, and for nothing else."""
    return netpipe_columns or csv == _STDOUT


def write_csv(text: str, csv: str | None) -> None:
    """Writes what `--csv` asks for, if anything. BeowireError if it cannot be written."""
    if csv == _STDOUT:
        print(text, end="", file=unguarded(sys.stdout), flush=True)
    elif csv is not None:
        write_file(Path(csv), text)


def write_netpipe(records: Sequence[Record]) -> None:
    """Writes a file for each driver and pattern beside its record, and prints all of them."""
    found: list[columns.Columns] = []
    for record in records:
        for one in columns.netpipe(record):
            write_file(record.path.parent / one.file_name, one.text)
            found.append(one)
    if found:
        print(columns.blocks(found), end="", file=unguarded(sys.stdout), flush=True)


def write_file(path: Path, text: str) -> None:
    """Writes a file whole or not at all. BeowireError (exit code 1)."""
    try:
        files.write_whole(path, text)
    except OSError as error:
        raise BeowireError(f"cannot write {path}: {error.strerror}", exit_code=1) from None
