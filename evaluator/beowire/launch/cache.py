# SPDX-License-Identifier: BSD-3-Clause
"""The engine's copy on another host: scripts that see whether it is right, and that put it there.

A copy is used again only if it is what ours is: no file less, none more, and each with the same
SHA-256; so one that was emptied by a full disk, or that somebody tried his hand at, is replaced. It
is replaced file by file, each by a rename: an engine that is being started meanwhile finds the old
file or the new one. Nothing is used from a directory that another user owns or can write to.

The scripts are one line of POSIX sh each, without a quote that a login shell would stumble over
(see SshHosts.command); on the host they need coreutils, findutils and tar.
"""

import hashlib
import io
import platform
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path

from beowire.errors import BeowireError

#: On the host, between double quotes.
BASE = "$HOME/.cache/beowire"


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

    def look(self) -> str:
        """A script that says `right` if the copy is, `wrong` if it is not or is not there."""
        right = f'[ -d "$dir" ] && {self._right()}'
        return f"{self._prepare()} if {right}; then echo right; else echo wrong; fi"

    def fill(self) -> str:
        """A script that makes the copy right, from the archive on its standard input."""
        return (
            f"{self._prepare()}"
            ' new=$(mktemp -d "$base/new.XXXXXX") && trap "rm -rf \\"$new\\"" EXIT'
            ' && tar -xf - -C "$new"'
            # A rename of a whole directory: whoever sees it sees all of it.
            ' && { mv -T "$new" "$dir" 2>/dev/null'
            # It is there: somebody else was faster, or it is not what it should be.
            f" || {self._right()}"
            f" || {{ {self._replace()}; }}"
            ' || { rm -rf "$dir" && mv -T "$new" "$dir"; }; }'
            f" && {{ {self._right()}"
            ' || { echo "$dir cannot be written: is its disk full?" >&2; exit 1; }; }'
        )

    def _prepare(self) -> str:
        # find says what others can write to, or what is not ours.
        foreign = '-prune "(" -perm -020 -o -perm -002 -o -not -user "$(id -u)" ")"'
        return (
            f'umask 077; base="{self._base}"; dir="$base/{self._name}"; mkdir -p "$base" || exit 1;'
            ' for each in "$base" "$dir" "$dir/drivers"; do [ -e "$each" ] || continue;'
            f' if [ -n "$(find -H "$each" {foreign})" ]; then'
            ' echo "$each belongs to another user, or others can write to it: remove it" >&2;'
            " exit 1; fi; done;"
        )

    def _right(self) -> str:
        """A command that is true if the directory holds our files, all and no others."""
        sums = "".join(f"{digest}  {path}\\n" for path, digest in self._digests.items())
        return (
            f'(cd "$dir" && [ $(find . -type f | wc -l) = {len(self._digests)} ]'
            ' && [ -z "$(find . -not -type f -not -type d)" ]'
            f' && [ -z "$(find . -type f -not -perm -100)" ]'
            f' && printf "{sums}" | sha256sum -c --status) 2>/dev/null'
        )

    def _replace(self) -> str:
        """Commands that put our files over those that are there, and take away what is not ours."""
        moves = " && ".join(f'mv -fT "$new/{path}" "$dir/{path}"' for path in self._digests)
        known = " ".join(f'-not -path "./{path}"' for path in self._digests)
        # No file can be moved over a directory.
        odd = '-mindepth 1 -type d -not -path "$dir/drivers" -prune -exec rm -rf "{}" +'
        return (
            f'mkdir -p "$dir/drivers" 2>/dev/null && find "$dir" {odd} && {moves}'
            f' && (cd "$dir" && find . -not -type d {known} -exec rm -f "{{}}" +)'
            f" && {self._right()}"
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


def explain_engine(said: str, status: int) -> str:
    """Why the engine, or what was to bring it, does not run there: what it means."""
    if found := re.search(r"version `(GLIBC_[0-9.]+)' not found", said):
        return f"its C library is too old for this engine ({found[1]} is missing): build there"
    if "xec format error" in said:
        return "it cannot run this engine, which was built for another kind of processor"
    if "ermission denied" in said:
        return f"no permission: {said.splitlines()[-1]}"
    lines = said.splitlines()
    return lines[-1] if lines else f"the engine ends with status {status} there"
