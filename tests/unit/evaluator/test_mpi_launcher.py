# SPDX-License-Identifier: BSD-3-Clause
"""Hosts as the launcher of an MPI knows them. (tests/system/test_launch.py has a real one.)"""

from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.places.mpi.launcher import MpirunLauncher

#: Says whose it is; runs what follows `sh` here; one of its hosts is not there.
MPIRUN = """#!/bin/sh
[ "$1" = --version ] && {{ echo '{version}'; exit; }}
printf "%s\\n" "$*" >>{here}/calls
echo "$OMPI_MCA_orte_local_tmpdir_base" >>{here}/own
case "$*" in
*full*)
    echo ---------------------------------------------------- >&2
    echo "There are not enough slots available in the system" >&2
    echo ---------------------------------------------------- >&2
    printf "\\n\\0" >&2; exit 1;;
*gone*)
    echo >&2; echo "ssh: connect to host gone port 22: No route to host" >&2
    echo ---------------------------------------------------- >&2
    echo "ORTE was unable to reliably start one or more daemons." >&2; exit 1;;
esac
while [ "$1" != sh ]; do shift; done
"$@" || {{
    status=$?
    echo ---------------------------------------------------- >&2
    echo "Primary job terminated normally, but 1 process returned a code" >&2
    exit $status
}}
"""
VERSIONS = {"openmpi": "mpirun (Open MPI) 4.1.4", "hydra": "HYDRA build details:"}


@pytest.fixture(name="make")
def make_launchers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "engine" / "drivers").mkdir(parents=True)
    programs = {
        f"mpirun.{kind}": MPIRUN.format(version=version, here=tmp_path)
        for kind, version in VERSIONS.items()
    }
    programs["engine/beowire-engine"] = "#!/bin/sh\n[ $# -gt 0 ] || exit 3; exec cat\n"
    programs["other"] = "#!/bin/sh\necho another thing\n"
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BEOWIRE_ENGINE_DIR", str(tmp_path / "engine"))
    return tmp_path


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("openmpi", "-n 1 --host b --bind-to none --map-by slot:OVERSUBSCRIBE sh"),
        ("hydra", "-n 1 -hosts b sh"),
    ],
)
def test_start__a_job_of_one_process_on_that_host(make: Path, kind: str, words: str) -> None:
    with (
        MpirunLauncher(f"mpirun.{kind}", "a,b", "eth1") as launcher,
        launcher.start(launcher.nodes[1]) as process,
    ):
        said, _ = process.communicate(b"in\n", timeout=60)
        assert [(node.name, node.reach, node.interface) for node in launcher.nodes] == [
            ("a", "a", "eth1"),
            ("b", "b", "eth1"),
        ]
    assert said == launcher.marker + b"\nin\n"
    assert (make / "calls").read_text().splitlines()[-1].startswith(words)
    # Two launchers of Open MPI at once would meet in one directory.
    directories = [line for line in (make / "own").read_text().splitlines() if line]
    assert len(directories) == len(set(directories)) == (5 if kind == "openmpi" else 0)


@pytest.mark.usefixtures("make")
def test_enter__a_host_that_cannot_be_reached() -> None:
    said = "gone: mpirun.openmpi starts nothing there: ssh: connect to host gone port 22: No route"
    with pytest.raises(BeowireError, match=said) as raised:
        MpirunLauncher("mpirun.openmpi", "a,gone").__enter__()
    assert "\n" not in str(raised.value)


@pytest.mark.usefixtures("make")
def test_enter__a_launcher_whose_words_end_with_a_zero() -> None:
    said = "starts nothing there: There are not enough slots available in the system$"
    with pytest.raises(BeowireError, match=said):
        MpirunLauncher("mpirun.openmpi", "a,full").__enter__()


def test_enter__what_fails_on_the_host_is_named_and_not_what_the_launcher_says_of_it(
    make: Path,
) -> None:
    (make / "engine" / "beowire-engine").write_text("#!/bin/sh\necho no luck >&2; exit 1\n")
    with pytest.raises(BeowireError, match=r"^a: no luck$"):
        MpirunLauncher("mpirun.openmpi", "a,b").__enter__()


@pytest.mark.usefixtures("make")
@pytest.mark.parametrize(
    ("launcher", "hosts", "said"),
    [
        ("no-such", "a,b", "no launcher no-such"),
        ("other", "a,b", "other is no launcher known here"),
        ("mpirun.hydra", "a", "two different hosts"),
        ("mpirun.hydra", "a,a", "two different hosts"),
        ("mpirun.hydra", "a,b,c", "two different hosts"),
        ("mpirun.hydra", "a,-x", "can be named '-x'"),
        ("mpirun.hydra", "a,u@b", "can be named 'u@b'"),
    ],
)
def test_init__what_cannot_be(launcher: str, hosts: str, said: str) -> None:
    with pytest.raises(BeowireError, match=said):
        MpirunLauncher(launcher, hosts)
