# SPDX-License-Identifier: BSD-3-Clause
"""A Slurm of its own in three nodes of a lab: slurmctld in the first, slurmd in each, and munge."""

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from beowire.places.lab import cluster
from beowire.places.lab.options import LabOptions
from beowire.places.lab.state import LabNode, LabState
from system.conftest import ROOT, wait_until

#: What node2 has not: Beowire. What it cannot write to: the directory `sealed`, and /tmp, but for
#: the test's own below it.
_BARE = """
set -e
here={here}
for path in evaluator build/engine build/venv; do mount -t tmpfs none {root}/$path; done
mount -t tmpfs -o ro none {here}/sealed
mount -t tmpfs none {here}/closed
case {here} in /tmp/*)
    mkdir -p {here}/closed${{here#/tmp}}
    mount --rbind {here} {here}/closed${{here#/tmp}}
esac
mount -o remount,ro {here}/closed
mount --rbind {here}/closed /tmp
exec "$0" "$@"
"""

_CONFIGURATION = """
ClusterName=lab
SlurmctldHost={first}
AuthType=auth/munge
AuthInfo=socket={socket}
SlurmUser=root
SlurmdUser=root
StateSaveLocation={here}/state
SlurmdSpoolDir={here}/spool-%n
SlurmctldPidFile={here}/slurmctld.pid
SlurmdPidFile={here}/slurmd-%n.pid
SlurmctldLogFile={here}/slurmctld.log
SlurmdLogFile={here}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE
"""


def configuration(here: Path, socket: Path, first: str, nodes: Sequence[str]) -> str:
    """A slurm.conf whose daemons keep what they have in `here`, and meet munge at `socket`.
    `first`: the host of slurmctld; `nodes`: what stands behind each NodeName."""
    lines = "\n".join(f"NodeName={node} CPUs=2" for node in nodes)
    return _CONFIGURATION.format(here=here, socket=socket, first=first, nodes=lines)


@dataclass
class Slurm:
    """Three nodes that Slurm knows; jobs are asked for in the first."""

    lab: LabState
    directory: Path
    daemons: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def environment(self, **more: str) -> dict[str, str]:
        """Of whoever asks for jobs; his home is the same on all nodes."""
        own = {"SLURM_CONF": str(self.directory / "slurm.conf")}
        return {**os.environ, **own, "HOME": str(self.directory / "home"), **more}

    def command(self, *words: str) -> list[str]:
        """A command line that runs in node0."""
        return cluster.command_in(self.lab.nodes[0], words, pin=False)

    def run(
        self, *words: str, timeout: float = 60.0, **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        """Types a command in node0, to its end."""
        return subprocess.run(
            self.command(*words),
            env=self.environment(**environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )

    def start(self, node: LabNode, words: Sequence[str]) -> None:
        """A daemon, in the foreground."""
        log = self.directory / f"daemon-{len(self.daemons)}.log"
        self.daemons.append(
            subprocess.Popen(
                cluster.command_in(node, words, pin=False),
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log.open("wb"),
                stderr=subprocess.STDOUT,
            )
        )

    def said(self) -> str:
        """What daemons have said, for whoever looks for the cause."""
        return "\n".join(
            f"{path.name}: {path.read_text(errors='replace')[-2000:]}"
            for path in sorted(self.directory.glob("*.log"))
        )


@contextmanager
def running(directory: Path) -> Iterator[Slurm]:
    """All three nodes are idle."""
    for name in ("home", "sealed", "closed", "state"):
        (directory / name).mkdir()
    lab = cluster.up_ephemeral(LabOptions(nodes=3, link="switch"), "slurm")
    slurm = Slurm(lab.state, directory)
    try:
        _start(slurm)
        yield slurm
    finally:
        for daemon in reversed(slurm.daemons):
            daemon.terminate()
            daemon.wait()
        lab.close()


def _start(slurm: Slurm) -> None:
    here, nodes = slurm.directory, slurm.lab.nodes
    first = f"{nodes[0].name}({nodes[0].address})"
    known = [f"{node.name} NodeAddr={node.address}" for node in nodes]
    text = configuration(here, here / "munge.socket", first, known)
    (here / "slurm.conf").write_text(text, encoding="ascii")
    # It looks for control groups even where nothing is to be kept in them.
    (here / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n", encoding="ascii")
    (here / "munge.key").write_bytes(secrets.token_bytes(128))
    (here / "munge.key").chmod(0o600)
    files = [f"--{name}-file={here}/munge.{name}" for name in ("key", "pid", "log", "seed")]
    munged = [daemon("munged"), "--foreground", "--force", f"--socket={here}/munge.socket"]
    slurm.start(nodes[0], [*munged, *files])
    assert wait_until((here / "munge.socket").exists), slurm.said()
    slurm.start(nodes[0], [daemon("slurmctld"), "-D"])
    slurmd = [daemon("slurmd"), "-D"]
    bare = _BARE.format(root=ROOT, here=here)
    for node in nodes:
        hidden = ["unshare", "--mount", "sh", "-c", bare] if node is nodes[2] else []
        slurm.start(node, [*hidden, *slurmd])
    wanted = "idle\n" * len(nodes)
    ready = wait_until(
        lambda: slurm.run("sinfo", "--noheader", "--Node", "--format=%T").stdout == wanted, 30.0
    )
    assert ready, slurm.said()


def daemon(name: str) -> str:
    """The path of a program that may be where only root looks."""
    path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    assert path is not None, f"{name} is missing: scripts/install-packages test"
    return path
