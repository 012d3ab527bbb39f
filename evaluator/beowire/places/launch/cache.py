# SPDX-License-Identifier: BSD-3-Clause
"""The engine's copy on another host: scripts that see whether it is right, and that put it there.

A copy is used again only if it is what ours is: no file less, none more, and each with the same
SHA-256; so one that was emptied by a full disk, or that somebody tried his hand at, is replaced. It
is replaced file by file, each by a rename: an engine that is being started meanwhile finds the old
file or the new one. Nothing is used from a directory that another user owns or can write to, nor by
a way that he can exchange (walk.py).

The scripts are one line of POSIX sh each, without a quote that a login shell would stumble over
(see SshHosts.command); on the host they need what POSIX has, mktemp, sha256sum, stat and tar:
BusyBox is enough. What goes wrong there, explain() says in one line.
"""

import hashlib
import io
import platform
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path

from beowire.errors import BeowireError
from beowire.places.launch.walk import WALK

#: On the host, between double quotes.
BASE = "$HOME/.cache/beowire"


#: What the scripts take that POSIX does not have.
_TOOLS = "mktemp sha256sum stat tar"

#: The path of the dynamic loader, as it stands in the engine.
_LOADER = re.compile(rb"/lib[\w./+-]*/ld[\w.+-]*\.so\.\d+(?=\0)")


class RemoteCache:
    """The copy of one engine."""

    def __init__(self, name: str, files: Mapping[str, bytes], base: str = BASE) -> None:
        """`name` of its directory; `files`: what it holds, by path; `base`: where it is."""
        for path in (name, *files):
            if not all(one.isascii() and (one.isalnum() or one in "._-/") for one in path):
                raise ValueError(f"{path} cannot stand in a script")
        self._name = name
        self._base = base
        self._digests = {
            path: hashlib.sha256(content).hexdigest() for path, content in files.items()
        }
        loader = _LOADER.search(files.get("beowire-engine", b""))
        self._loader = loader[0].decode() if loader else "/"

    def look(self) -> str:
        """A script that says `right` if the copy is, `wrong` if it is not or is not there."""
        return f"{self._prepare()} if {self._right()}; then echo right; else echo wrong; fi"

    def fill(self) -> str:
        """A script that makes the copy right, from the archive on its standard input."""
        return (
            f"{self._prepare()}"
            ' new=$(mktemp -d ./new.XXXXXX) && trap "rm -rf \\"$new\\"" EXIT'
            ' && tar -xf - -C "$new"'
            f" && {{ {self._right()} || {{ {self._replace()}; }} 2>/dev/null"
            # What is there is no directory, for instance.
            f' || {{ rm -rf "./{self._name}" && {self._replace()}; }}; }}'
            f' || {{ echo "cache $base" >&2; exit 1; }}; {self._right()}'
            ' || { echo "$dir is not what was sent: does something change it?" >&2; exit 1; }'
        )

    def try_it(self) -> str:
        """A script that starts the engine without input, at which it ends at once with a status of
        its own: 3 (docs/ENGINE.md). If it does not start, the script says what explain() needs."""
        return (
            f'LC_ALL=C; export LC_ALL; dir="{self._base}/{self._name}";'
            ' "$dir/beowire-engine" </dev/null; code=$?; case $code in 126|127)'
            f' [ -e "{self._loader}" ] || echo "no loader {self._loader}" >&2;'
            # The last of those mounts that are nearest.
            ' real=$(cd "$dir" && pwd -P); at=; how=; while read -r device point type options rest;'
            ' do case $real/ in "${point%/}"/*) [ ${#point} -lt ${#at} ] ||'
            " { at=$point; how=$options; } ;; esac; done </proc/mounts;"
            ' case ",$how," in *,noexec,*) echo "noexec $at" >&2 ;; esac ;; esac; exit $code'
        )

    def _prepare(self) -> str:
        """Goes to where the copy is to be, `$base`: there nobody else can change what is found."""
        foreign = "belongs to another user, or others can write to it: remove it"
        copy = f'"./{self._name}"'
        return (
            f'{self.prelude()} umask 077; base="{self._base}"; dir="$base/{self._name}";'
            ' enter "$base" yes || { case $refused in'
            f' shared*) echo "${{refused#* }} {foreign}" ;;'
            ' *) echo "cache $base"; echo "mkdir: ${refused#* }" ;; esac >&2; exit 1; };'
            f" [ -L {copy} ] && rm -f {copy}; for each in {copy} {copy}/drivers; do"
            ' [ -d "$each" ] || continue; (at=$base; rest=; make=no; step "$each") ||'
            f' {{ echo "$base/${{each#./}} {foreign}" >&2; exit 1; }}; done;'
        )

    @staticmethod
    def prelude() -> str:
        """What all of them begin with: it says which tool is missing, and defines `enter`."""
        return (
            f"LC_ALL=C; export LC_ALL; for each in {_TOOLS}; do"
            ' command -v "$each" >/dev/null || { echo "lacks $each" >&2; exit 1; }; done;'
            f" {WALK}"
        )

    def _right(self) -> str:
        """A command that is true if the directory holds our files, all and no others."""
        sums = "".join(f"{digest}  {path}\\n" for path, digest in self._digests.items())
        return (
            f'(cd "./{self._name}" && [ $(find . -type f | wc -l) = {len(self._digests)} ]'
            ' && [ -z "$(find . -type d -o -type f -perm -100 -o -print)" ]'
            f' && printf "{sums}" | sha256sum -c >/dev/null) 2>/dev/null'
        )

    def _replace(self) -> str:
        """Commands that put our files over those that are there, and take away what is not ours:
        first what no file can be moved over."""
        odd = '-name . -o -type f -o -type d -path ./drivers -o -prune -exec rm -rf "{}" +'
        copy = f'"./{self._name}"'
        moves = " && ".join(
            f'mv -f "$new/{path}" "./{self._name}/{path}"' for path in self._digests
        )
        known = " -o ".join(f"-path ./{path}" for path in self._digests)
        return (
            f"mkdir -p {copy} && (cd {copy} && find . {odd}) && mkdir -p {copy}/drivers && {moves}"
            f' && (cd {copy} && find . -type d -o {known} -o -exec rm -f "{{}}" +)'
        )


def engine_files(directory: Path) -> dict[str, bytes]:
    """The engine and its drivers: what they are called there, and their content."""
    paths = [directory / "beowire-engine", *sorted((directory / "drivers").glob("*.so"))]
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in paths}


def pack(files: Mapping[str, bytes]) -> bytes:
    """A tar archive that is the same for the same content."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        drivers = tarfile.TarInfo("drivers")
        drivers.type, drivers.mode = tarfile.DIRTYPE, 0o700
        tar.addfile(drivers)
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o700
            tar.addfile(entry, io.BytesIO(data))
    return archive.getvalue()


def refuse_foreign(host: str, machine: str) -> None:
    """BeowireError if the engine is not for a machine of this kind (as `uname -sm` says)."""
    ours = f"{platform.system()} {platform.machine()}"
    if machine != ours:
        raise BeowireError(
            f"{host} is {machine or 'no known system'}, this engine is for {ours}:"
            " build Beowire on a machine of that kind"
        )


#: What a host says, and what it means. `at`: where; `link`: that place is ours, and may be a link.
_CAUSES = (
    (r"^lacks (\S+)$", "it has no `{0}`, which is needed to copy the engine there: install it"),
    (
        r"No space left on device|Wrote only \d+ of|short write|Disk quota exceeded",
        "its disk is full{at}: make room there{link}",
    ),
    (r"^(.*: Read-only file system)$", "{0}{at}: mount it to be written"),
    (
        r"^noexec (.*)$",
        "programs may not run on its {0}, which is mounted noexec: mount it with exec{link}",
    ),
    (
        r"Error relocating|Error loading shared library|^no loader (.*ld-linux.*)$",
        "its C library is musl or another, and this engine needs glibc: build Beowire there",
    ),
    (r"^no loader (.*)$", "the engine's loader {0} is missing there: build Beowire there"),
    (r"error while loading shared libraries: ([^:\s]+)", "it lacks the library {0}: install it"),
    (
        r"xec format error",
        "it cannot run this engine, which was built for another kind of processor",
    ),
)


def explain_engine(said: str, status: int) -> str:
    """Why the engine, or what was to bring it, does not run there: what it means."""
    if versions := re.findall(r"version `GLIBC_([0-9.]+)' not found", said):
        least = max(versions, key=lambda one: [int(part) for part in one.split(".") if part])
        return f"its C library is too old for this engine (GLIBC_{least} is missing): build there"
    place = re.search(r"^(in|cache) (.*)$", said, re.MULTILINE)
    at = f" ({place[2]})" if place else ""
    link = ", or make ~/.cache/beowire a link to another place"
    if place and place[1] == "in":
        link = ""
    for pattern, meaning in _CAUSES:
        if ("{at}" not in meaning or place) and (found := re.search(pattern, said, re.MULTILINE)):
            return meaning.format(*found.groups(), at=at, link=link)
    lines = [line for line in said.splitlines() if not (place and line == place[0])]
    if "ermission denied" in said:
        return f"no permission: {lines[-1]}"
    return lines[-1] if lines else f"the command there ended with status {status}"
