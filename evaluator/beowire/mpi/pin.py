# SPDX-License-Identifier: BSD-3-Clause
"""Becomes a rank of an MPI program, on the core of the rank's number.

    python3 -I -S pin.py CORE,CORE,... PROGRAM [ARGUMENT...]

No shell does this, for it would drop variables that are none of its own, such as the functions that
bash exports. It imports nothing of this package, which would take each rank longer than the rest.
"""

import os
import signal
import sys
from pathlib import Path

#: Each MPI's name for a rank's number, in the environment that its launcher makes.
RANK = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")


def main(arguments: list[str]) -> None:
    """Does what the module says; returns never."""
    cores, *command = arguments
    if b"\0LC_CTYPE=" not in b"\0" + Path("/proc/self/environ").read_bytes():
        os.environ.pop("LC_CTYPE", None)  # which the interpreter sets in the C locale (PEP 538)
    rank = next(int(os.environ[name]) for name in RANK if name in os.environ)
    os.sched_setaffinity(0, {int(cores.split(",")[rank])})
    # Python ignores both; the program should start with what a launcher would give it.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"beowire: {command[0]}: {error.strerror}")


if __name__ == "__main__":
    main(sys.argv[1:])
