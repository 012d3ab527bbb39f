# SPDX-License-Identifier: BSD-3-Clause
"""`beowire explain` with engines that only pretend, and without perf."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beowire.errors import BeowireError
from beowire.explain import perf
from beowire.explain.perf import NoPerf, Sample
from beowire.explain.run import Asked, explain
from beowire.interrupts import Interrupts
from beowire.record.reader import read_record
from unit.evaluator.fake_launcher import FakeLauncher


@pytest.fixture
def launcher(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLauncher]:
    made = FakeLauncher()
    monkeypatch.setattr("shutil.which", lambda _: None)
    yield made
    assert all(process.poll() is not None for process in made.processes)


def _asked(directory: Path, driver: str = "steady", **changes: Any) -> Asked:
    return Asked(driver, 8, 0.5, directory, **({"own_directory": False} | changes))


def test_explain__without_perf__has_the_layers_and_a_record(
    launcher: FakeLauncher, tmp_path: Path
) -> None:
    found = explain(launcher, _asked(tmp_path / "out"), Interrupts())
    assert [one.driver for one in found.layers] == ["steady"]
    assert found.split is None
    assert found.why_not.startswith("perf is not installed")
    record = read_record(tmp_path / "out" / "record.jsonl")
    assert [(one.driver, one.size) for one in record.results] == [("steady", 8)]
    assert record.results[0].explained is None
    assert record.end is not None and record.end.status == "ok"


def test_explain__samples_are_divided_and_kept(
    launcher: FakeLauncher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Recording:
        """Each processor is always in the same place of the kernel."""

        def __init__(self, cpus: list[int]) -> None:
            assert cpus == [0, 1]

        def __enter__(self) -> list[Sample]:
            pids = [process.pid for process in launcher.processes[-2:]]
            return [
                Sample("beowire-engine", pid, cpu, 1000, ("tcp_sendmsg",), ())
                for cpu, pid in enumerate(pids)
            ]

        def __exit__(self, *exc: object) -> None:
            pass

    monkeypatch.setattr(perf, "recording", Recording)
    found = explain(launcher, _asked(tmp_path), Interrupts())
    assert found.split is not None
    assert found.split.parts.keys() == {"protocol"}
    (result,) = read_record(tmp_path / "record.jsonl").results
    assert result.explained is not None
    assert result.explained.parts_ns == dict(found.split.parts)
    assert result.explained.samples == 2


def test_explain__between_hosts__perf_is_not_asked(tmp_path: Path) -> None:
    found = explain(FakeLauncher(kind="hosts"), _asked(tmp_path), Interrupts())
    assert "both ends on this machine" in found.why_not


def test_explain__perf_that_is_refused__is_said(
    launcher: FakeLauncher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: list[int]) -> None:
        raise NoPerf("no permission")

    monkeypatch.setattr(perf, "recording", refuse)
    assert explain(launcher, _asked(tmp_path), Interrupts()).why_not == "no permission"


@pytest.mark.parametrize(
    ("driver", "reason"),
    [("nothing", "no driver 'nothing'"), ("all", "is several drivers"), ("absent", "not ready")],
)
def test_explain__what_is_no_driver(
    launcher: FakeLauncher, tmp_path: Path, driver: str, reason: str
) -> None:
    with pytest.raises(BeowireError, match=reason):
        explain(launcher, _asked(tmp_path / "out", driver), Interrupts())
    assert not (tmp_path / "out").exists()


def test_explain__a_driver_that_fails__says_why(launcher: FakeLauncher, tmp_path: Path) -> None:
    launcher.drivers["steady"] = {"fault": "die", "fault_run": 1}
    with pytest.raises(BeowireError, match="steady could not be measured: steady failed on"):
        explain(launcher, _asked(tmp_path), Interrupts())


def test_explain__trace_of_what_has_none(launcher: FakeLauncher, tmp_path: Path) -> None:
    with pytest.raises(BeowireError, match="Beowire's own drivers only, not with steady"):
        explain(launcher, _asked(tmp_path, trace=True), Interrupts())


def test_explain__a_record_is_not_overwritten(launcher: FakeLauncher, tmp_path: Path) -> None:
    (tmp_path / "record.jsonl").write_text("mine")
    with pytest.raises(BeowireError, match="is not overwritten"):
        explain(launcher, _asked(tmp_path), Interrupts())
    assert (tmp_path / "record.jsonl").read_text() == "mine"


def test_explain__between_hosts__a_trace_is_refused_before_anything_is_measured(
    tmp_path: Path,
) -> None:
    launcher = FakeLauncher(kind="hosts")
    with pytest.raises(BeowireError, match="needs both ends on this machine"):
        explain(launcher, _asked(tmp_path, "beowire", trace=True), Interrupts())
    assert launcher.processes == []


def test_explain__a_directory_that_cannot_be__is_said_before_anything_is_measured(
    launcher: FakeLauncher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BeowireError, match=r"cannot make .*/file/out: Not a directory"):
        explain(launcher, _asked(tmp_path / "file" / "out"), Interrupts())
    with pytest.raises(BeowireError, match="is there already: name another by --out"):
        explain(launcher, _asked(tmp_path, own_directory=True), Interrupts())
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(BeowireError, match=r"nothing can be written to .*: name another by --out"):
        explain(launcher, _asked(tmp_path / "read-only"), Interrupts())
    assert launcher.processes == []
    assert not (tmp_path / "read-only").exists()


def test_explain__that_fails__leaves_no_directory_but_the_users(
    launcher: FakeLauncher, tmp_path: Path
) -> None:
    for there in (False, True):
        out = tmp_path / str(there)
        if there:
            out.mkdir()
        with pytest.raises(BeowireError):
            explain(launcher, _asked(out, "nothing"), Interrupts())
        assert out.is_dir() is there
