# SPDX-License-Identifier: BSD-3-Clause
"""Command lines of the launchers."""

from dataclasses import replace
from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.places.mpi import launch
from beowire.places.mpi.installation import KINDS, Installation

JOB = launch.Job(
    ranks=3,
    hosts=[launch.Host("10.0.0.1", ranks=2, cores=1), launch.Host("10.0.0.2", ranks=2, cores=1)],
    interface="eth7",
    agent=Path("/run/agent"),
    program=["./program", "-n", "9"],
)
HOSTS = Path("/run/hosts")


def mpi(name: str) -> Installation:
    return Installation(name, "1", Path("/opt/mpi/bin/launcher"), None)


@pytest.mark.parametrize("name", KINDS)
def test_command__reaches_hosts_by_the_agent_and_ends_with_the_program(name: str) -> None:
    line = launch.command(mpi(name), JOB, HOSTS)
    assert line[:3] == ["/opt/mpi/bin/launcher", "-n", "3"]
    assert line[-3:] == ["./program", "-n", "9"]
    assert "/run/agent" in line
    assert "/run/hosts" in line


def test_command__no_name_of_a_node_is_looked_up() -> None:
    assert "10.0.0.1" in launch.command(mpi("mpich"), JOB, HOSTS)
    line = launch.command(mpi("intel"), JOB, HOSTS)
    assert "eth7" in line
    assert line[line.index("-machinefile") + 1] == str(HOSTS)  # the only one whose counts it heeds


def test_command__from_a_machine_that_is_none_of_the_hosts() -> None:
    job = replace(JOB, on_first=False, interface="")
    assert "-localhost" not in launch.command(mpi("mpich"), job, HOSTS)
    assert "-iface" not in launch.command(mpi("intel"), job, HOSTS)


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
def test_command__open_mpi_fills_a_host_before_the_next(name: str) -> None:
    line = launch.command(mpi(name), JOB, HOSTS)
    assert line[line.index("--map-by") + 1] == "ppr:2:node:OVERSUBSCRIBE"


def test_command__open_mpi_4_keeps_its_files_in_the_jobs_directory() -> None:
    line = launch.command(mpi("openmpi4"), JOB, HOSTS)
    assert line[line.index("orte_tmpdir_base") + 1] == "/run"


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
def test_command__open_mpi_is_told_no_file_of_this_machine_that_other_hosts_lack(name: str) -> None:
    job = replace(JOB, on_first=False, remote_shell="ssh -x -o Port=2222")
    line = launch.command(mpi(name), job, HOSTS)
    assert "ssh -x -o Port=2222" in line
    assert [word for word in line if "/run" in word] == ["/run/hosts"]


def test_hosts_file__cores_for_open_mpi_ranks_for_the_others() -> None:
    assert launch.hosts_file(mpi("openmpi4"), JOB) == "10.0.0.1 slots=1\n10.0.0.2 slots=1\n"
    assert launch.hosts_file(mpi("mpich"), JOB) == "10.0.0.1:2\n10.0.0.2:2\n"
    assert launch.hosts_file(mpi("intel"), JOB) == "10.0.0.1:2\n10.0.0.2:2\n"


def test_environment__root_may_run_open_mpi() -> None:
    assert "OMPI_ALLOW_RUN_AS_ROOT" in launch.environment(mpi("openmpi4"))
    told = launch.environment(mpi("openmpi5"))
    assert {"OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"} < told.keys()
    assert launch.environment(mpi("mpich")) == {}


def test_handed_over__variables_of_libfabric_and_ucx() -> None:
    variables = {"FI_B": "1", "UCX_TLS": "tcp", "FI_A": "a,b", "OMPI_MCA_pml": "cm"}
    told = launch.handed_over(mpi("openmpi4"), variables)
    assert told == {"OMPI_MCA_mca_base_env_list": "FI_A;FI_B;UCX_TLS"}
    assert launch.handed_over(mpi("openmpi5"), {"PATH": "/bin"}) == {}
    assert launch.handed_over(mpi("mpich"), variables) == {}


def test_handed_over__not_the_libraries_place_if_it_is_not_set() -> None:
    listed = {"OMPI_MCA_mca_base_env_list": "LD_LIBRARY_PATH;MINE;OTHER=3"}
    for more in ({}, {"FI_A": "1"}):
        told = launch.handed_over(mpi("openmpi5"), {**listed, **more})
        assert told == {"OMPI_MCA_mca_base_env_list": ";".join(["MINE", "OTHER=3", *more])}


def test_handed_over__our_settings_but_not_what_is_of_this_host() -> None:
    variables = {"FI_A": "1", "BEOWIRE_CONFIG": "", "BEOWIRE_RUNTIME_DIR": "/run/beowire"}
    told = launch.handed_over(mpi("openmpi5"), variables)
    assert told == {"OMPI_MCA_mca_base_env_list": "BEOWIRE_CONFIG;FI_A"}


def test_handed_over__values_that_open_mpi_would_take_for_names() -> None:
    variables = {"FI_A": "1;2", "BEOWIRE_SETTINGS": "authenticate=true,spin_ns=9000"}
    told = launch.handed_over(mpi("openmpi4"), variables)
    assert told == {
        "OMPI_MCA_mca_base_env_list": "BEOWIRE_SETTINGS=authenticate=true,spin_ns=9000;FI_A"
    }
    assert launch.handed_over(mpi("intel"), variables) == {}


def test_handed_over__what_open_mpi_cannot__says_so() -> None:
    variables = {"BEOWIRE_SETTINGS": "authenticate=true;spin_ns=9000"}
    with pytest.raises(BeowireError, match="BEOWIRE_SETTINGS has both = and ; in it"):
        launch.handed_over(mpi("openmpi4"), variables)
    assert launch.handed_over(mpi("mpich"), variables) == {}


def test_handed_over__besides_what_the_user_has_in_the_list() -> None:
    listed = {"OMPI_MCA_mca_base_env_list": "OMP_NUM_THREADS;FI_A;SEED=7"}
    told = launch.handed_over(mpi("openmpi4"), {**listed, "FI_A": "1", "UCX_TLS": "tcp"})
    assert told == {"OMPI_MCA_mca_base_env_list": "OMP_NUM_THREADS;SEED=7;FI_A;UCX_TLS"}
    assert launch.handed_over(mpi("openmpi5"), listed) == {}
