# SPDX-License-Identifier: BSD-3-Clause
"""Command lines of the MPIs' own launchers, for hosts that are reached through an agent.

The agent stands where ssh otherwise does: it is called `AGENT HOST COMMAND...`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from beowire.errors import BeowireError
from beowire.places.mpi.environment import HANDED_OVER
from beowire.places.mpi.installation import Installation

#: What an endpoint reads besides: it has to be the same on all hosts of a job.
_SETTINGS = ("BEOWIRE_CONFIG", "BEOWIRE_SETTINGS")

#: How the variables of libfabric, and of UCX, begin.
_LIBRARIES = ("FI_", "UCX_")


@dataclass(frozen=True)
class Host:
    """A host that ranks run on."""

    address: str
    ranks: int
    """How many, at most."""

    cores: int
    """How many of these may compute at a time."""


@dataclass(frozen=True)
class Job:
    """What is to be started."""

    ranks: int
    hosts: Sequence[Host]
    """Filled in this order."""

    interface: str
    """The hosts' network interface; empty: the MPI chooses."""

    agent: Path
    program: Sequence[str]

    on_first: bool = True
    """The launcher itself is started on the first of the hosts, not on another machine."""

    remote_shell: str = ""
    """What Open MPI reaches hosts by that share no files with this one: its daemons there look for
    the agent, too, and wait for ever where it is missing. Empty: the agent."""


def hosts_file(mpi: Installation, job: Job) -> str:
    """The content of the file that names the hosts."""
    if mpi.is_open_mpi:
        # Ranks beyond the slots make Open MPI yield while it waits, as it has to on a shared core.
        return "".join(f"{host.address} slots={host.cores}\n" for host in job.hosts)
    return "".join(f"{host.address}:{host.ranks}\n" for host in job.hosts)


def command(mpi: Installation, job: Job, hosts: Path) -> list[str]:
    """The command line; `hosts` is where the content of hosts_file() was written, in a directory
    that is the job's."""
    line = [str(mpi.launcher), "-n", str(job.ranks)]
    if mpi.name == "mpich":
        line += ["-f", str(hosts), "-launcher", "rsh", "-launcher-exec", str(job.agent)]
        if job.on_first:
            # The name of a lab's node means nothing to the others.
            line += ["-localhost", job.hosts[0].address]
    elif mpi.name == "intel":
        # With -f, each host gets as many ranks as it has cores, whatever the file says.
        line += ["-machinefile", str(hosts), "-bootstrap", "rsh", "-bootstrap-exec", str(job.agent)]
        line += ["-iface", job.interface] if job.interface else []
    else:
        line += _open_mpi(mpi, job, hosts)
    return [*line, *job.program]


def local_command(mpi: Installation, ranks: int, program: Sequence[str]) -> list[str]:
    """The command line for ranks on this host alone."""
    line = [str(mpi.launcher), "-n", str(ranks)]
    if mpi.is_open_mpi:
        line += ["--allow-run-as-root", "--bind-to", "none"]
        line += ["--map-by", "slot:OVERSUBSCRIBE"]
    return [*line, *program]


def slurm_command(mpi: Installation, ranks: int, share: int, program: Sequence[str]) -> list[str]:
    """The command line in an allocation of Slurm, `share` ranks to a node: launchers find out by
    themselves which nodes these are, and start what they need there by srun."""
    line = [str(mpi.launcher), "-n", str(ranks)]
    if mpi.is_open_mpi:
        line += ["--map-by", f"ppr:{share}:node:OVERSUBSCRIBE"]
    else:
        line += ["-ppn", str(share)]
    return [*line, *program]


def _open_mpi(mpi: Installation, job: Job, hosts: Path) -> list[str]:
    per_host = max(host.ranks for host in job.hosts)
    line = ["--allow-run-as-root", "--hostfile", str(hosts), "--bind-to", "none"]
    line += ["--map-by", f"ppr:{per_host}:node:OVERSUBSCRIBE"]
    agent = job.remote_shell or str(job.agent)
    if mpi.name == "openmpi4":
        line += ["--mca", "plm_rsh_agent", agent, "--mca", "plm_rsh_no_tree_spawn", "1"]
        if not job.remote_shell:
            # Its usual directory, in /tmp, has a name that all users' labs share: that of the node.
            line += ["--mca", "orte_tmpdir_base", str(hosts.parent)]
    else:
        line += ["--prtemca", "plm_ssh_agent", agent]
        line += ["--prtemca", "plm_ssh_no_tree_spawn", "1"]
    return line


def environment(mpi: Installation) -> dict[str, str]:
    """What the launcher needs besides, in a lab, where everybody is root."""
    # mpirun of version 5 reads the first, prterun of it the second.
    roots = {"openmpi4": ("OMPI",), "openmpi5": ("OMPI", "PRTE")}.get(mpi.name, ())
    return {
        f"{root}_ALLOW_RUN_AS_ROOT{confirmed}": "1"
        for root in roots
        for confirmed in ("", "_CONFIRM")
    }


def handed_over(mpi: Installation, variables: Mapping[str, str]) -> dict[str, str]:
    """Has the launcher hand the variables of libfabric and UCX, and our settings, among `variables`
    to all hosts, if it does not do so anyway. BeowireError: it has no way to."""
    if not mpi.is_open_mpi:
        return {}
    chosen = sorted(name for name in variables if name.startswith(_LIBRARIES) or name in _SETTINGS)
    # What the user has in the list himself stays there.
    own = variables.get(HANDED_OVER, "")
    kept = [one for one in own.split(";") if one]
    kept = [one for one in kept if one.partition("=")[0] not in chosen]
    # A name without a variable ends mpirun of Open MPI 5, and hides from 4 what comes after it:
    # ours is listed by env.sh, and may have been unset since.
    kept = [one for one in kept if one != "LD_LIBRARY_PATH" or one in variables]
    listed = ";".join([*kept, *(_in_list(name, variables[name]) for name in chosen)])
    return {HANDED_OVER: listed} if listed != own else {}


def _in_list(name: str, value: str) -> str:
    """A variable in Open MPI's list: it looks up the value of a name, and takes what is before a
    `=` in that for the name to set; so it is told the whole then, which no `;` may interrupt."""
    if "=" not in value:
        return name
    if ";" in value:
        raise BeowireError(f"{name} has both = and ; in it: Open MPI cannot hand it to other hosts")
    return f"{name}={value}"
