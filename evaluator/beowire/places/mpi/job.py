# SPDX-License-Identifier: BSD-3-Clause
"""An MPI's launcher while it runs, and what it says: read so that it never waits for a reader, and
kept as far as it can be of use."""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from beowire.errors import BeowireError
from beowire.visible import visible

#: What is kept of what launcher and ranks say: its end, where the cause is.
_TAIL_BYTES = 32 << 10

#: Told to end, and not ended after this, it is killed.
_TERMINATE_S = 1.5

#: What else a launcher has to say comes when all ranks have ended: Open MPI's takes three seconds.
LAST_WORDS_S = 4.0

_LONGEST_WORDS = 300

#: What names a cause, the best first.
_CAUSES = (
    r"exited on signal|killed by signal|bad termination",
    r"no such file|not found|cannot (?:find|open|execute)|permission denied|refused|unreachable",
    r"fatal|error|fail|abort|invalid|unable|unknown",
    r"exited with non-zero status",
)

#: Lines that only frame others, and those that say nothing.
_RULE = re.compile(r"\s*[-=*#|]*\s*")
_NOISE = re.compile(
    r"cleaning up remaining processes|you can ignore the below"
    # Two lines of Open MPI's, before those that say which process it was.
    r"|Primary job\s+terminated normally|a non-zero exit code\. Per user-direction",
    re.IGNORECASE,
)


class Job:
    """A launcher that was started. `end()` must be called, whatever happened."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], name: str = ""
    ) -> None:
        """Starts it, in a session of its own: Ctrl-C is for us, who then end it. BeowireError.

        `name` is what people call it, where the command becomes it only later (in a lab's node).
        """
        self._name = name or Path(command[0]).name
        self._tail = bytearray()
        try:
            self._process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise BeowireError(f"cannot start {command[0]}: {error.strerror}", 1) from None
        assert self._process.stdout is not None
        self._reader = threading.Thread(
            target=self._read, args=(self._process.stdout,), daemon=True
        )
        self._reader.start()

    def has_ended(self) -> bool:
        """Whether the launcher has."""
        return self._process.poll() is not None

    def last_words(self, patience_s: float) -> str:
        """What launcher or ranks say is wrong, in a line; empty if they say nothing. Waits so long
        for the launcher to end."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(patience_s)
            self._reader.join(_TERMINATE_S)
            if self._process.returncode < 0:
                return f"{self._name} was killed by signal {-self._process.returncode}"
        return cause(bytes(self._tail).decode("utf-8", "replace"))

    def end(self, patience_s: float) -> None:
        """Lets it end by itself for so long, then ends it and what it has started here."""
        for number, wait_s in ((signal.SIGTERM, patience_s), (signal.SIGKILL, _TERMINATE_S)):
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(wait_s)
                break
            self._tell(number)
        self._tell(signal.SIGKILL)  # who is left of its group
        self._process.wait()
        self._reader.join(_TERMINATE_S)

    def _tell(self, number: signal.Signals) -> None:
        """SIGTERM is for the launcher, which ends the others; SIGKILL for all."""
        with suppress(ProcessLookupError, PermissionError):
            if number == signal.SIGTERM:
                self._process.send_signal(number)
            else:
                os.killpg(self._process.pid, number)

    def _read(self, stream: IO[bytes]) -> None:
        with suppress(OSError, ValueError), stream:
            while chunk := os.read(stream.fileno(), 1 << 16):
                self._tail = (self._tail + chunk)[-_TAIL_BYTES:]


def rank_in(said: str, addresses: Sequence[str]) -> int | None:
    """The rank that is meant, by its number or by its host's address (of each rank); None: neither
    is named."""
    if found := re.search(r"\brank\s+(\d+)\b", said, re.IGNORECASE):
        return int(found[1]) if int(found[1]) < len(addresses) else None
    named = [re.search(rf"\b{re.escape(one)}\b", said) is not None for one in addresses]
    return named.index(True) if named.count(True) == 1 else None


def cause(said: str) -> str:
    """What says what is wrong: the paragraph that names a cause, else the last one; from the line
    in which it does."""
    paragraphs: list[list[str]] = [[]]
    for line in said.split("\n"):
        if _RULE.fullmatch(line):
            paragraphs.append([])
        elif not _NOISE.search(line):
            paragraphs[-1].append(" ".join(visible(line).strip(" =").split()))
    paragraphs = [lines for lines in paragraphs if lines]
    for pattern in _CAUSES:
        for lines in paragraphs:
            for number, line in enumerate(lines):
                if re.search(pattern, line, re.IGNORECASE):
                    whole = " ".join(lines)
                    return _cut(whole if len(whole) <= _LONGEST_WORDS else lines[number:])
    return _cut(paragraphs[-1]) if paragraphs else ""


def _cut(words: str | Sequence[str]) -> str:
    return (words if isinstance(words, str) else " ".join(words))[:_LONGEST_WORDS]
