# SPDX-License-Identifier: BSD-3-Clause
"""The drivers over an MPI, compiled on another host, by the wrapper that it has there.

They are in `~/.cache/beowire/mpi-HASH`, where HASH is of their sources and of the wrapper there; a
directory that another user owns, or can write to, is refused by the engine that is to load them.
"""

import hashlib
import io
import tarfile
from pathlib import Path

from beowire import paths
from beowire.errors import BeowireError
from beowire.mpi import drivers
from beowire.places.engine import EngineError
from beowire.places.launch.base import Node
from beowire.places.launch.cache import BASE
from beowire.places.launch.ssh import SshLauncher
from beowire.places.launch.steps import StepLauncher
from beowire.places.launch.walk import WALK
from beowire.places.mpi import compiling, installation
from beowire.places.mpi.installation import Installation


def compiled(launcher: SshLauncher | StepLauncher, node: Node, mpi: Installation) -> Path:
    """The directory of the drivers on that host. EngineError: that MPI is not there as it is here,
    or cannot compile them, in one line."""
    try:
        _check_version(launcher, node, mpi)
        package = _pack(drivers.sources(mpi.part))
        said = launcher.run(node, _script(mpi, hashlib.sha256(package).hexdigest()[:16]), package)
    except BeowireError as error:
        raise EngineError(node.name, str(error).removeprefix(f"{node.name}: ")) from None
    status, _, rest = said.strip().partition("\n")
    if status != "made":
        wrapper = installation.compiler_of(mpi)
        raise EngineError(node.name, f"{wrapper} fails: {compiling.cause(rest, 1)}")
    return Path(rest.strip())


def _check_version(launcher: SshLauncher | StepLauncher, node: Node, mpi: Installation) -> None:
    asked = _quoted(mpi.launcher)
    said = launcher.run(node, f"{asked} --version </dev/null 2>&1 || true")
    there = installation.version_in(said, mpi.name)
    if there == mpi.version:
        return
    title = installation.KINDS[mpi.name].title.rstrip("0123456789 ")
    found = f"{title} {there} is" if there else "nothing of the kind is"
    raise BeowireError(
        f"{found} at {mpi.launcher} there, and {title} {mpi.version} here:"
        " install the same at the same place on all hosts"
    )


def _script(mpi: Installation, digest: str) -> str:
    """Says `made` and the directory, or `failed` and what the compiler says."""
    wrapper = _quoted(installation.compiler_of(mpi))
    root = f"I_MPI_ROOT={_quoted(mpi.prefix)} " if mpi.name == "intel" else ""
    options = drivers.options(mpi)
    flags, libraries = (" ".join(words) for words in (options.flags, options.libraries))
    file = drivers.file(mpi)
    compile_ = f"{root}{wrapper} {flags} {mpi.part}/*.c {libraries} -o {file}"
    return (
        f'{WALK} LC_ALL=C; export LC_ALL; umask 077; enter "{BASE}" yes ||'
        ' { echo "cache ${refused#* }" >&2; exit 1; };'
        f' dir="{BASE}/mpi-{digest}-$(sha256sum <{wrapper} | cut -c1-16)";'
        f' if [ -f "$dir/{file}" ]; then cat >/dev/null; else'
        f' new=$(mktemp -d "{BASE}/new.XXXXXX") && trap "rm -rf \\"$new\\"" EXIT'
        # By that name already: a plain mv into a directory replaces no directory that is not empty.
        ' && it=$new/${dir##*/} && mkdir "$it" && tar -xf - -C "$it" && cd "$it" ||'
        ' { echo "cache $dir" >&2; exit 1; };'
        f" {compile_} >log 2>&1 || {{ echo failed; cat log; exit 0; }};"
        # Another comparison may have made it meanwhile, or may just now.
        f' [ -f "$dir/{file}" ] || {{ rm -rf "$dir"; mv "$it" "{BASE}/" 2>/dev/null; }};'
        f' [ -f "$dir/{file}" ] || {{ echo "cache $dir" >&2; exit 1; }}; fi;'
        ' echo made; echo "$dir"'
    )


def _quoted(path: Path) -> str:
    """A path for a script that a login shell may see first."""
    text = str(path)
    if not all(one.isalnum() or one in "/._-+" for one in text):
        raise BeowireError(f"{text} has characters that cannot be said to another host: move it")
    return f'"{text}"'


def _pack(files: list[Path]) -> bytes:
    """A tar archive of the sources, the same for the same content."""
    archive = io.BytesIO()
    folder = paths.mpi_drivers_sources()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for file in files:
            entry = tarfile.TarInfo(file.relative_to(folder).as_posix())
            content = file.read_bytes()
            entry.size, entry.mode = len(content), 0o600
            tar.addfile(entry, io.BytesIO(content))
    return archive.getvalue()
