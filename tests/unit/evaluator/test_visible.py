# SPDX-License-Identifier: BSD-3-Clause
"""What others say is shown, and obeyed by no terminal."""

import io
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beowire import cli
from beowire.errors import BeowireError
from beowire.record.reader import read_record
from beowire.show import terminal
from beowire.show.display import Display
from beowire.visible import LINES, guard, unguarded, visible
from unit.evaluator import synthetic_record

#: Clears the screen, sets the title, and types; a control character of one byte; text turned round.
NASTY = "\x1b[2J\x1b]0;title\x07\x9b5i\x7f\u202egnp.exe\r\x08"


def test_visible__escapes_what_terminals_obey() -> None:
    assert visible("\x1b[31mred") == "\\u001b[31mred"
    assert visible("a\u202eb\x9bc\x7f") == "a\\u202eb\\u009bc\\u007f"
    assert visible("two\nlines\t") == "two\\nlines\\t"
    assert visible("two\nlines\t", LINES) == "two\nlines\t"
    assert visible("12 µs ± 3 ⇄ ü") == "12 µs ± 3 ⇄ ü"


@given(st.text())
def test_visible__is_printable_and_means_the_same_in_json(text: str) -> None:
    assert visible(text).isprintable()
    assert json.loads(visible(json.dumps(text, ensure_ascii=False))) == text


def test_guard__everything_that_is_printed_and_nothing_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = sys.stdout
    with guard():
        print(NASTY)
        print(NASTY, file=sys.stderr)
        sys.stdout.writelines([NASTY, "\n"])
        print("\x1b[1mours", file=unguarded(sys.stdout))
        assert sys.stdout.isatty() is False
    assert sys.stdout is before
    assert unguarded(before) is before
    captured = capsys.readouterr()
    assert captured.err == visible(NASTY) + "\n"
    assert captured.out == 2 * (visible(NASTY) + "\n") + "\x1b[1mours\n"


def test_main__an_error_with_the_words_of_an_engine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: object) -> None:
        print(NASTY)
        raise BeowireError(f"host: {NASTY}\nsecond line")

    monkeypatch.setattr(cli, "_register", lambda: None)
    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit):
        cli.main()
    captured = capsys.readouterr()
    assert captured.err == f"beowire: host: {visible(NASTY)}\\nsecond line\n"
    assert captured.out == visible(NASTY) + "\n"


def test_render__a_record_of_somebody_else(tmp_path: Path) -> None:
    lines = synthetic_record.lines(("tcp", "evil"), sizes=(8, 64, 1024))
    path = synthetic_record.write(tmp_path / "record.jsonl", lines)
    text = path.read_text(encoding="utf-8").replace('"evil"', json.dumps("evil" + NASTY))
    path.write_text(text.replace('"node0"', json.dumps("node0" + NASTY)), encoding="utf-8")
    shown = terminal.render(read_record(path), width=100, colour=False)
    assert visible("evil" + NASTY) in shown
    assert shown.replace("\n", "").isprintable()


def test_display__a_driver_of_a_remote_host(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    output = io.StringIO()
    with Display(Console(file=output, force_terminal=True, width=200)) as display:
        display.note(f"Looking at {NASTY}")
    assert "\\u001b[2J\\u001b]0;title" in output.getvalue()
    assert "\x1b]0" not in output.getvalue()
