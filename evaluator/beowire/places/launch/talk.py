# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command to its end, gives it input and takes what it says, both bounded: what is at the
other end of an ssh connection may talk without an end."""

import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from typing import IO

_CHUNK_BYTES = 1 << 16

#: So much may be under way to a command that says what it has taken. PRRTE 3.0.8 (Open MPI 5.0.7)
#: drops longer fragments of what it hands to another host, and repeats what a pipe does not hold.
_PIECE_BYTES = 4096


class TalksTooMuch(Exception):
    """It said more than it may."""


def marked(marker: str, script: str) -> str:
    """The script, after a line, the marker, that says where its output begins. It has no such line
    in it: a shell may repeat what it is told."""
    half = len(marker) // 2
    return f'echo {marker[:half]}""{marker[half:]}; {script}'


def in_pieces(taken: str, script: str, data: bytes) -> str:
    """The script, which gets this data piece by piece; the line `taken` is printed after each."""
    if not data:
        return script
    count = -(-len(data) // _PIECE_BYTES)
    step = f"head -c {_PIECE_BYTES}; echo {taken} >&3; i=$((i - 1))"
    return f"{{ i={count}; while [ $i -gt 0 ]; do {step}; done | {{ {script}; }} 3>&-; }} 3>&1"


def talk(
    command: Sequence[str], data: bytes, limit_bytes: int, timeout_s: float, taken: str = ""
) -> "subprocess.CompletedProcess[bytes]":
    """What `subprocess.run` returns. Raises TalksTooMuch beyond `limit_bytes` on either stream, and
    subprocess.TimeoutExpired; the command is then killed. `taken`: it runs a script that is
    in_pieces(), and is given a piece when it has the one before."""
    deadline = time.monotonic() + timeout_s
    line = f"{taken}\n".encode()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        said: dict[IO[bytes], bytearray] = {
            process.stdout: bytearray(),
            process.stderr: bytearray(),
        }
        try:
            with selectors.DefaultSelector() as selector:
                os.set_blocking(process.stdin.fileno(), False)
                selector.register(process.stdin, selectors.EVENT_WRITE)
                for stream in said:
                    selector.register(stream, selectors.EVENT_READ)
                rest, sent = memoryview(data), 0
                while selector.get_map():
                    left_s = deadline - time.monotonic()
                    if left_s <= 0:
                        raise subprocess.TimeoutExpired(command, timeout_s)
                    for key, _ in selector.select(left_s):
                        if key.fileobj is process.stdin:
                            left = _PIECE_BYTES - sent % _PIECE_BYTES
                            rest = _feed(process.stdin, rest, left if taken else _CHUNK_BYTES)
                            sent = len(data) - len(rest)
                            if not rest or (taken and sent % _PIECE_BYTES == 0):
                                selector.unregister(process.stdin)
                            if not rest:
                                process.stdin.close()
                        elif not _take(key.fileobj, said, limit_bytes):  # type: ignore[arg-type]
                            selector.unregister(key.fileobj)
                        elif (
                            rest
                            and process.stdin not in selector.get_map()
                            and said[process.stdout].count(line) * _PIECE_BYTES >= sent
                        ):
                            selector.register(process.stdin, selectors.EVENT_WRITE)
            process.wait(max(0.0, deadline - time.monotonic()))
        except BaseException:
            process.kill()
            raise
        return subprocess.CompletedProcess(
            command, process.returncode, bytes(said[process.stdout]), bytes(said[process.stderr])
        )


def _feed(stream: IO[bytes], rest: memoryview, most: int) -> memoryview:
    """Writes what fits now; returns what is left: nothing, if nobody reads any more."""
    try:
        return rest[os.write(stream.fileno(), rest[:most]) :]
    except BlockingIOError:
        return rest
    except BrokenPipeError:
        return rest[:0]


def _take(stream: IO[bytes], said: dict[IO[bytes], bytearray], limit_bytes: int) -> bool:
    """Reads what is there; False at its end."""
    chunk = os.read(stream.fileno(), _CHUNK_BYTES)
    said[stream] += chunk
    if len(said[stream]) > limit_bytes:
        raise TalksTooMuch
    return bool(chunk)
