# SPDX-License-Identifier: BSD-3-Clause
import pytest
import typer
from typer.testing import CliRunner

from beowire.commands import run
from beowire.errors import BeowireError
from beowire.places.job.places import HerePlace, Place


def application() -> typer.Typer:
    app = typer.Typer()

    @app.callback()
    def group() -> None:
        pass

    run.register(app)
    return app


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-n 0 true", "-n is 1 to 4096"),
        ("-n 5000 true", "-n is 1 to 4096"),
        ("--lab --hosts a,b true", "exclude each other"),
        ("--lab-name x --hosts a,b true", "exclude each other"),
        ("--lab --lab-name x true", "choose one"),
        ("--lab --launcher mpiexec true", "without a launcher"),
        ("--launcher ssh true", "needs --hosts"),
        ("--launcher none --hosts a true", "needs a launcher"),
        ("--mtu 9000 true", "--mtu describes a lab: add --lab"),
        ("--ssh-option Port=2222 true", "--ssh-option needs --launcher ssh"),
        ("--launcher ssh --hosts -x true", "no host can be named '-x'"),
        ("--launcher ssh --hosts a, true", "no host can be named ''"),
        ("--launcher mpiexec --hosts a, true", "no host can be named ''"),
    ],
)
def test_run__refused(words: str, message: str) -> None:
    result = CliRunner().invoke(application(), ["run", *words.split()])
    assert isinstance(result.exception, BeowireError)
    assert message in str(result.exception)


def test_spread__neighbours_in_rank_are_neighbours_in_place() -> None:
    places: list[Place] = [HerePlace(), HerePlace()]
    for processes in (1, 2, 3, 4, 7):
        spread = run._spread(places, processes)
        assert len(spread) == processes
        indices = [0 if place is places[0] else 1 for place in spread]
        assert indices == sorted(indices)
        assert abs(2 * sum(indices) - processes) <= 1
