# SPDX-License-Identifier: BSD-3-Clause
"""OpenSHMEM, which comes with an MPI: which one has it, and the ways that its puts and gets take.

Open MPI's, if it was built with UCX, as Debian's is. UCX is all that it has for puts and gets, so
there is no way over libfabric, and none over Beowire.
"""

from collections.abc import Iterator
from dataclasses import replace

from beowire.errors import BeowireError
from beowire.places.mpi import environment, installation
from beowire.places.mpi.installation import KINDS, Installation
from beowire.places.mpi.ways import SHM, Way

#: What a part of an installation is called: its sources are in a folder of this name, in
#: evaluator/drivers.
PART = "shmem"

#: What the engine calls its drivers, and what each measures.
FAMILIES = {"shmem-put": "OpenSHMEM puts", "shmem-get": "OpenSHMEM gets"}

#: The MPIs that may have it.
MPIS = tuple(name for name in KINDS if name.startswith("openmpi"))

#: Open MPI takes all writable memory below the symbol `_end` for symmetric as well: of a program
#: its variables, but of a library whatever lies below it, and with more than 31 pieces it crashes.
#: Here nothing lies below.
LINKING = ("-Wl,--defsym=_end=1",)

#: UCX's transports for each way.
_TRANSPORTS = {"tcp": "tcp,self", SHM: "shm,self"}


def find(name: str) -> Installation:
    """The OpenSHMEM of the MPI of this name, with its own launcher and compiler wrapper.
    BeowireError: it has none, or is not here."""
    title = KINDS[name].title.rstrip("0123456789 ")
    if name not in MPIS:
        raise BeowireError(f"{title} has no OpenSHMEM: there is that of {', '.join(MPIS)}")
    mpi = installation.find(name)
    folder = mpi.launcher.parent
    launcher, compiler = folder / "oshrun", folder / "oshcc"
    for file in (launcher, compiler):
        if not file.is_file():
            raise BeowireError(
                f"{title} {mpi.version} has no OpenSHMEM here: there is no {file}"
                " (Debian's packages are openmpi-bin and libopenmpi-dev)"
            )
    return replace(mpi, launcher=launcher, compiler=compiler, part=PART)


def way(shmem: Installation, name: str) -> Way:
    """A way of its puts and gets. BeowireError: it does not have it."""
    if name not in _TRANSPORTS:
        raise BeowireError(
            f"OpenSHMEM's puts and gets go over UCX, which has no way {name}:"
            f" there are {', '.join(_TRANSPORTS)}"
        )
    # What it says to its processes besides goes as messages of the MPI.
    variables = {
        **environment.variables(shmem, "tcp"),
        "OMPI_MCA_spml": "ucx",
        "UCX_TLS": _TRANSPORTS[name],
    }
    return Way(name, variables, one_node=name == SHM)


def named(words: Iterator[str]) -> Iterator[str]:
    """Words of `--drivers`, of which `openshmem` stands for all of its drivers."""
    for word in words:
        yield from FAMILIES if word == "openshmem" else (word,)
