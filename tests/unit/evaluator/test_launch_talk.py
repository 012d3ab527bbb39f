# SPDX-License-Identifier: BSD-3-Clause
import subprocess
import sys

import pytest

from beowire.places.launch.talk import TalksTooMuch, in_pieces, talk


def test_talk__hands_over_and_brings_back() -> None:
    data = bytes(range(256)) * 4096
    done = talk(["sh", "-c", "cat; echo said >&2; exit 3"], data, 2 << 20, 60.0)
    assert (done.returncode, done.stdout, done.stderr) == (3, data, b"said\n")


#: Hands on what it has read within 20 ms, as PRRTE does to another host: no more than 4096 bytes.
LOSES = """
import os, subprocess, sys, time
with subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE) as inside:
    while chunk := os.read(0, 1 << 16):
        if len(chunk) <= 4096:
            inside.stdin.write(chunk)
            inside.stdin.flush()
        time.sleep(0.02)
"""


@pytest.mark.parametrize("count", [0, 1, 4096, 4097, 50000, 65536])
def test_talk__in_pieces_through_what_loses_longer_ones(count: int) -> None:
    data = (bytes(range(251)) * 300)[:count]
    through = [sys.executable, "-c", LOSES, "sh", "-c"]
    done = talk([*through, in_pieces("t", "cat >&2", data)], data, 1 << 20, 60.0, "t")
    assert (done.returncode, done.stderr) == (0, data)
    assert done.stdout == b"t\n" * -(-count // 4096)


def test_talk__in_pieces_to_what_does_not_read() -> None:
    data = bytes(20000)
    done = talk(["sh", "-c", in_pieces("t", "exit 7", data)], data, 1000, 60.0, "t")
    assert (done.returncode, done.stderr) == (7, b"")
    assert talk(["true"], data, 1000, 60.0, "t").returncode == 0


def test_talk__a_command_that_does_not_read() -> None:
    done = talk(["true"], bytes(4 << 20), 1000, 60.0)
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize("script", ["exec yes", "exec yes >&2"])
def test_talk__one_that_never_stops_is_ended(script: str) -> None:
    with pytest.raises(TalksTooMuch):
        talk(["sh", "-c", script], b"", 100_000, 60.0)


def test_talk__one_that_takes_too_long_is_ended() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        talk(["sleep", "600"], b"", 1000, 0.05)
