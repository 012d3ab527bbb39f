# SPDX-License-Identifier: BSD-3-Clause
"""What watches over clusters: rules that a run has to meet, and figures for Prometheus. Options
that several commands have."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from beowire import files
from beowire.commands.sinks import write_file
from beowire.diff import rules as rules_of_file
from beowire.diff.rules import Rule
from beowire.errors import BeowireError
from beowire.record.reader import Record
from beowire.show import prometheus

RulesOption = Annotated[
    Path | None,
    typer.Option(
        "--rules",
        help="Check the results against the rules in this file (docs/RULES.md). Exit status: 0"
        " met, 1 broken, 2 inconclusive.",
    ),
]
JunitOption = Annotated[
    Path | None, typer.Option("--junit", help="Write the rules' results to FILE as JUnit XML.")
]
PrometheusOption = Annotated[
    Path | None, typer.Option("--prometheus", help="Write the figures to FILE as Prometheus text.")
]


@contextmanager
def never_worse() -> Iterator[None]:
    """What fails inside ends with 2, not with the usual 1, which would say that a rule is broken or
    that a run is worse than another."""
    try:
        yield
    except OSError as error:
        raise BeowireError(f"cannot write the results of the rules: {error.strerror}", 2) from None
    except BeowireError as error:
        raise BeowireError(str(error), 2 if error.exit_code == 1 else error.exit_code) from None


@dataclass(frozen=True)
class Checks:
    """What is asked of a record."""

    rules: list[Rule] | None
    junit: Path | None
    prometheus: Path | None

    def finish(self, record: Record, *, quiet: bool) -> int:
        """Writes all of it, and returns what the command ends with. `quiet`: standard output is for
        something else. BeowireError if a file cannot be written."""
        if self.prometheus is not None:
            write_file(self.prometheus, prometheus.text([record]), [record.path])
        if self.rules is None:
            return 0
        outcomes = rules_of_file.judge(self.rules, record)
        text = rules_of_file.render(outcomes)
        print(f"\n{text}", file=sys.stderr if quiet else sys.stdout, flush=True)
        if self.junit is not None:
            write_file(self.junit, rules_of_file.junit(outcomes, record), [record.path])
        return rules_of_file.status_of(outcomes)


def read_checks(rules: Path | None, junit: Path | None, prometheus_file: Path | None) -> Checks:
    """BeowireError for rules that cannot be read, and files that cannot be written, before anything
    is measured."""
    if junit is not None and rules is None:
        raise BeowireError("--junit needs --rules FILE")
    for path in (junit, prometheus_file):
        if path is not None:
            files.refuse_unwritable(path)
            if rules is not None and path.exists() and path.samefile(rules):
                raise BeowireError(f"{path} is the file of rules itself: name another file")
    return Checks(
        None if rules is None else rules_of_file.read_rules(rules), junit, prometheus_file
    )
