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


class TalksTooMuch(Exception):
    """It said more than it may."""


def marked(marker: str, script: str) -> str:
    """The script, after a line, the marker, that says where its output begins. It has no such line
    in it: a shell may repeat what it is told."""
    half = len(marker) // 2
    return f'echo {marker[:half]}""{marker[half:]}; {script}'


def talk(
    command: Sequence[str], data: bytes, limit_bytes: int, timeout_s: float
) -> "subprocess.CompletedProcess[bytes]":
    """What `subprocess.run` returns. Raises TalksTooMuch beyond `limit_bytes` on either stream, and
    subprocess.TimeoutExpired; the command is then killed."""
    deadline = time.monotonic() + timeout_s
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
                rest = memoryview(data)
                while selector.get_map():
                    left_s = deadline - time.monotonic()
                    if left_s <= 0:
                        raise subprocess.TimeoutExpired(command, timeout_s)
                    for key, _ in selector.select(left_s):
                        if key.fileobj is process.stdin:
                            rest = _feed(process.stdin, rest)
                            if not rest:
                                selector.unregister(process.stdin)
                                process.stdin.close()
                        elif not _take(key.fileobj, said, limit_bytes):  # type: ignore[arg-type]
                            selector.unregister(key.fileobj)
            process.wait(max(0.0, deadline - time.monotonic()))
        except BaseException:
            process.kill()
            raise
        return subprocess.CompletedProcess(
            command, process.returncode, bytes(said[process.stdout]), bytes(said[process.stderr])
        )


def _feed(stream: IO[bytes], rest: memoryview) -> memoryview:
    """Writes what fits now; returns what is left: nothing, if nobody reads any more."""
    try:
        return rest[os.write(stream.fileno(), rest[:_CHUNK_BYTES]) :]
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
