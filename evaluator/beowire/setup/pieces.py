# SPDX-License-Identifier: BSD-3-Clause
"""What a host needs for MPI over Beowire: files, and the variables that make each MPI use it.

One directory (the *prefix*), the same path on all hosts, with the provider for libfabric, the
programs that let others send Ethernet frames, and the variables as files for shells and for
`module`. No program is compiled against any of it.
"""

import hashlib
import io
import re
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from beowire import paths
from beowire.errors import BeowireError
from beowire.places.mpi import environment
from beowire.places.mpi.installation import KINDS, Installation

DEFAULT_PREFIX = "/opt/beowire"

FRAMES = "bin/beowire-frames"
#: Where a broker is to be, and systemd's units for it.
BROKER = "bin/beowired"
SOCKET = "systemd/beowired.socket"
SERVICE = "systemd/beowired.service"
PROVIDER = "fabric/libbeowire-fi.so"
#: A libfabric that has this provider alone.
DIRECT = f"{environment.DIRECT}/libfabric.so.1"
MODULE = "modulefiles/beowire"
SHELL = "env.sh"
OFF = "off.sh"
#: Where PVM's header was when this was built.
PVM = "pvm/libbeowire-pvm.so"
PVM_SHELL = "pvm.sh"

#: What tasks that are spawned get from whoever spawns them, wherever it is set, besides what names
#: the library.
PVM_EXPORTED = (
    *("BEOWIRE_PVM", "BEOWIRE_INTERFACE", "BEOWIRE_LANES", "BEOWIRE_CONFIG", "BEOWIRE_SETTINGS"),
)

#: What is in the prefix beside the files: their sums, by which they are known again.
MANIFEST = ".beowire-setup"

_PREFIX = re.compile(r"(~|)(/[\w.+@-]+)+", re.ASCII)

#: What Open MPI hands over to other nodes, if it is named here.
_LIST = "OMPI_MCA_mca_base_env_list"

#: What takes libfabric in Open MPI. With these, one that was built without it ends each program.
_OF_LIBFABRIC = ("OMPI_MCA_pml", "OMPI_MCA_mtl")
_WITHOUT_LIBFABRIC = "has no mtl/ofi (built without libfabric), so its programs stay on TCP"

#: Of an MPI's own installation, which is not ours to say.
_NOT_OURS = ("I_MPI_ROOT", "LD_LIBRARY_PATH", _LIST)
#: What names a place, and is handed over.
_PLACES = ("FI_PROVIDER_PATH", "LD_LIBRARY_PATH")
#: What would have Open MPI 4 open a second endpoint, which is polled as well.
_OF_OPEN_MPI_5 = ("OMPI_MCA_btl",)


@dataclass(frozen=True)
class Piece:
    """A file below the prefix."""

    path: str
    data: bytes
    mode: int

    @property
    def digest(self) -> str:
        """By which it is known."""
        return hashlib.sha256(self.data).hexdigest()


def check_prefix(prefix: str) -> str:
    """The prefix, if it can be one: absolute, or below a user's own directory (`~/NAME`)."""
    if not _PREFIX.fullmatch(prefix) or "/.." in prefix:
        raise BeowireError(
            f"--prefix is a directory of its own, with a name of letters and digits, such as"
            f" {DEFAULT_PREFIX} or ~/beowire: not {prefix!r}"
        )
    return prefix


def for_shell(prefix: str) -> str:
    """The prefix as it stands between double quotes in a shell of the host."""
    return f"$HOME{prefix[1:]}" if prefix.startswith("~") else prefix


def _for_module(prefix: str) -> str:
    return f"$::env(HOME){prefix[1:]}" if prefix.startswith("~") else prefix


def variables(interface: str) -> dict[str, str]:
    """Variables that make every MPI that is known use Beowire; without those that name a place."""
    found: dict[str, str] = {}
    for name in KINDS:
        mpi = Installation(name, "", Path("/nowhere/bin/mpirun"), None)
        found |= environment.variables(mpi, "beowire")
    for name in (*_NOT_OURS, *_OF_OPEN_MPI_5, "FI_PROVIDER_PATH"):
        found.pop(name, None)
    found["I_MPI_FABRICS"] = "shm:ofi"  # whatever it is for who types this
    return found | ({"FI_BEOWIRE_INTERFACE": interface} if interface else {})


def pieces(prefix: str, interface: str, *, broker: bool = False) -> list[Piece]:
    """All files, as they are to be on every host. BeowireError: something is not built."""
    engine = paths.engine_directory()
    frames = engine / "beowire-frames"
    for program in (frames, *([engine / "beowired"] if broker else [])):
        if not program.is_file():
            raise BeowireError(f"no {program}: build it first (`make` at the root of the checkout)")
    chosen = variables(interface)
    provider = paths.provider_directory()
    of_pvm = []
    if (engine / PVM).is_file():
        of_pvm = [
            Piece(PVM, (engine / PVM).read_bytes(), 0o644),
            Piece(PVM_SHELL, _pvm(prefix).encode(), 0o644),
        ]
    return [
        Piece(FRAMES, frames.read_bytes(), 0o755),
        Piece(PROVIDER, (provider / Path(PROVIDER).name).read_bytes(), 0o644),
        Piece(DIRECT, (provider / DIRECT).read_bytes(), 0o644),
        Piece(SHELL, _shell(prefix, chosen).encode(), 0o644),
        Piece(OFF, _off(prefix, chosen).encode(), 0o644),
        Piece(MODULE, _module(prefix, chosen).encode(), 0o644),
        *of_pvm,
        *(_of_broker(engine, prefix) if broker else []),
    ]


def _of_broker(engine: Path, prefix: str) -> list[Piece]:
    service = (engine / "beowired.service.in").read_text(encoding="utf-8")
    service = service.replace("@sbindir@/beowired", f"{prefix}/{BROKER}")
    return [
        Piece(BROKER, (engine / "beowired").read_bytes(), 0o755),
        Piece(SOCKET, (engine / "beowired.socket").read_bytes(), 0o644),
        Piece(SERVICE, service.encode(), 0o644),
    ]


def _shell(prefix: str, chosen: Mapping[str, str]) -> str:
    here = for_shell(prefix)
    lines = [
        "# Has MPI programs use Beowire that are started from this shell:",
        f"#     . {prefix}/{SHELL}",
        f"# and, to have them use TCP again: . {prefix}/{OFF}",
        f'case ":$PATH:" in *":{here}/bin:"*) ;; *) PATH="{here}/bin:$PATH" ;; esac',
        f'case ":${{LD_LIBRARY_PATH-}}:" in *":{here}/direct:"*) ;;',
        f'*) LD_LIBRARY_PATH="{here}/direct${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}" ;; esac',
        f'export PATH LD_LIBRARY_PATH FI_PROVIDER_PATH="{here}/fabric"',
        *(f"export {name}={value}" for name, value in chosen.items()),
        "case $(ompi_info --parsable 2>/dev/null || :) in",
        '""|*mca:mtl:ofi:*) ;;',
        f"*) unset {' '.join(_OF_LIBFABRIC)}",
        f'    echo "beowire: the Open MPI of $(command -v ompi_info) {_WITHOUT_LIBFABRIC}" >&2 ;;',
        "esac",
        "# What Open MPI hands over to other nodes; also what is set of FI_BEOWIRE_* now.",
        f"for beowire_name in {' '.join(_PLACES)}"
        ' $(env | sed -n "s/^\\(FI_BEOWIRE_[A-Z_]*\\)=.*/\\1/p"); do',
        f'    case ";${{{_LIST}-}};" in',
        '    *";$beowire_name;"*) ;;',
        f'    *) {_LIST}="${{{_LIST}:+${_LIST};}}$beowire_name" ;;',
        "    esac",
        "done",
        f"export {_LIST}",
        "unset beowire_name",
    ]
    return "\n".join(lines) + "\n"


def _pvm(prefix: str) -> str:
    library = f"{for_shell(prefix)}/{PVM}"
    exported = ":".join(["LD_PRELOAD", *PVM_EXPORTED])
    return (
        "# Has PVM programs use Beowire that are started from this shell, and what they spawn:\n"
        f"#     . {prefix}/{PVM_SHELL}\n"
        f'case ":${{LD_PRELOAD-}}:" in *":{library}:"*) ;;\n'
        f'*) LD_PRELOAD="{library}${{LD_PRELOAD:+:$LD_PRELOAD}}" ;; esac\n'
        f'case ":${{PVM_EXPORT-}}:" in *":LD_PRELOAD:"*) ;;\n'
        f'*) PVM_EXPORT="${{PVM_EXPORT:+$PVM_EXPORT:}}{exported}" ;; esac\n'
        "export LD_PRELOAD PVM_EXPORT\n"
    )


def _off(prefix: str, chosen: Mapping[str, str]) -> str:
    names = " ".join(["FI_PROVIDER_PATH", *chosen])
    return (
        "# Undoes env.sh: MPI programs use what they use by themselves.\n"
        f"unset {names}\n"
        f'{_LIST}=$(printf "%s\\n" "${{{_LIST}-}}" | tr ";" "\\n" |'
        f' sed -E "/^(({"|".join(_PLACES)})$|FI_BEOWIRE_)/d" | paste -s -d ";" -)\n'
        'LD_LIBRARY_PATH=$(printf "%s\\n" "${LD_LIBRARY_PATH-}" | tr ":" "\\n" |'
        f' {{ grep -Fxv "{for_shell(prefix)}/direct" || :; }} | paste -s -d ":" -)\n'
        + "".join(
            f'if [ -z "${name}" ]; then unset {name}; else export {name}; fi\n'
            for name in (_LIST, "LD_LIBRARY_PATH")
        )
    )


def _module(prefix: str, chosen: Mapping[str, str]) -> str:
    here = _for_module(prefix)
    lines = [
        "#%Module1.0",
        f"# module use {prefix}/modulefiles; module load beowire",
        'module-whatis "MPI programs use Beowire; unload it, and they use TCP again"',
        f'prepend-path PATH "{here}/bin"',
        f'prepend-path LD_LIBRARY_PATH "{here}/direct"',
        f'setenv FI_PROVIDER_PATH "{here}/fabric"',
        *(f'setenv {n} "{value}"' for n, value in chosen.items() if n not in _OF_LIBFABRIC),
        "if {[module-info mode load] && ![catch {exec ompi_info --parsable 2>@1} said]"
        " && [string match *mca:* $said] && ![string match *mca:mtl:ofi:* $said]} {",
        f'    puts stderr "beowire: the Open MPI that is loaded {_WITHOUT_LIBFABRIC}"',
        "} else {",
        *(f'    setenv {name} "{chosen[name]}"' for name in _OF_LIBFABRIC),
        "}",
        "# What Open MPI hands over to other nodes; also what is set of FI_BEOWIRE_* now.",
        *(f'append-path --delim ";" {_LIST} {name}' for name in _PLACES),
        "foreach name [lsort [array names ::env FI_BEOWIRE_*]] {",
        f'    append-path --delim ";" {_LIST} $name',
        "}",
    ]
    return "\n".join(lines) + "\n"


def manifest(files: Sequence[Piece]) -> str:
    """Sums and paths, as sha256sum reads them."""
    return "".join(f"{one.digest}  {one.path}\n" for one in files)


def archive(files: Sequence[Piece]) -> bytes:
    """A tar archive of the files, and of what lists them."""
    packed = io.BytesIO()
    listed = Piece("manifest", manifest(files).encode(), 0o600)
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for one in [*files, listed]:
            entry = tarfile.TarInfo(one.path)
            entry.size, entry.mode = len(one.data), one.mode
            tar.addfile(entry, io.BytesIO(one.data))
    return packed.getvalue()
