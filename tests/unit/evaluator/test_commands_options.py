# SPDX-License-Identifier: BSD-3-Clause
import pytest
import typer
from typer.testing import CliRunner

from beowire.commands import options
from beowire.errors import BeowireError
from beowire.places.lab.options import DEFAULT_MTU, LossOption, MtuOption


def measure(context: typer.Context, mtu: MtuOption = DEFAULT_MTU, loss: LossOption = None) -> None:
    """A command that makes no lab this time."""
    options.refuse_lab_options(context)


def run(*words: str) -> BaseException | None:
    app = typer.Typer()
    app.command()(measure)
    return CliRunner().invoke(app, words).exception


def test_refuse_lab_options__none_is_given() -> None:
    assert run() is None


@pytest.mark.parametrize("words", [("--mtu", str(DEFAULT_MTU)), ("--loss", "1%")])
def test_refuse_lab_options__one_is_given_even_with_its_default(words: tuple[str, str]) -> None:
    refused = run(*words)
    assert isinstance(refused, BeowireError)
    assert str(refused) == f"{words[0]} describes a lab: add --lab"
