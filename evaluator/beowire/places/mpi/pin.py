# SPDX-License-Identifier: BSD-3-Clause
"""Becomes a rank of an MPI program, on the core of the rank's number.

    python3 -I -S pin.py CORE,CORE,... PROGRAM [ARGUMENT...]

No shell does this, for it would drop variables that are none of its own, such as the functions that
bash exports. It imports next to nothing of this package: all of it would take longer than the rest.
"""

import os
import sys

sys.path.insert(0, os.path.realpath(__file__).rpartition("/beowire/")[0])
from beowire.become import become

#: Each MPI's name for a rank's number, in the environment that its launcher makes.
RANK = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")


def main(arguments: list[str]) -> None:
    """Does what the module says; returns never."""
    cores, *command = arguments
    rank = next(int(os.environ[name]) for name in RANK if name in os.environ)
    os.sched_setaffinity(0, {int(cores.split(",")[rank])})
    become(command)


if __name__ == "__main__":
    main(sys.argv[1:])
