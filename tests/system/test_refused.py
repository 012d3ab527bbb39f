# SPDX-License-Identifier: BSD-3-Clause
"""Kernels that lack or refuse a call, as old ones, containers and hardened services do: jobs take
another way, and every byte is right; or they end, and say why in a line. docs/KERNELS.md has the
whole list."""

import itertools
import subprocess
from collections.abc import Iterator, Sequence

import pytest

from system.conftest import ROOT, RunBeowire
from system.mpi_jobs import OPEN_MPI, Mpi

_PROGRAMS = ROOT / "build" / "release" / "tests" / "system"
_REFUSE = str(_PROGRAMS / "refuse")
_LONGEST_BYTES = "300000"

#: What a process cannot do without, and what it says then.
_REQUIRED = {
    "eventfd": "its limit of open descriptors",
    "packet,udp-socket": "no lane of this endpoint reaches that address",
}

#: What Open MPI cannot do without, over TCP either: its hwloc never ends (docs/UPSTREAM.md), and it
#: reaches its daemons by TCP.
_REQUIRED_BY_MPI = ("get-affinity", "udp-socket")

#: Tests that share the rules between them, so that each takes a minute at most.
_PARTS = 8

#: Beside each rule by itself. Without Ethernet frames it is UDP that all depends on.
_TOGETHER = (
    *(
        "packet,gro",
        "packet,segment",
        "packet,recverr",
        "packet,unicast-if",
        "packet,mtu-discover",
        "packet,tcp-key",
        "packet,sendmmsg",
    ),
    *("netlink,unix", "packet,udp-socket"),
)

#: What Beowire does not use itself (docs/KERNELS.md); the C library or an MPI may.
_OF_OTHERS = frozenset(
    ("mlock", "set-affinity", "get-affinity", "statx", "rseq", "epoll-pwait2", "recvmmsg")
)

_WHERE = ("all", "2,3", "3")


def _rules() -> list[str]:
    listed = subprocess.run([_REFUSE, "list"], capture_output=True, text=True, check=True)
    return [*listed.stdout.split(), *_TOGETHER]


@pytest.fixture(name="lab")
def make_lab(run_beowire: RunBeowire) -> Iterator[None]:
    """Two nodes."""
    assert run_beowire("lab", "up").returncode == 0
    yield
    run_beowire("lab", "down", "--all")


def _refusing(rule: str, where: str, variable: str) -> list[str]:
    """A command that starts a rank: `where` is "all", or the ranks on which calls are refused."""
    return [_REFUSE, rule, *([] if where == "all" else ["when", f"{variable}={where}"])]


def _wrong(run_beowire: RunBeowire, rule: str, where: str) -> str:
    """What a native job did that it should not have done; empty: nothing."""
    words = [*_refusing(rule, where, "PMI_RANK"), str(_PROGRAMS / "crosswise"), _LONGEST_BYTES]
    done = run_beowire("run", "-n", "4", "--lab-name", "lab", "--", *words, timeout=60)
    if rule not in _REQUIRED:
        right = (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 4)
    else:
        right = done.returncode == 1 and _REQUIRED[rule] in done.stderr
    return "" if right else f"{rule} on {where}: {done.returncode} {done.stderr}"


def _all_wrong(run_beowire: RunBeowire, cases: Sequence[tuple[str, str]]) -> list[str]:
    return [said for rule, where in cases if (said := _wrong(run_beowire, rule, where))]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("where", _WHERE)
def test_native__each_rule_somewhere(run_beowire: RunBeowire, where: str) -> None:
    # On all ranks, on those of one node, or on one of a node whose other has what is refused.
    rules = [rule for rule in _rules() if rule not in _OF_OTHERS]
    cases = [(rule, where) for rule in rules[_WHERE.index(where) :: len(_WHERE)]]
    assert cases
    assert _all_wrong(run_beowire, cases) == []


@pytest.mark.long
@pytest.mark.usefixtures("lab")
def test_native__each_rule_everywhere(run_beowire: RunBeowire) -> None:
    assert _all_wrong(run_beowire, list(itertools.product(_rules(), _WHERE))) == []


@pytest.mark.usefixtures("lab")
def test_mpi__it_is_named_once_on_each_node(run_beowire: RunBeowire) -> None:
    mpi = Mpi(run_beowire, OPEN_MPI)
    rule = _refusing("gro", "2,3", "OMPI_COMM_WORLD_RANK")
    done = mpi.run("pingpong", "collectives", ranks=4, before=rule)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "mpi_check: collectives is right on 4 ranks" in done.stdout
    line = "beowire: node1: without UDP_GRO of udp/eth0, which this kernel does not have or refuses"
    assert done.stderr.count(line) == 1, done.stderr
    assert "beowire: node0" not in done.stderr


@pytest.mark.long
@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("part", range(_PARTS))
@pytest.mark.parametrize("where", ["all", "2,3"])
def test_mpi__each_rule(run_beowire: RunBeowire, where: str, part: int) -> None:
    mpi = Mpi(run_beowire, OPEN_MPI)
    rules = [rule for rule in _rules() if rule not in _REQUIRED_BY_MPI]
    wrong = []
    for rule in rules[part::_PARTS]:
        words = _refusing(rule, where, "OMPI_COMM_WORLD_RANK")
        done = mpi.run("pingpong", ranks=4, before=words)
        right = "mpi_check: pingpong is right on 4 ranks" in done.stdout
        if (done.returncode == 0 and right) == (rule in _REQUIRED):
            wrong.append(f"{rule}: {done.returncode} {done.stdout} {done.stderr}")
    assert wrong == []
