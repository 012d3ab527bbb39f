# SPDX-License-Identifier: BSD-3-Clause
"""Where results go besides table and report: options that several commands have."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from beowire import files
from beowire.errors import BeowireError
from beowire.record.reader import Record
from beowire.show import columns
from beowire.visible import unguarded

#: The file that stands for standard output.
_STDOUT = "-"

CsvOption = Annotated[
    str | None,
    typer.Option("--csv", help="Write every result to FILE as CSV; - prints it."),
]
ColumnsOption = Annotated[
    bool,
    typer.Option(
        "--netpipe-columns",
        help="Print bytes, Mbps and seconds as in NetPIPE's np.out instead of the table, and"
        " write np.DRIVER.out beside the record.",
    ),
]


def check(
    csv: str | None, netpipe_columns: bool, as_json: bool = False, *, text: bool = False
) -> None:
    """BeowireError if more than one of them wants standard output, or if there is no writing to
    the file of `--csv`."""
    wanted = {
        f"--csv {csv}": _prints(csv),
        "--netpipe-columns": netpipe_columns,
        "--json": as_json,
        "--text": text,
    }
    names = [name for name, is_wanted in wanted.items() if is_wanted]
    if len(names) > 1:
        raise BeowireError(f"{' and '.join(names)} print different things: use one")
    if csv is not None and csv != _STDOUT:
        files.refuse_unwritable(Path(csv))


def takes_output(csv: str | None, netpipe_columns: bool) -> bool:
    """Whether standard output is for columns, and for nothing else."""
    return netpipe_columns or _prints(csv)


def _prints(csv: str | None) -> bool:
    """Whether that is standard output, also by the name of its descriptor."""
    return csv == _STDOUT or (csv is not None and files.is_standard_output(Path(csv)))


def write_csv(text: str, csv: str | None, records: Sequence[Path]) -> None:
    """Writes what `--csv` asks for, if anything. BeowireError if it cannot be written, or is one of
    the records."""
    if csv is None:
        return
    if _prints(csv):
        print(text, end="", file=unguarded(sys.stdout), flush=True)
    else:
        write_file(Path(csv), text, records)


def write_netpipe(records: Sequence[Record]) -> None:
    """Writes a file for each driver and pattern beside its record, and prints all of them."""
    found: list[columns.Columns] = []
    for record in records:
        for one in columns.netpipe(record):
            files.write_beside(record.path.parent / one.file_name, one.text)
            found.append(one)
    if found:
        print(columns.blocks(found), end="", file=unguarded(sys.stdout), flush=True)


def write_file(path: Path, text: str, records: Sequence[Path]) -> None:
    """Writes what the user has named. BeowireError if that cannot be, or is one of the records."""
    files.refuse_records(path, records)
    files.write_named(path, text)
