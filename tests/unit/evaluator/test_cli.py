# SPDX-License-Identifier: BSD-3-Clause
"""The command line turns errors into one line and an exit code."""

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from beowire import cli, isolated
from beowire.errors import BeowireError
from unit.evaluator.command_line import whole

_EVALUATOR = Path(__file__).resolve().parents[3] / "evaluator"
#: Of a command that is loaded in little time.
_HELP = ("completion", "--help")


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (BeowireError("no such size: x"), 2, "beowire: no such size: x\n"),
        (BeowireError("the disk is full", exit_code=1), 1, "beowire: the disk is full\n"),
        (KeyboardInterrupt(), 130, "beowire: interrupted\n"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "beowire: No space left on device\n"),
        (PermissionError(errno.EACCES, "Denied", "/a/file"), 1, "beowire: /a/file: Denied\n"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 1, ""),
    ],
)
def test_error__one_line_and_status(
    error: BaseException,
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(cli, "_register", lambda: None)
    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == status
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", said)


def test_error__in_a_terminal_no_word_is_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    cli._say("neither a size nor a range LOW-HIGH: write 8, or 8-64KiB")
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["beowire: neither a size nor a range", "  LOW-HIGH: write 8, or 8-64KiB"]


def test_error__interrupted_while_importing__is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_register", fail)
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 130
    assert capsys.readouterr().err == "beowire: interrupted\n"


def test_error__a_mistake_of_ours_keeps_its_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "_register", lambda: None)
    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(ZeroDivisionError):
        cli.main()


def test_success__is_silent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "_register", lambda: None)
    monkeypatch.setattr(cli, "app", lambda **_: None)
    cli.main()
    assert capsys.readouterr() == ("", "")


def _beowire(script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs the command line from a shell, which can close and redirect its streams."""
    return subprocess.run(
        ["sh", "-c", script, "sh", *isolated.command("beowire"), *words],
        env={**os.environ, "PYTHONPATH": str(_EVALUATOR)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nope"], "No such command 'nope': see `beowire --help`"),
        (["report"], "Missing argument 'RECORD...': see `beowire report --help`"),
        (["report", "--nope", "x"], "No such option: --nope"),
        (["lab", "up", "--nodes", "x"], "'--nodes'"),
        (
            ["compare", "--nodes", "x"],
            "'--nodes': it takes a whole number: see `beowire compare --help`",
        ),
        (
            ["compare", "--time", "long"],
            "'--time': it takes a number: see `beowire compare --help`",
        ),
    ],
)
def test_words_that_make_no_sense__one_line(
    words: list[str],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["beowire", *words])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    done = capsys.readouterr()
    assert (caught.value.code, done.out) == (2, "")
    assert done.err.startswith("beowire: ")
    assert says in done.err
    assert done.err.count("\n") == 1


def test_a_directory_that_is_gone__one_line(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    gone = f"cd '{tmp_path}/gone' && rmdir '{tmp_path}/gone' && exec \"$@\""
    done = _beowire(gone, "simulate", "--seed", "3", "--trace", "x")
    assert (done.returncode, done.stdout) == (1, "")
    said = "the working directory has been removed: change to another one"
    assert done.stderr.splitlines()[-1] == f"beowire: {said}"


def test_no_words__the_help() -> None:
    done = CliRunner().invoke(whole(), [])
    assert done.exit_code == 2
    commands = done.stderr[done.stderr.index("Measure:") :]
    assert all(f"\n  {name} " in commands for name in cli.COMMANDS)
    assert "..." not in commands  # what a command is for fits in its line


def test_a_reader_that_has_gone__no_complaint() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [*isolated.command("beowire"), *_HELP],
            env={**os.environ, "PYTHONPATH": str(_EVALUATOR)},
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_full_disk_behind_the_output__one_line() -> None:
    done = _beowire('exec "$@" >/dev/full', *_HELP)
    assert done.returncode == 1
    assert done.stderr == "beowire: No space left on device\n"


def test_closed_streams__nothing_lands_in_another_file(tmp_path: Path) -> None:
    done = _beowire(f'cd "{tmp_path}"; exec "$@" 2>&-', "completion", "--nope")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")
    done = _beowire('exec "$@" >&-', *_HELP)
    assert (done.returncode, done.stderr) == (
        1,
        "beowire: standard output is closed, so the output is lost\n",
    )


def test_characters_that_the_terminal_lacks__are_replaced() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    before, sys.stdout = sys.stdout, stream
    try:
        cli._prepare_streams()
        print("±")
    finally:
        sys.stdout = before
    stream.flush()
    assert stream.buffer.getvalue() == b"?\n"
