# SPDX-License-Identifier: BSD-3-Clause
"""The ways by which an MPI's messages can go: Beowire, Beowire by one lane alone, TCP, and memory.

`tcp` is the way over TCP that an MPI takes by itself, as `beowire mpi-env --over tcp` prints it.
Open MPI has others, which now and then are quicker; they have names of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from beowire.errors import BeowireError
from beowire.places.mpi import environment
from beowire.places.mpi.installation import Installation

#: The memory of one host, through what the MPI itself has for it: what no network can beat.
SHM = "shm"

LANES = ("packet", "xdp", "tso", "udp", "tipc", "verbs")
_OTHER_TCP = ("ofi-tcp", "ucx-tcp")
NAMES = ("tcp", "beowire", *LANES, SHM, *_OTHER_TCP)


@dataclass(frozen=True)
class Way:
    """A way, and what makes an MPI take it."""

    name: str
    variables: Mapping[str, str]
    one_node: bool = False
    """All ranks are on the first node."""


def check(name: str) -> str:
    """The name, if it is one. BeowireError."""
    if name not in NAMES:
        raise BeowireError(f"no way is called {name!r}: --over takes {', '.join(NAMES)}")
    return name


def way(mpi: Installation, name: str) -> Way:
    """A way of this MPI. BeowireError: it does not have it, or the provider is not built."""
    check(name)
    if name == SHM:
        return Way(name, _memory(mpi), one_node=True)
    if name in LANES:
        # Of all lanes `shm` stays for ranks that share a host.
        lanes = {"FI_BEOWIRE_LANES": f"shm,{name}" + (",packet" if name in ("tso", "xdp") else "")}
        return Way(name, {**environment.variables(mpi, "beowire"), **lanes})
    if name in _OTHER_TCP:
        others = others_over_tcp(mpi)
        if name not in others:
            raise BeowireError(f"{mpi.name} has one way over TCP: tcp")
        return Way(name, others[name])
    return Way(name, environment.variables(mpi, name))


def others_over_tcp(mpi: Installation) -> dict[str, dict[str, str]]:
    """The ways over TCP that this MPI has besides its usual one."""
    if not mpi.is_open_mpi:
        return {}
    layered = "tcp;ofi_rxm" if mpi.name == "openmpi4" else "tcp"
    framework = "mtl" if mpi.name == "openmpi4" else "opal_common"
    return {
        "ofi-tcp": {
            "OMPI_MCA_pml": "cm",
            "OMPI_MCA_mtl": "ofi",
            f"OMPI_MCA_{framework}_ofi_provider_include": layered,
        },
        "ucx-tcp": {
            "OMPI_MCA_pml": "ucx",
            "OMPI_MCA_pml_ucx_tls": "any",
            "OMPI_MCA_pml_ucx_devices": "any",
            "OMPI_MCA_mca_base_env_list": "UCX_TLS",
            "UCX_TLS": "tcp,self,sm",
        },
    }


def _memory(mpi: Installation) -> dict[str, str]:
    variables = environment.variables(mpi, "tcp")
    if mpi.is_open_mpi:
        memory = "vader" if mpi.name == "openmpi4" else "sm"
        return {**variables, "OMPI_MCA_btl": f"{memory},self"}
    return {**variables, "I_MPI_FABRICS": "shm"} if mpi.name == "intel" else variables
