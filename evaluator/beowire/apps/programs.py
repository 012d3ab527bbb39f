# SPDX-License-Identifier: BSD-3-Clause
"""A program of any kind, ready to be started with one MPI, and what its end means."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from beowire.apps import building, hpl, npb, output
from beowire.apps.bounded import Ended
from beowire.apps.catalogue import App
from beowire.apps.output import Said, Unreadable
from beowire.errors import BeowireError
from beowire.places.mpi import linkage
from beowire.places.mpi.installation import Installation

_HPCC_OUTPUT = "hpccoutf.txt"

#: Some read and write files where they are started. On other hosts there is no such directory, or
#: one that somebody else has made: there it is a new one, for as long as the program runs.
_ELSEWHERE = (
    'cd "$0" 2>/dev/null && [ -O . ] && exec "$@";'
    # Whoever kills this shell kills the program, too.
    ' k="setpriv --pdeathsig KILL"; $k true 2>/dev/null || k=;'
    ' d=$(mktemp -d) && cd "$d" || exit 1; exec 3<&0; $k "$@" <&3 3<&- & p=$!;'
    ' trap "kill $p" HUP INT TERM; wait $p; s=$?;'
    " while kill -0 $p 2>/dev/null; do wait $p; s=$?; done;"
    ' cd /; rm -rf "$d"; exit $s'
)


@dataclass(frozen=True)
class Program:
    """What is started."""

    app: App
    words: Sequence[str]
    files: Sequence[Path] = field(default_factory=list)
    """Of ours, which have to be wherever it runs."""
    input_text: str = ""
    """hpccinf.txt, in a directory of its own."""

    def command(self, scratch: Path) -> list[str]:
        """Its words; it may write to `scratch`, which is made for this launch."""
        if self.app.kind not in ("npb", "hpl"):
            return list(self.words)
        if self.input_text:
            (scratch / "hpccinf.txt").write_text(self.input_text, encoding="ascii")
        return ["sh", "-c", _ELSEWHERE, str(scratch), *self.words]

    def read(self, ended: Ended, scratch: Path) -> "Found":
        """What came of it."""
        if ended.stopped:
            return Found(ended.stopped)
        try:
            said = self._said(ended, scratch)
        except Unreadable as error:
            return Found(self._cause(ended) if ended.status else str(error))
        status = "ok"
        if not said.verified:
            status = f"not verified: {said.check}" if said.check else "not verified"
        elif ended.status != 0:
            status = self._cause(ended)
        return Found(status, said)

    def _said(self, ended: Ended, scratch: Path) -> Said:
        if self.app.kind == "user":
            if ended.status != 0:
                raise Unreadable("it failed")
            return Said(ended.seconds, ended.seconds, "s", True)
        if self.app.kind == "own":
            return output.own(ended.output)
        if self.app.kind == "npb":
            return output.npb(ended.output)
        try:
            text = (scratch / _HPCC_OUTPUT).read_text(encoding="utf-8", errors="replace")
        except OSError:
            raise Unreadable(f"it wrote no {_HPCC_OUTPUT}") from None
        return output.hpcc(text)

    def _cause(self, ended: Ended) -> str:
        said = output.reason(self.app.file, [ended.errors, ended.output])
        return said or f"it ended with status {ended.status} and printed no reason"


@dataclass(frozen=True)
class Found:
    """What came of a launch."""

    status: str
    """`ok`, or why it gives no figure."""
    said: Said | None = None


def make(
    app: App,
    mpi: Installation,
    *,
    letter: str,
    ranks: int,
    tree: npb.Tree | None,
    words: Sequence[str],
) -> Program:
    """The program, compiled if it has to be. `words`: the command line of a user's own.
    BeowireError: it cannot be made, or not for this MPI."""
    if app.kind == "user":
        linkage.check(words, mpi.name)
        return Program(app, words)
    if app.kind == "npb":
        if tree is None:
            raise BeowireError(f"{app.name} needs your tree: --npb DIR")
        binary = npb.program(tree, app, mpi, letter, ranks)
        return Program(app, [str(binary)], [binary])
    if app.kind == "hpl":
        return Program(
            app, [str(hpl.program(mpi))], [], hpl.input_file(letter, ranks, app.arguments[0])
        )
    binary = building.program(app, mpi)
    return Program(app, [str(binary), "--class", letter, *app.arguments], [binary])
