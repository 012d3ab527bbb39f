# SPDX-License-Identifier: BSD-3-Clause
import subprocess

import pytest

from beowire.launch.talk import TalksTooMuch, talk


def test_talk__hands_over_and_brings_back() -> None:
    data = bytes(range(256)) * 4096
    done = talk(["sh", "-c", "cat; echo said >&2; exit 3"], data, 2 << 20, 60.0)
    assert (done.returncode, done.stdout, done.stderr) == (3, data, b"said\n")


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
