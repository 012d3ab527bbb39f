# SPDX-License-Identifier: BSD-3-Clause
"""The variables that make an MPI use Beowire, or TCP to compare with.

They are what `beowire mpi-env` prints and what `beowire lab mpirun` sets: one and the same. Open
MPI hands variables that begin with OMPI_ to all nodes, and others that are named in
`mca_base_env_list`; the launchers of MPICH and Intel MPI hand over all.
"""

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from beowire import paths
from beowire.errors import BeowireError
from beowire.places.mpi.installation import KINDS, Installation

TRANSPORTS = ("beowire", "tcp")

_PROVIDER = "beowire"

#: Names of variables that Open MPI hands to all nodes, with `;` between them.
HANDED_OVER = "OMPI_MCA_mca_base_env_list"

#: Lists in which what the user has is no choice of another way.
_ADDED_TO = (HANDED_OVER, "LD_LIBRARY_PATH")

#: Below the provider's directory: a libfabric that has this provider alone, and loads at once.
DIRECT = "direct"

#: From this version on Open MPI's osc/rdma prepares what it moves bytes by; before, pml/ob1 has to
#: (docs/UPSTREAM.md).
_OSC_RDMA_BY_ITSELF = (5, 0, 9)

#: What carries one-sided operations in Open MPI, and what that moves bytes by.
_OSC = "OMPI_MCA_osc"
_BTL = "OMPI_MCA_btl"


def variables(mpi: Installation, over: str) -> dict[str, str]:
    """Variables for this MPI over `beowire` or `tcp`. BeowireError: no such transport, or the
    provider is not built."""
    if over not in TRANSPORTS:
        known = ", ".join(TRANSPORTS)
        raise BeowireError(f"no MPI runs over {over!r} here: --over is one of {known}")
    provider = str(paths.provider_directory()) if over == "beowire" else ""
    if mpi.is_open_mpi:
        return _open_mpi(mpi, provider)
    if mpi.name == "mpich":
        chosen = _mpich(mpi, provider) | _libraries(mpi, provider)
    else:
        chosen = _intel(mpi, provider)
    return {"FI_PROVIDER": _PROVIDER if provider else "tcp", **chosen}


def without_memory(mpi: Installation, chosen: Mapping[str, str]) -> dict[str, str]:
    """Variables that keep ranks of one host from reaching each other through the MPI's own shared
    memory, where they would otherwise, with the variables `chosen`."""
    if mpi.is_open_mpi:
        # What goes through libfabric, or UCX, does not use Open MPI's own.
        return {"OMPI_MCA_btl": "tcp,self"} if chosen.get("OMPI_MCA_pml") == "ob1" else {}
    if mpi.name == "mpich":
        return {"MPIR_CVAR_NOLOCAL": "1"}
    # Its collective operations have memory of their own.
    return {"I_MPI_FABRICS": "ofi", "I_MPI_COLL_INTRANODE": "pt2pt"}


def caution(mpi: Installation, over: str) -> str | None:
    """What a user of this MPI has to know before it gives wrong results; None: nothing."""
    if over == "beowire" and mpi.is_open_mpi:
        return (
            "Open MPI's mtl/ofi, with any provider: MPI_Mrecv into a datatype with gaps leaves the "
            "buffer as it was. Programs that do so need OMPI_MCA_pml=ob1 OMPI_MCA_mtl=^ofi "
            "OMPI_MCA_btl=ofi,self OMPI_MCA_btl_ofi_mode=2 (docs/UPSTREAM.md)"
        )
    return None


def overruled(chosen: Mapping[str, str], over: str) -> str | None:
    """What a user has to know who has set variables in the environment that the way `over` sets
    otherwise; None: nobody has."""
    lost = [
        f"{name}={shlex.quote(os.environ[name])}"
        for name, value in chosen.items()
        if os.environ.get(name, value) != value and name not in _ADDED_TO
    ]
    if not lost:
        return None
    words = " ".join(lost)
    return (
        f"--over {over} replaces {words} of the environment; to give it to the ranks: -- env"
        f" {words} PROGRAM"
    )


def _open_mpi(mpi: Installation, provider: str) -> dict[str, str]:
    is_4 = mpi.name == "openmpi4"
    # Debian's configuration file leaves out pt2pt as well, and nothing carries one-sided operations
    # between hosts then. UCX's adds floating-point numbers as if they were whole ones.
    windows = {_OSC: os.environ.get(_OSC) or "^ucx"} if is_4 else {}
    libraries = _libraries(mpi, provider)
    if not provider:
        memory = "vader" if is_4 else "sm"
        return {"OMPI_MCA_pml": "ob1", _BTL: f"tcp,{memory},self", **windows, **libraries}
    include = ["mtl", "btl"] if is_4 else ["opal_common"]
    # Its btl knows two atomic operations, and ends the process if it is asked for any other.
    # In 5 nothing else carries them between hosts, and Debian's configuration file leaves it out.
    onesided = (
        {"OMPI_MCA_osc_rdma_acc_use_amo": "0"}
        if is_4
        else {_BTL: os.environ.get(_BTL) or "^uct,tcp"}
    )
    by_cm = is_4 or _prepares_windows(mpi.version)
    # ob1, which is opened as well, would otherwise start without a network where the provider
    # cannot, and fail with the first message. With all peers added at once MPI_Init fails.
    early = {} if by_cm else {"OMPI_MCA_mpi_add_procs_cutoff": "65536"}
    return {
        "OMPI_MCA_pml": "cm" if by_cm else "^ucx",
        **early,
        # Debian's configuration file leaves it out; this says otherwise.
        "OMPI_MCA_mtl": "ofi",
        # The btl is for one-sided operations as puts and gets, and is only used in 4 if the user
        # asks for it: it has an endpoint of its own, which is then polled beside the other.
        **{f"OMPI_MCA_{framework}_ofi_provider_include": _PROVIDER for framework in include},
        **onesided,
        **windows,
        "FI_PROVIDER_PATH": provider,
        # One that is not set ends mpirun.
        HANDED_OVER: _listed("FI_PROVIDER_PATH", *libraries),
        **libraries,
    }


def _libraries(mpi: Installation, provider: str) -> dict[str, str]:
    """Where the MPI finds libfabric: ours over Beowire, unless it has one of its own beside it (as
    wheels have, which load at once), and the system's otherwise."""
    known = [one for one in os.environ.get("LD_LIBRARY_PATH", "").split(":") if one]
    others = [one for one in known if not _is_direct(Path(one))]
    folder = "openmpi" if mpi.is_open_mpi else mpi.name
    ours = provider and not (mpi.prefix / "lib" / folder / "libfabric.so.1").is_file()
    if ours:
        others = [f"{provider}/{DIRECT}", *others]
    return {"LD_LIBRARY_PATH": ":".join(others)} if ours or others != known else {}


def _is_direct(directory: Path) -> bool:
    return directory.name == DIRECT and (directory / "libfabric.so.1").is_file()


def _prepares_windows(version: str) -> bool:
    """Whether this Open MPI 5 has windows with `pml=cm`. `^ucx` also makes it take cm, if there is
    an mtl, but has it open ob1 as well. A version that is not known is taken for a new one."""
    numbers = tuple(int(one) for one in re.findall(r"\d+", version)[:3])
    return not numbers or numbers >= _OSC_RDMA_BY_ITSELF


def _listed(*names: str) -> str:
    """The user's own list of what is handed over, with these names in it."""
    own = [one for one in os.environ.get(HANDED_OVER, "").split(";") if one]
    return ";".join(dict.fromkeys([*own, *names]))


def _mpich(mpi: Installation, provider: str) -> dict[str, str]:
    if provider and not mpi.has_libfabric:
        raise BeowireError(
            f"MPICH {mpi.version} ({mpi.launcher}) is built for {mpi.device}, without libfabric,"
            f" and cannot use Beowire: {KINDS[mpi.name].hint}; --prefix names the directory of"
            " another"
        )
    # Some builds have UCX as well, and would prefer it.
    chosen = {"MPIR_CVAR_CH4_NETMOD": "ofi"}
    if not provider:
        return chosen
    # Its own keys of memory are small numbers, the same in each run; so it lets us choose them.
    return {"FI_PROVIDER_PATH": provider, **chosen, "MPIR_CVAR_CH4_OFI_ENABLE_MR_PROV_KEY": "1"}


def _intel(mpi: Installation, provider: str) -> dict[str, str]:
    libraries = str(mpi.prefix / "lib")
    return {
        "FI_PROVIDER_PATH": provider or libraries,
        "I_MPI_ROOT": str(mpi.prefix),
        "I_MPI_FABRICS": os.environ.get("I_MPI_FABRICS") or "shm:ofi",
        "I_MPI_OFI_PROVIDER": _PROVIDER if provider else "tcp",
        # Its own libfabric, not one of the system that happens to be older.
        "LD_LIBRARY_PATH": libraries,
    }
