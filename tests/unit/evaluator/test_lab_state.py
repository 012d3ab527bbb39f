# SPDX-License-Identifier: BSD-3-Clause
"""State files: what is written is read, what is not one is no lab, and nobody else's is trusted."""

import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.places.lab import processes, state
from beowire.places.lab.options import LabOptions
from beowire.places.lab.processes import Namespaces, Process
from beowire.places.lab.state import LabFiles, LabNode, LabState


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "runtime"
    monkeypatch.setenv("BEOWIRE_RUNTIME_DIR", str(directory))
    return directory


def lab(name: str = "lab") -> LabState:
    here = processes.this_process()
    node = LabNode("node0", here, Namespaces(1, 2), "10.77.0.1", "", "02:be:0e:00:00:01", None)
    return LabState(
        name=name,
        keeper=here,
        boot_id=processes.boot_id(),
        ephemeral=True,
        options=LabOptions(loss=0.01),
        nodes=(node, replace(node, name="node1", cpu=1)),
        switch=replace(node, name="switch"),
        delay_by="",
        congestion_control="cubic",
    )


def test_files__what_is_written_is_read() -> None:
    files = LabFiles.of("lab")
    assert files.read() is None
    files.write(lab())
    assert files.read() == lab()
    assert state.names() == ["lab"]
    files.remove()
    assert state.names() == []


def test_from_json__of_a_lab_that_did_not_say_its_congestion_control() -> None:
    data = json.loads(lab().to_json())
    del data["congestion_control"], data["options"]["congestion"]
    assert LabState.from_json(json.dumps(data)) == replace(lab(), congestion_control="")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"schema": 1}', '{"schema": 2, "name": "lab"}']
)
def test_files__nonsense_is_no_lab(text: str) -> None:
    files = LabFiles.of("lab")
    files.state.write_text(text, encoding="utf-8")
    assert files.read() is None


def test_from_json__another_version(runtime: Path) -> None:
    data = json.loads(lab().to_json())
    data["schema"] += 1
    with pytest.raises(ValueError, match="another version"):
        LabState.from_json(json.dumps(data))


def test_alive__needs_this_boot_and_this_very_process() -> None:
    living = lab()
    assert living.alive()
    assert not replace(living, boot_id="another").alive()
    keeper = Process(living.keeper.pid, living.keeper.start_time + 1)
    assert not replace(living, keeper=keeper).alive()


@pytest.mark.parametrize("name", ["", "a/b", "..", ".x", "a b", "x" * 33, "é", "a\n", "\udcff"])
def test_files__names_that_cannot_be(name: str) -> None:
    for use in (LabFiles.of, state.making):
        with pytest.raises(BeowireError, match="no lab can be named"):
            use(name)


def test_runtime_directory__is_made_for_this_user_only(runtime: Path) -> None:
    assert state.runtime_directory() == runtime
    assert runtime.stat().st_mode & 0o777 == 0o700


def test_runtime_directory__a_link_is_refused(runtime: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    runtime.symlink_to(elsewhere)
    with pytest.raises(BeowireError, match="remove it"):
        state.runtime_directory()


def test_runtime_directory__says_what_would_mend_it(runtime: Path) -> None:
    runtime.mkdir(mode=0o755)
    with pytest.raises(
        BeowireError, match=f"others can enter {runtime}: run `chmod 700 {runtime}`"
    ):
        state.runtime_directory()
    runtime.chmod(0o700)
    assert state.runtime_directory() == runtime


@pytest.mark.skipif(os.geteuid() != 0, reason="gives directories to another user")
def test_runtime_directory__names_that_others_have_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that everybody can take, and then one that only we know, found again."""
    user = os.geteuid()
    monkeypatch.delenv("BEOWIRE_RUNTIME_DIR")
    monkeypatch.setattr(state, "_EVERYBODYS", str(tmp_path))
    monkeypatch.setattr("os.access", lambda *_: False)  # neither /run nor /run/user/UID
    named = tmp_path / f"beowire-{user}"
    for path in (named, tmp_path / f"{named.name}.theirs"):
        path.mkdir()
        os.chown(path, 65534, 65534)
    first = state.runtime_directory()
    assert first.parent == tmp_path
    assert first.name.startswith(f"{named.name}.")
    assert (first.stat().st_uid, first.stat().st_mode & 0o777) == (user, 0o700)
    assert state.runtime_directory() == first
    line = f"beowire: {named} is another user's: labs are kept in {first}\n"
    assert capsys.readouterr().err == line
    monkeypatch.setattr("os.access", lambda path, _: path == str(tmp_path / "run"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    (tmp_path / "run").mkdir()
    assert state.runtime_directory() == tmp_path / "run" / "beowire"


def test_making__labs_of_other_names_go_on_meanwhile() -> None:
    assert not state.is_one_being_made()
    with state.making("one"):
        assert state.is_one_being_made()
        with state.making("other"), state.lock():
            pass
        entered = threading.Event()

        def make_the_same() -> None:
            with state.making("one"):
                entered.set()

        waiting = threading.Thread(target=make_the_same)
        waiting.start()
        assert not entered.wait(0.05)
    assert entered.wait(30.0)
    waiting.join()
    with state.none_being_made():
        pass
    assert not state.is_one_being_made()
