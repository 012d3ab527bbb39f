# SPDX-License-Identifier: BSD-3-Clause
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from beowire import files
from beowire.commands import tune
from beowire.compare import tuning
from beowire.compare.tuning import Choice
from beowire.errors import BeowireError


@pytest.fixture(name="configured")
def configured_by_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What was measured between hosts, where every endpoint reads it; nothing can be measured."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = tuning.default_path()
    path.parent.mkdir()
    tuning.write(path, tuning.text_of([Choice("spin_ns", "9000", "because")], "between a,b"))
    monkeypatch.setattr(tuning, "measuring", lambda *_: nullcontext())
    monkeypatch.setattr(tuning, "check_file", lambda _: None)
    monkeypatch.setattr(tuning, "tune", lambda *_: iter([Choice("spin_ns", "4000", "measured")]))
    return path


def command() -> typer.Typer:
    app = typer.Typer()

    @app.callback()
    def group() -> None:
        pass

    tune.register(app)
    return app


def run(*words: str) -> Exception | None:
    exception = CliRunner().invoke(command(), ["tune", *words]).exception
    assert exception is None or isinstance(exception, Exception)
    return exception


def test_tune__lab_leaves_alone_what_was_measured_between_hosts(configured: Path) -> None:
    before = configured.read_text(encoding="utf-8")
    refused = run("--lab")
    assert isinstance(refused, BeowireError)
    assert "with --out FILE" in str(refused)
    elsewhere = configured.with_name("lab.conf")
    assert run("--lab", "--out", str(elsewhere)) is None
    assert "spin_ns = 4000" in elsewhere.read_text(encoding="utf-8")
    assert configured.read_text(encoding="utf-8") == before
    # What is said explicitly is done.
    assert run("--lab", "--out", str(configured)) is None
    assert "in a lab: no real network" in configured.read_text(encoding="utf-8")


def test_tune__keeps_what_it_does_not_measure(
    configured: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    by_hand = "authenticate = true  # by hand\nbusy_poll_us=50\n"
    with configured.open("a", encoding="utf-8") as file:
        file.write(by_hand)
    for _ in range(2):
        assert run("--hosts", "c,d") is None
        text = configured.read_text(encoding="utf-8")
        assert text.endswith("is not measured.\nauthenticate = true\nbusy_poll_us = 50\n")
        assert text.count("spin_ns = ") == 1
    # A new file hides that of the host.
    of_host = tmp_path / "of_host"
    monkeypatch.setattr(tuning, "OF_HOST", of_host)
    of_host.write_text("authenticate = true\nspin_ns = 7000\n", encoding="utf-8")
    configured.unlink()
    assert run("--hosts", "c,d") is None
    assert "authenticate = true" in configured.read_text(encoding="utf-8")
    assert "7000" not in configured.read_text(encoding="utf-8")
    # What is elsewhere hides nothing.
    assert run("--hosts", "c,d", "--out", str(tmp_path / "elsewhere")) is None
    assert "authenticate" not in (tmp_path / "elsewhere").read_text(encoding="utf-8")


def test_tune__the_file_alone_goes_to_standard_output(
    configured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del configured
    # A test's standard output is its own, and no descriptor that is handed on.
    monkeypatch.setattr(files, "is_standard_output", lambda path: path == Path("/dev/stdout"))
    monkeypatch.setattr(tuning, "check_writable", lambda _: None)
    monkeypatch.setattr(tuning, "write", lambda _, text: print(text, end=""))
    result = CliRunner().invoke(command(), ["tune", "--lab", "--out", "/dev/stdout"])
    assert result.exception is None
    assert result.stdout == tuning.text_of(
        [Choice("spin_ns", "4000", "measured")], "in a lab: no real network"
    )
    assert result.stderr.endswith("written: /dev/stdout\n")


def test_tune__hosts_write_where_endpoints_look(configured: Path) -> None:
    assert run("--hosts", "c,d") is None
    assert "Measured between c,d." in configured.read_text(encoding="utf-8")


def test_tune__says_what_was_left_out__of_a_file_that_is_right(
    configured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tuned(*_: object) -> Iterator[Choice]:
        yield from (found, out) if found else (out,)

    found: Choice | None = Choice("spin_ns", "4000", "measured")
    out = Choice("eager_bytes", "", "there was no time", left_out=True)
    monkeypatch.setattr(tuning, "tune", tuned)
    failed = run("--hosts", "c,d")
    assert isinstance(failed, BeowireError)
    assert (str(failed), failed.exit_code) == ("left out: eager_bytes: there was no time", 1)
    written = configured.read_text(encoding="utf-8")
    assert "\nspin_ns = 4000\n" in written
    assert "\n# eager_bytes: left out\n" in written
    # Where there was time for nothing, what is there stays.
    found = None
    failed = run("--hosts", "c,d")
    assert isinstance(failed, BeowireError)
    assert (str(failed), failed.exit_code) == ("nothing is written: there was no time", 1)
    assert configured.read_text(encoding="utf-8") == written


def test_tune__says_what_was_left_out__of_several_only_where_the_reasons_are(
    configured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = [
        Choice("spin_ns", "4000", "measured"),
        Choice("eager_bytes", "", "there was no time", left_out=True),
        Choice("read_bytes", "", "a driver failed", left_out=True),
    ]
    monkeypatch.setattr(tuning, "tune", lambda *_: iter(choices))
    assert str(run("--hosts", "c,d")) == (
        "left out: eager_bytes, read_bytes: the reasons are above and in the file"
    )
    written = configured.read_text(encoding="utf-8")
    assert "# there was no time\n" in written and "# a driver failed\n" in written
