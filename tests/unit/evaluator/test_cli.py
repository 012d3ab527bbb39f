# SPDX-License-Identifier: BSD-3-Clause
"""The command line turns errors into one line and an exit code."""

import pytest

from beowire import cli
from beowire.errors import BeowireError


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (BeowireError("no such size: x"), 2, "beowire: no such size: x\n"),
        (BeowireError("the disk is full", exit_code=1), 1, "beowire: the disk is full\n"),
        (KeyboardInterrupt(), 130, "beowire: interrupted\n"),
    ],
)
def test_error__one_line_and_status(
    error: BaseException,
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(cli, "_register", lambda: None)
    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == status
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", said)


def test_success__is_silent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "_register", lambda: None)
    monkeypatch.setattr(cli, "app", lambda: None)
    cli.main()
    assert capsys.readouterr() == ("", "")
