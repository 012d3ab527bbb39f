# SPDX-License-Identifier: BSD-3-Clause
"""`beowire pvm-env`: what it prints."""

import json
import subprocess
from pathlib import Path

import pytest

from beowire import paths
from beowire.commands import pvm_env
from beowire.errors import BeowireError
from beowire.setup.pieces import PVM_EXPORTED


@pytest.fixture(name="library")
def put_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An engine's directory with a library whose name a shell has to quote."""
    engine = tmp_path / "an 'engine'"
    (engine / "pvm").mkdir(parents=True)
    (engine / "beowire-engine").touch()
    library = engine / "pvm" / "libbeowire-pvm.so"
    library.touch()
    monkeypatch.setenv("BEOWIRE_ENGINE_DIR", str(engine))
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.delenv("PVM_EXPORT", raising=False)
    return library


def test_plain__a_shell_can_read_it(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pvm_env.pvm_env()
    script = capsys.readouterr().out + 'printf "%s %s" "$LD_PRELOAD" "$PVM_EXPORT"'
    script += "; unset LD_PRELOAD"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"{library} {':'.join(['LD_PRELOAD', *PVM_EXPORTED])}"


def test_words__for_env(
    library: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BeowireError, match="has a space in it"):
        pvm_env.pvm_env(words=True)
    plain = library.parents[2] / "plain"
    library.parents[1].rename(plain)
    monkeypatch.setenv("BEOWIRE_ENGINE_DIR", str(plain))
    pvm_env.pvm_env(words=True)
    names = [word.partition("=")[0] for word in capsys.readouterr().out.split()]
    assert names == ["LD_PRELOAD", "PVM_EXPORT"]


def test_library_path__is_searched_before_all_others(
    library: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/mine::/its")
    pvm_env.pvm_env(as_json=True, library_path=True)
    found = json.loads(capsys.readouterr().out)["variables"]
    assert found["LD_LIBRARY_PATH"] == f"{library.parent / 'drop-in'}:/mine:/its"
    assert found["PVM_EXPORT"].startswith("LD_LIBRARY_PATH:")
    assert "LD_PRELOAD" not in found


def test_system__what_root_types_and_what_takes_it_back(
    library: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(BeowireError, match="name it alone"):
        pvm_env.pvm_env(words=True, system=True)
    pvm_env.pvm_env(system=True)
    do, undo = capsys.readouterr().out.splitlines()
    file = tmp_path / "loader.conf"
    assert "/etc/ld.so.conf.d/00-beowire-pvm.conf && ldconfig" in do and undo.startswith("# ")
    echo = do.partition(" >")[0]
    subprocess.run(["bash", "-c", f"{echo} >{file}"], check=True)
    assert file.read_text() == f"{library.parent / 'drop-in'}\n"


def test_json(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pvm_env.pvm_env(as_json=True)
    said = json.loads(capsys.readouterr().out)
    assert said["library"] == str(library)
    assert said["variables"]["LD_PRELOAD"] == str(library)


def test_variables__keep_what_was_there_and_say_nothing_twice() -> None:
    library = Path("/x/libbeowire-pvm.so")
    before = {"LD_PRELOAD": "/a.so /b.so", "PVM_EXPORT": "DISPLAY"}
    once = pvm_env.variables(library, before)
    assert once["LD_PRELOAD"] == "/x/libbeowire-pvm.so:/a.so:/b.so"
    assert once["PVM_EXPORT"].startswith("DISPLAY:LD_PRELOAD:")
    assert pvm_env.variables(library, once) == once


def test_not_built__says_what_is_missing(library: Path) -> None:
    library.unlink()
    with pytest.raises(BeowireError, match="pvm-dev"):
        paths.pvm_library()
