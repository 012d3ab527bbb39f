# SPDX-License-Identifier: BSD-3-Clause
"""What docs/CLUSTER.md has to be typed is typed, in its order, on three hosts with sshd and Slurm.

The commands are taken out of the document. Each has a row here that says who types it, or why it
is not typed here; one that has none fails the test.
"""

import itertools
import os
import re
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from beowire import paths
from beowire.setup import pieces
from system import cluster_nodes
from system.cluster_nodes import NETWORK, Cluster
from system.conftest import ROOT, processes_of, wait_until
from system.mpi_jobs import OPEN_MPI

pytestmark = [
    pytest.mark.skipif(
        os.geteuid() != 0, reason="sshd and slurmd let only root log in others, or start for them"
    ),
    pytest.mark.timeout(300),
]

DOCUMENT = ROOT / "docs" / "CLUSTER.md"
PREFIX = Path("/opt/beowire")
CHECKOUT = "/home/alice/beowire"

#: In paragraphs and tables, code that begins so is a command; `...` stands for what was said above.
COMMANDS = ("./beowire ", "beowire-frames ./beowire ", "mpirun -n ", "mpiexec", "module ")

#: What Open MPI's launcher says when the ssh that it has started is quicker than it.
OPEN_MPIS = re.compile(r"^\[\w+:\d+\] plm:[rs]sh: Warning: setpgid\(.*\n", re.MULTILINE)

MPIRUN = "mpirun -n 6 --hostfile hosts ./program"


@dataclass(frozen=True)
class Typed:
    """A line of the document that begins so."""

    beginning: str
    by: str
    """Who types it: root or alice, in n0; `batch`: alice's batch script; `before`: it has been."""
    changed: tuple[str, str] = ("", "")
    """What is put in the place of what, so that it is quick."""
    between: tuple[str, str] = ("", "")
    """What is typed in front of it, and behind."""
    says: str = ""
    """What has to be in its output, a regular expression."""
    status: int = 0
    chapter: str = ""
    """Only there."""


WAYS = ("frames", "cut frames", "UDP", "full frames")

TYPED = (
    Typed("for h in n0 n1 n2; do ssh", "root"),
    Typed("./beowire doctor  ", "root", says="nothing was changed"),
    Typed(
        "./beowire setup --hosts root@n0,root@n1,root@n2 --group mpi --broker  ",
        "root",
        changed=(",root@n2", ""),
        says="(?s)would write /etc/beowire/broker.toml: groups .*nothing is changed yet.*"
        "UDP: stopped: n0 – n1: nothing came through.*"
        "full frames: not tried: UDP does not pass",
        status=1,  # n1's firewall
    ),
    Typed(
        "./beowire setup --hosts root@n0,root@n1,root@n2 --group mpi --broker --apply",
        "root",
        says="(?s)n2: done.*"
        + ".*".join(f"(ok|slower) +{way}: half a round trip of " for way in WAYS)
        + ".*no systemd, so start the broker.*beowire tune --hosts root@n0,root@n1",
    ),
    Typed(
        "./beowire doctor",
        "root",
        # alice may not enter where the tests' Python is.
        changed=("doctor", "doctor --hosts alice@n0,alice@n1 || true"),
        says=r"the\s+broker\s+\(beowired\)\s+gives\s+alice",
        chapter="Who may send Ethernet frames",
    ),
    Typed(
        "./beowire setup --hosts n0,n1,n2 --sudo --group mpi",
        "root",
        changed=("n0,n1,n2", "alice@n0,alice@n1,alice@n2"),
        says="(?s)n2: /opt/beowire is up to date.*(ok|slower) +frames: half a round trip of ",
    ),
    Typed(MPIRUN, "before", chapter="Start jobs"),
    Typed("nft insert rule", "before"),
    Typed(
        "./beowire doctor --hosts",
        "root",
        changed=(",root@n2", ""),
        says=r"(?s)ok +firewall: [^\n]*a\s+rule\s+lets\s+in\s+UDP\s+of\s+10\.77"
        ".*(ok|slower) +UDP: half a round trip of 8 B takes",
    ),
    Typed(". /opt/beowire/env.sh", "batch", chapter="Slurm"),
    Typed("srun --mpi=pmix", "batch", says="6 ranks: right"),
    Typed(". /opt/beowire/env.sh", "alice"),
    Typed("export FI_BEOWIRE_REPORT=1", "alice"),
    Typed(MPIRUN, "alice", says="6 ranks: right"),
    Typed(
        "./beowire speedup",
        "root",
        changed=("speedup", "speedup --repeat 1"),
        says=r"Over Beowire (it|its\s+run|the\s+run)\s+is\s+[0-9.]+\s+times",
    ),
    Typed(
        ". /opt/beowire/off.sh",
        "alice",
        between=(
            "export FI_BEOWIRE_REPORT=1; . /opt/beowire/env.sh",
            "mpirun -n 2 --host n0,n1 ./program",
        ),
        says=r"\A2 ranks: right\n\Z",
    ),
    Typed("./beowire setup --hosts root@n0,root@n1,root@n2 --undo", "root", says="is removed"),
)

#: What is not typed here, and why.
NOT_TYPED = {
    "make": "test_two_commands.py builds a copy of the checkout",
    "cd carry": "tests download no packages",
    "dpkg -i": "the same",
    "python3 -m venv": "make package-test does",
    "srun --mpi=pmi2": "Debian's MPICH has no libfabric: tests/wheels has one that has, in labs",
    "mpiexec": "the same; Intel MPI is tried by tests/wheels as well",
    "salloc -N 2 --exclusive ./beowire compare": "test_slurm.py does, and cancels it",
    "srun -N 2 --exclusive ./beowire compare": "test_slurm.py does",
    "./beowire compare --hosts n0,n1 --launcher mpirun": "test_launch.py does",
    "./beowire compare --hosts": "test_ssh.py does",
    "./beowire apps run all --hosts": "test_ssh.py does in make test-long, with one program",
    "./beowire tune --hosts": "test_tune.py does, in a lab",
    "./beowire setup --interface": "not a whole line; test_setup.py has the file that it writes",
    "./beowire setup --hosts ...": "not a whole line",
    "./beowire doctor --hosts ...": "not a whole line",
    "beowire-frames ./beowire top": "test_top.py does",
    "./beowire top": "the same",
    "module ": "its program is not there",
    "beowire: ": "no command: what processes say",
}

#: What the last table shows, by what is typed for it.
SYMPTOMS = {
    "You have attempted to pass environment variables": "mpirun -n 1 -x HOME ./program",
}

#: What is seen instead where the table names another Open MPI than the one that is here.
INSTEAD = {"You have attempted to pass environment variables": {"openmpi5": "1 ranks: right"}}

#: What it shows besides, and why nothing is typed for that.
NOT_SHOWN = {
    "beowire: n1: no permission for Ethernet frames": "test_mpi_failures.py does",
    "is in no group to which the broker grants frames": "test_broker_service.py does",
    "beowire-frames: n1: this file gives no cap_net_raw here": "test_setup_hosts.py does",
    "the peer does not answer": "test_killed.py does",
    "frames came damaged": "test_damage.py does",
    "no line with": "nothing is shown; `. off.sh` has none",
    "the launcher itself waits": "it is another program's",
}


# ---- what the document has -----------------------------------------------------------------------


def commands(text: str) -> list[tuple[str, str]]:
    """Lines to be typed, each with its chapter, in order: blocks, and code in the text."""
    chapter, fenced = "", False
    found = []
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
            continue
        is_code = fenced or (line.startswith("    ") and line.strip() != "")
        if line.startswith("#") and not is_code:
            chapter = line.lstrip("# ")
        if is_code:
            found.append((chapter, line if fenced else line[4:]))
        else:
            spans = re.findall(r"`([^`]+)`", line)
            found += [(chapter, span) for span in spans if span.startswith(COMMANDS)]
    return [(chapter, line) for chapter, line in found if line.strip()]


def typed(line: str, chapter: str) -> Typed | None:
    """The row of a line, if it is typed."""
    for row in TYPED:
        if line.startswith(row.beginning) and row.chapter in ("", chapter):
            return None if "..." in line else row
    return None


def is_named(line: str) -> bool:
    return any(line.startswith(beginning) for beginning in NOT_TYPED)


def unaccounted(text: str) -> list[str]:
    return [
        line
        for chapter, line in commands(text)
        if typed(line, chapter) is None and not is_named(line)
    ]


def rows_of(text: str, chapter: str) -> list[list[str]]:
    """The cells of a chapter's first table, without its head."""
    body = text.partition(f"\n## {chapter}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in body.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_document__each_command_is_typed_here_or_named() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert unaccounted(text) == []
    lines = [line for _, line in commands(text)]
    for beginning in (*(row.beginning for row in TYPED), *NOT_TYPED):
        assert any(line.startswith(beginning) for line in lines), f"{beginning}: no longer there"
    for row in rows_of(text, "When something does not work"):
        assert any(one in row[0] for one in (*SYMPTOMS, *NOT_SHOWN)), row[0]


def test_document__a_new_block_is_noticed() -> None:
    text = "## New\n\n    ./beowire doctor --new\n\n```sh\nrm -r x\n```\n\nTry `mpirun -n 2 ./a`.\n"
    assert unaccounted(text) == ["./beowire doctor --new", "rm -r x", "mpirun -n 2 ./a"]


# ---- typing it -----------------------------------------------------------------------------------


@pytest.fixture(name="hosts", scope="module")
def make_hosts() -> Iterator[Cluster]:
    """With a firewall on n1 that lets no UDP in, alice's program, and her list of hosts."""
    runtime = Path(tempfile.mkdtemp(prefix="beowire-test-", dir="/var/tmp"))
    directory = Path(tempfile.mkdtemp(prefix="beowire-test-", dir="/var/tmp"))
    directory.chmod(0o755)
    before = {name: os.environ.get(name) for name in ("BEOWIRE_RUNTIME_DIR", "BEOWIRE_TEST_MARK")}
    mark = uuid.uuid4().hex
    os.environ |= {"BEOWIRE_RUNTIME_DIR": str(runtime), "BEOWIRE_TEST_MARK": mark}
    try:
        with cluster_nodes.running(directory) as hosts:
            subprocess.run(hosts.in_node(1, "nft", cluster_nodes.FIREWALL), check=True)
            source = ROOT / "tests" / "system" / "cluster_program.c"
            words = ["mpicc.openmpi", "-O1", "-o", str(hosts.home / "program"), str(source)]
            subprocess.run(words, check=True)
            listed = "".join(f"{name} slots=2\n" for name in cluster_nodes.NAMES)
            (hosts.home / "hosts").write_text(listed, encoding="ascii")
            yield hosts
        assert wait_until(lambda: not processes_of(mark)), processes_of(mark)
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        shutil.rmtree(directory)
        shutil.rmtree(runtime)


def type_in(hosts: Cluster, user: str, lines: Sequence[str]) -> list[tuple[int, str]]:
    """Types lines in one login of a user, or of a batch script: their statuses and outputs."""
    here = hosts.home / uuid.uuid4().hex
    here.mkdir()
    here.chmod(0o777)
    there = f"/home/alice/{here.name}"
    script = "".join(
        f"{{ {line}\n}} >{there}/{number}.out 2>&1 </dev/null; echo $? >{there}/{number}.new\n"
        f"mv {there}/{number}.new {there}/{number}.status\n"
        for number, line in enumerate(lines)
    )
    (here / "script").write_text(f"#!/bin/bash\n{script}", encoding="utf-8")
    start = ["bash"]
    if user == "batch":
        start = ["sbatch", "--nodes=3", "--ntasks=6", f"--output={there}/batch"]
    where = CHECKOUT if user == "root" else "/home/alice"
    words = hosts.login("root" if user == "root" else "alice", where, *start, f"{there}/script")
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=200)
    last = here / f"{len(lines) - 1}.status"
    assert wait_until(last.exists), (done.stdout, done.stderr, hosts.said())
    return [
        (
            int((here / f"{number}.status").read_text()),
            OPEN_MPIS.sub("", (here / f"{number}.out").read_text("utf-8", errors="replace")),
        )
        for number in range(len(lines))
    ]


def type_all(hosts: Cluster, rows: Sequence[tuple[str, Typed]]) -> str:
    """Types lines that one user has to type in a row; returns all that was said."""
    lines: list[str] = []
    ends: list[int] = []
    for line, row in rows:
        front, behind = row.between
        lines += [one for one in (front, line.replace(*row.changed), behind) if one]
        ends.append(len(lines))
    results = type_in(hosts, rows[0][1].by, lines)
    begin = 0
    for (line, row), end in zip(rows, ends, strict=True):
        statuses = [status for status, _ in results[begin:end]]
        said = "".join(text for _, text in results[begin:end])
        assert statuses == [*[0] * (end - begin - 1), row.status], (line, said, hosts.said())
        assert re.search(row.says, said), (line, said)
        begin = end
    return "".join(text for _, text in results)


def groups(text: str) -> Iterator[list[tuple[str, Typed]]]:
    """Lines that are typed in one login: those of alice in a chapter, each of root's by itself."""
    rows = [(chapter, line, typed(line, chapter)) for chapter, line in commands(text)]
    known = [(chapter, line, row) for chapter, line, row in rows if row is not None]
    numbers = itertools.count()
    for _, group in itertools.groupby(
        known, lambda one: (one[0], one[2].by if one[2].by in ("alice", "batch") else next(numbers))
    ):
        yield [(line, row) for _, line, row in group]


def test_commands__in_their_order(hosts: Cluster) -> None:
    brokers: list[subprocess.Popen[bytes]] = []
    try:
        type_document(hosts, brokers)
    finally:
        for broker in brokers:
            broker.kill()
            broker.wait()
        remove = hosts.in_node(0, "rmdir", f"/sys/fs/cgroup/{group_of(hosts)}")
        # What was killed is in it until it has ended.
        assert not brokers or wait_until(partial(succeeds, remove))
    assert not any(in_node(hosts, index, PREFIX).exists() for index in range(3))


def type_document(hosts: Cluster, brokers: list["subprocess.Popen[bytes]"]) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    done: set[str] = set()
    for group in groups(text):
        lines = [line for line, _ in group]
        if group[0][1].by == "before":
            assert lines[0].replace("192.168.7.0/24", NETWORK) in done
            continue
        said = type_all(hosts, group)
        done.update(lines)
        if "nothing is changed yet" in said:
            done.add(open_firewall(hosts, said))
        elif "--apply" in lines[0]:
            assert_installed(hosts, text)
            start_brokers(hosts, said, brokers)
        elif "FI_BEOWIRE_REPORT" in lines[0]:
            assert_reported(said, text)
            assert_symptoms(hosts, text)


def in_node(hosts: Cluster, index: int, path: Path) -> Path:
    """A path of a node, as it is seen from here."""
    return Path(f"/proc/{hosts.lab.nodes[index].holder.pid}/root{path}")


def open_firewall(hosts: Cluster, said: str) -> str:
    """Types on n1 the line that is said to do it, and returns it."""
    (line,) = re.findall(r"nft insert .* accept", said)
    subprocess.run(hosts.in_node(1, "sh", "-c", line), check=True)
    return str(line)


def assert_installed(hosts: Cluster, text: str) -> None:
    """All files of the document's table, and no others, on each host: PVM's only where they were
    built, as the table says."""
    cells = [row[0] for row in rows_of(text, "What is installed")]
    files = {name for cell in cells for name in re.findall("`([^`]+)`", cell)}
    assert {pieces.PVM, pieces.PVM_SHELL} < files
    if not (paths.engine_directory() / pieces.PVM).exists():
        files -= {pieces.PVM, pieces.PVM_SHELL}
    for index in range(3):
        prefix = in_node(hosts, index, PREFIX)
        found = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}
        assert found == files
        said = subprocess.run(
            hosts.in_node(index, "/sbin/getcap", str(PREFIX / "bin" / "beowire-frames")),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert said == ""


#: Shows control groups, and has one for all brokers; $1 is its name.
_IN_GROUP = (
    "[ -e /sys/fs/cgroup/cgroup.procs ] || mount -t cgroup2 none /sys/fs/cgroup;"
    " mkdir -p /sys/fs/cgroup/$1; echo $$ >/sys/fs/cgroup/$1/cgroup.procs;"
    ' shift; exec "$@"'
)


def group_of(hosts: Cluster) -> str:
    return f"beowire-test-{hosts.directory.name}"


def start_brokers(hosts: Cluster, said: str, brokers: list["subprocess.Popen[bytes]"]) -> None:
    """Types on each host the line that is said to start the broker."""
    (line,) = set(re.findall(r"as root: (setpriv .*?) &", " ".join(said.split())))
    for index in range(3):
        words = ("sh", "-c", _IN_GROUP, "sh", group_of(hosts), *line.split())
        brokers.append(subprocess.Popen(hosts.in_node(index, *words)))
        listens = hosts.in_node(index, "grep", "-q", " /run/beowire/broker$", "/proc/net/unix")
        assert wait_until(partial(succeeds, listens))


def succeeds(words: Sequence[str]) -> bool:
    return subprocess.run(words, check=False).returncode == 0


def assert_reported(said: str, text: str) -> None:
    """Each rank has said a line, and some have just the form of the document's."""
    (example,) = [line for _, line in commands(text) if line.startswith("beowire: ")]
    lines = re.findall("^beowire: .*$", said, re.MULTILINE)
    assert sorted(re.findall(r"rank (\d),", "\n".join(lines))) == list("012345")
    forms = {re.sub(r"\d+", "0", line) for line in lines}
    assert re.sub(r"\d+", "0", example) in forms, lines


def assert_symptoms(hosts: Cluster, text: str) -> None:
    """What the last table says is seen is seen."""
    lines = [". /opt/beowire/env.sh", *SYMPTOMS.values()]
    for shown, (_, said) in zip(SYMPTOMS, type_in(hosts, "alice", lines)[1:], strict=True):
        seen = INSTEAD.get(shown, {}).get(OPEN_MPI, shown)
        assert seen in " ".join(said.split()), said
