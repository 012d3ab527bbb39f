# SPDX-License-Identifier: BSD-3-Clause
"""Files are written whole or not at all, and no link that somebody has planted is followed."""

import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from beowire import files
from beowire.errors import BeowireError
from beowire.record import Record, read_record
from beowire.report import write_report
from unit.evaluator import synthetic_record

ROOT = Path(__file__).resolve().parents[3]


def test_write_whole__has_the_content_and_the_mode(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        files.write_whole(tmp_path / "a", "text\n")
        files.write_whole(tmp_path / "b", b"bytes", mode=0o600)
    finally:
        os.umask(before)
    assert (tmp_path / "a").read_text() == "text\n"
    assert (tmp_path / "b").read_bytes() == b"bytes"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_write_whole__keeps_the_mode_of_what_it_replaces(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    path.chmod(0o604)
    files.write_whole(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


def test_write_whole__a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    link = tmp_path / "report.html"
    link.symlink_to(victim)
    files.write_whole(link, "report")
    assert victim.read_text() == "mine"
    assert not link.is_symlink() and link.read_text() == "report"


def test_write_whole__no_draft_can_be_foreseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If one could, it would neither be followed nor be written over."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    guessed = iter(["first", "second"])
    monkeypatch.setattr("secrets.token_hex", lambda _: next(guessed))
    (tmp_path / ".beowire-first").symlink_to(victim)
    files.write_whole(tmp_path / "a", "new")
    assert (victim.read_text(), (tmp_path / "a").read_text()) == ("mine", "new")


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), os.mkfifo])
def test_write_whole__what_is_no_file_is_refused(tmp_path: Path, make: object) -> None:
    path = tmp_path / "there"
    make(path)  # type: ignore[operator]
    before = path.lstat()
    with pytest.raises(OSError, match="no regular file"):
        files.write_whole(path, "new")
    assert path.lstat().st_ino == before.st_ino
    assert [one.name for one in tmp_path.iterdir()] == ["there"]


def test_write_report__the_draft_that_the_name_foretells_is_left_alone(tmp_path: Path) -> None:
    """As it was planted: a link of the name that drafts once had."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / f".report.html.{os.getpid()}").symlink_to(victim)
    record = _record(tmp_path)
    write_report([record], tmp_path / "report.html")
    assert victim.read_text() == "mine"
    assert (tmp_path / "report.html").stat().st_size > 1000


def test_write_report__a_device_stays_one(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(BeowireError, match="no regular file"):
        write_report([_record(tmp_path)], fifo)
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def _record(directory: Path) -> Record:
    lines = synthetic_record.lines(("tcp",), sizes=(8,))
    return read_record(synthetic_record.write(directory / "record.jsonl", lines))


FULL = """
import resource, sys
from pathlib import Path
from beowire import files
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    files.write_whole(Path(sys.argv[1]), "x" * 2000)
except OSError as error:
    print(error.strerror)
"""


def test_write_whole__no_room__what_was_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("before")
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1000
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "evaluator")},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "File too large\n"
    assert path.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


def test_make_directory__says_what_is_in_the_way(tmp_path: Path) -> None:
    made = tmp_path / "a" / "b"
    files.make_directory(made, new=True)
    files.make_directory(made, new=False)
    with pytest.raises(BeowireError, match="b is there already: name another by --out"):
        files.make_directory(made, new=True)
    with pytest.raises(BeowireError, match=r"^/dev/full is no directory: name another by --out"):
        files.make_directory(Path("/dev/full"), new=False)
    with pytest.raises(BeowireError, match=r"^cannot make /dev/full/a: Not a directory"):
        files.make_directory(Path("/dev/full/a"), new=False)
