# SPDX-License-Identifier: BSD-3-Clause
"""The copy on a host, by the scripts as its shell runs them. (test_ssh.py does it by sshd.)"""

import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from beowire.launch.cache import RemoteCache

FILES = {"beowire-engine": b"engine", "drivers/a.so": b"a", "drivers/b-2.so": b"b"}
CACHE = RemoteCache("0123abcd", FILES)


def archive() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, data in FILES.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o700
            tar.addfile(entry, io.BytesIO(data))
    return content.getvalue()


def run(home: Path, script: str) -> "subprocess.CompletedProcess[bytes]":
    assert "'" not in script and "\n" not in script and "!" not in script
    return subprocess.run(
        ["sh", "-c", script],
        env={**os.environ, "HOME": str(home)},
        input=archive(),
        capture_output=True,
        check=False,
        timeout=60,
    )


def test_fill__what_is_missing_or_damaged(tmp_path: Path) -> None:
    copy = tmp_path / ".cache" / "beowire" / "0123abcd"
    for damage in ("true", ":>beowire-engine", "touch drivers/c.so", "rm -r drivers", "chmod -x *"):
        subprocess.run(["sh", "-c", damage], cwd=copy if copy.exists() else tmp_path, check=True)
        assert damage == "true" or run(tmp_path, CACHE.look()).stdout == b"wrong\n", damage
        done = run(tmp_path, CACHE.fill())
        assert (done.returncode, done.stderr) == (0, b""), damage
        assert run(tmp_path, CACHE.look()).stdout == b"right\n"
        found = {str(one.relative_to(copy)): one for one in copy.rglob("*") if one.is_file()}
        assert {name: path.read_bytes() for name, path in found.items()} == FILES
        assert [one.name for one in copy.parent.iterdir()] == ["0123abcd"]


def test_fill__over_a_good_copy__lets_its_files_be(tmp_path: Path) -> None:
    assert run(tmp_path, CACHE.fill()).returncode == 0
    engine = tmp_path / ".cache" / "beowire" / "0123abcd" / "beowire-engine"
    before = engine.stat().st_ino
    assert run(tmp_path, CACHE.fill()).returncode == 0
    assert engine.stat().st_ino == before


@pytest.mark.parametrize("where", ["", "0123abcd", "0123abcd/drivers"])
def test_look__a_directory_that_others_can_write(tmp_path: Path, where: str) -> None:
    assert run(tmp_path, CACHE.fill()).returncode == 0
    directory = tmp_path / ".cache" / "beowire" / where
    directory.chmod(0o777)
    for script in (CACHE.look(), CACHE.fill()):
        done = run(tmp_path, script)
        assert done.returncode == 1
        assert done.stderr.decode().rstrip("\n").endswith("others can write to it: remove it")
        assert done.stderr.count(b"\n") == 1


def test_init__names_that_a_shell_would_read() -> None:
    with pytest.raises(ValueError, match="cannot stand in a script"):
        RemoteCache("a", {"drivers/$(reboot).so": b""})
