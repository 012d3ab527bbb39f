# SPDX-License-Identifier: BSD-3-Clause
"""The commands in groups, and examples of each: `beowire -h`, `beowire COMMAND -h` and
docs/COMMANDS.md show them."""

from collections.abc import Mapping

#: The commands of each group, in the order in which help shows them.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Measure": ("compare", "explain", "netpipe", "reproduce", "drivers", "load"),
    "Results": ("report", "diff", "top"),
    "Your cluster and programs": (
        "doctor",
        "setup",
        "tune",
        "speedup",
        "predict",
        "apps",
        "mpi-env",
        "pvm-env",
        "run",
        "info",
        "completion",
    ),
    "A cluster in one machine": ("lab", "simulate"),
}

#: Of each command: what to type after `beowire`, and what it does.
EXAMPLES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "compare": (
        ("compare --lab", "usual drivers, between two virtual nodes"),
        ("compare --hosts A,B", "between two hosts, over ssh; they need no installation"),
        ("compare --hosts A,B --launcher mpirun", "the measuring processes are started by mpirun"),
        ("compare --slurm", "between nodes of the Slurm allocation (salloc -N 2)"),
        ("compare --lab --rate 1g --loss 0.1% --mtu 9000", "over a slow, lossy wire"),
        (
            "compare --lab --drivers tcp,beowire --sizes 8,1024,64KiB --time 20",
            "these drivers and sizes only",
        ),
        ("compare --lab --drivers mpi,tcp-spin", "every MPI, over TCP and over Beowire"),
        ("compare --driver examples/driver.c", "your own protocol beside the others, on this host"),
        ("compare --lab --pattern stream,burst,overlap", "other patterns than ping-pong"),
        (
            "compare --lab --nodes 4 --link switch --pattern incast,all-pairs",
            "between more than two nodes",
        ),
        ("compare --lab --probes all", "also CPU time, interrupts and system calls per message"),
        ("compare --lab --load hog:19", "idle, and beside a busy loop of nice 19"),
        ("compare --lab --launches 10 --out BEFORE", "ten times with new processes, for `diff`"),
        (
            "compare --lab --against BEFORE",
            "repeat an earlier run, and stop at the first regression",
        ),
        ("compare --hosts A,B --rules rules.toml", "exit status 1 if a rule is broken"),
    ),
    "explain": (
        ("explain tcp --size 64 --lab", "the time that each layer adds to a message (needs root)"),
    ),
    "netpipe": (("netpipe NPtcp -h B -o np.out", "the options and columns of NetPIPE's NPtcp"),),
    "reproduce": (
        ("reproduce 001", "repeat the measurements of paper 001; plots of its figures and yours"),
    ),
    "drivers": (("drivers", "each driver, whether it can run here, and why not"),),
    "load": (("load duty:30 --time 60 --cpus 0-3", "30 % of four CPUs for a minute"),),
    "report": (
        ("report DIRECTORY", "rewrite a run's report.html"),
        ("report BEFORE AFTER", "one report that compares two runs"),
        ("report DIRECTORY --drivers beowire,sockets", "draw only these drivers"),
        ("report DIRECTORY --text", "print its tables"),
        ("report DIRECTORY --csv results.csv", "write every result as CSV"),
    ),
    "diff": (("diff BEFORE AFTER", "exit status 1 if the second run is slower"),),
    "top": (
        ("top", "lanes, peers and drops of all endpoints of this host"),
        ("top --json", "every counter, one JSON object per line"),
    ),
    "doctor": (
        ("doctor", "check this host; changes nothing"),
        ("doctor --hosts A,B,C", "check hosts and the links between them"),
    ),
    "setup": (
        ("setup --hosts root@A,root@B --group mpi", "print what it would do"),
        (
            "setup --hosts root@A,root@B --group mpi --apply",
            "prepare the hosts, and test each pair",
        ),
        ("setup --hosts A,B --sudo --group mpi --apply", "the same where root cannot log in"),
        ("setup --hosts root@A,root@B --undo", "remove what it installed"),
    ),
    "tune": (
        ("tune --hosts A,B", "measure from which sizes on to send another way, and configure it"),
    ),
    "speedup": (
        ("speedup --lab -- ./program ARGUMENTS", "your MPI program over TCP and over Beowire"),
        ("speedup --hosts A,B -- ./program", "the same on two hosts"),
    ),
    "predict": (
        (
            "predict --record R --nodes 16,64 -- is --class A",
            "a program of `apps list`, from what `compare` has measured",
        ),
        (
            "predict --record R --nodes 64 --topology fat-tree:32,8 -- heat.c 512",
            "your own program, behind two levels of switches",
        ),
        (
            "predict --record R --nodes 2,16 --rate 25g --flags -O3 -- heat.f90",
            "on a network that you do not have",
        ),
    ),
    "apps": (
        ("apps run cg is mg --lab", "whole programs over Beowire and TCP, in turns"),
        ("apps run --npb DIR --lab", "your copy of the NAS benchmarks"),
        ("apps list", "which programs there are"),
    ),
    "mpi-env": (
        ('eval "$(beowire mpi-env --mpi mpich)"', "MPICH uses Beowire from now on in this shell"),
    ),
    "pvm-env": (('eval "$(beowire pvm-env)"', "PVM programs use Beowire from now on"),),
    "run": (
        ("run -n 4 PROGRAM", "a program written for Beowire's own interface, on this host"),
        ("run --hosts A,B -n 4 PROGRAM", "the same on two hosts"),
    ),
    "info": (("info", "version, libraries, MPIs and privileges: add it to a bug report"),),
    "completion": (("completion bash", "print the completion script for bash"),),
    "lab": (
        ("lab up", "two virtual nodes on one cable"),
        ("lab exec node0 -- COMMAND", "run a command in a node"),
        ("lab mpirun --mpi mpich -n 4 -- PROGRAM", "an MPI program across the nodes"),
        (
            "lab mpirun --mpi mpich --over tcp,beowire -n 4 -- PROGRAM",
            "the same over both, compared",
        ),
        ("lab pvm up", "PVM's daemons in the nodes"),
        ("lab up --backend vm", "nodes with kernels of their own"),
        ("lab down", "remove it"),
    ),
    "simulate": (
        ("simulate --seeds 1000", "the protocol against loss, reordering and failing nodes"),
        ("simulate scale --workload incast", "how well 143 nodes send to one at the same time"),
    ),
}


def lines(command: str) -> list[tuple[str, str]]:
    """The examples of a command as they are typed, each with what it does."""
    return [
        (text if text.startswith("eval ") else f"beowire {text}", what)
        for text, what in EXAMPLES.get(command, ())
    ]
