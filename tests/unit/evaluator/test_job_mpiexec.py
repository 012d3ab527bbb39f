# SPDX-License-Identifier: BSD-3-Clause
import os
from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.places.job import mpiexec


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is all of the search path."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("BEOWIRE_INTERFACE", "BEOWIRE_TEST_MARK"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def install(directory: Path, name: str, says: str = "") -> str:
    program = directory / name
    program.write_text(f"#!/bin/sh\necho '{says}'\n", encoding="ascii")
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize("says", ["mpiexec (Open MPI) 5.0.11", "HYDRA build details:"])
def test_usual__mpiexec_that_is_known(programs: Path, says: str) -> None:
    assert mpiexec.usual() is None
    install(programs, "mpiexec", says)
    assert mpiexec.usual() == "mpiexec"
    install(programs, "prterun", "prterun (PRRTE) 3.0.6")
    assert mpiexec.usual() == "mpiexec"


def test_usual__not_what_needs_something_on_other_hosts(programs: Path) -> None:
    install(programs, "prterun", "prterun (PRRTE) 3.0.6")
    assert mpiexec.usual() is None
    install(programs, "mpiexec", "mpiexec of somebody")
    assert mpiexec.usual() is None


@pytest.mark.parametrize(
    ("says", "kind"),
    [
        ("mpiexec (OpenRTE) 4.1.4", "openmpi"),
        ("mpiexec (Open MPI) 5.0.3", "openmpi"),
        ("prterun (PRRTE) 3.0.6", "openmpi"),
        ("HYDRA build details:\n    Version: 4.0.2", "hydra"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.13", "hydra"),
    ],
)
def test_kind_of__what_it_says_of_itself(programs: Path, says: str, kind: str) -> None:
    install(programs, "mpiexec", says)
    assert mpiexec.kind_of("mpiexec") == kind


def test_kind_of__no_launcher(programs: Path) -> None:
    with pytest.raises(BeowireError, match="there is no launcher prterun"):
        mpiexec.kind_of("prterun")
    install(programs, "mpiexec", "mpiexec of somebody")
    with pytest.raises(BeowireError, match="no launcher known here"):
        mpiexec.kind_of("mpiexec")


def test_command_line__for_each_kind(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = install(programs, "heat")
    install(programs, "mpiexec", "HYDRA")
    install(programs, "prterun", "PRRTE")
    words = mpiexec.command_line("mpiexec", 3, [], ["heat", "-x"], environment={}, label=True)
    assert words == ["mpiexec", "-n", "3", "-prepend-rank", program, "-x"]
    hosts = ["a", "b"]
    # On other hosts the program may be where it is not here.
    words = mpiexec.command_line("mpiexec", 3, hosts, ["there"], environment={}, label=False)
    assert words == ["mpiexec", "-n", "3", "-hosts", "a,b", "-ppn", "2", "there"]
    for name in [name for name in os.environ if name.startswith("BEOWIRE_")]:
        monkeypatch.delenv(name)  # the tests' own
    monkeypatch.setenv("BEOWIRE_LANES", "udp")
    words = mpiexec.command_line(
        "prterun", 3, hosts, ["there"], environment={"BEOWIRE_INTERFACE": "e0"}, label=False
    )
    assert " ".join(words) == (
        "prterun -n 3 --map-by slot:OVERSUBSCRIBE --host a:2,b:2"
        " -x BEOWIRE_INTERFACE -x BEOWIRE_LANES there"
    )


def test_command_line__no_such_program(programs: Path) -> None:
    install(programs, "mpiexec", "HYDRA")
    with pytest.raises(BeowireError, match="there is no program nothing") as caught:
        mpiexec.command_line("mpiexec", 1, [], ["nothing"], environment={}, label=False)
    assert caught.value.exit_code == 127
    (programs / "data").write_text("1", encoding="ascii")
    with pytest.raises(BeowireError, match="it is no program") as caught:
        mpiexec.command_line(
            "mpiexec", 1, [], [str(programs / "data")], environment={}, label=False
        )
    assert caught.value.exit_code == 126
