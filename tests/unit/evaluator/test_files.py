# SPDX-License-Identifier: BSD-3-Clause
"""Files are written whole or not at all, whatever they are that a user names, and no link that
somebody has planted is followed."""

import ast
import errno
import os
import re
import resource
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from beowire import files
from beowire.errors import BeowireError
from beowire.record.reader import Record, read_record
from beowire.show.html import write_report
from unit.evaluator import synthetic_record

ROOT = Path(__file__).resolve().parents[3]


def test_write_whole__has_the_content_and_the_mode(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        files.write_whole(tmp_path / "a", "text\n")
        files.write_whole(tmp_path / "b", b"bytes", mode=0o600)
    finally:
        os.umask(before)
    files.write_whole(tmp_path / "c", "\udcff")  # what is no text, of a path
    assert (tmp_path / "c").read_text() == "\\udcff"
    (tmp_path / "c").unlink()
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
    with pytest.raises(OSError, match="not a regular file"):
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


@pytest.mark.parametrize("hops", [1, 3])
def test_write_named__a_link_stays_and_its_target_is_replaced(tmp_path: Path, hops: int) -> None:
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "target"
    target.write_text("before")
    target.chmod(0o640)
    before = target.stat()
    link = tmp_path / "link"
    link.symlink_to("there/target" if hops == 1 else "link2")
    for hop in range(2, hops + 1):
        (tmp_path / f"link{hop}").symlink_to(target if hop == hops else f"link{hop + 1}")
    files.write_named(link, "after")
    assert link.is_symlink() and target.read_text() == "after"
    after = target.stat()
    assert after.st_ino != before.st_ino and stat.S_IMODE(after.st_mode) == 0o640
    assert [one.name for one in target.parent.iterdir()] == ["target"]


def test_write_named__a_link_to_what_is_not_there_yet_makes_it(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to("there/new")
    files.write_named(link, "after")
    assert link.is_symlink() and (tmp_path / "there" / "new").read_text() == "after"
    (tmp_path / "lost").symlink_to("nowhere/new")
    with pytest.raises(
        BeowireError, match=r"lost: No such file or directory: make .*/nowhere first"
    ):
        files.write_named(tmp_path / "lost", "after")


def test_write_named__what_cannot_be_says_why_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "file").touch()
    for name, reason in (
        ("a", "Too many levels of symbolic links: name the file itself"),
        (".", "Is a directory: name a file in it"),
        ("none/file", f"No such file or directory: make {tmp_path}/none first"),
        ("file/file", "Not a directory"),
        ("x" * 300, "File name too long"),
    ):
        with pytest.raises(BeowireError) as caught:
            files.write_named(tmp_path / name, "after")
        assert str(caught.value) == f"cannot write {tmp_path / name}: {reason}"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a", "b", "file"]


def test_write_named__devices_are_written_to_and_stay(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(os.devnull)
    for path in (link, Path(os.devnull)):
        files.write_named(path, "gone")
    assert link.is_symlink() and Path(os.devnull).is_char_device()
    with pytest.raises(BeowireError, match=r"^cannot write /dev/full: No space left on device"):
        files.write_named(Path("/dev/full"), "gone")


def test_write_named__pipes_and_sockets_are_written_to(tmp_path: Path) -> None:
    text = "x" * 300_000  # more than a pipe holds
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(fifo.read_bytes()))
    reader.start()
    files.write_named(fifo, text)
    reader.join()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        server.listen()

        def serve() -> None:
            with server.accept()[0] as connection, connection.makefile("rb") as stream:
                found.append(stream.read())

        reader = threading.Thread(target=serve)
        reader.start()
        files.write_named(tmp_path / "socket", text)
        reader.join()
    assert found == [text.encode()] * 2


@pytest.mark.parametrize("name", ["/dev/fd/{}", "/proc/self/fd/{}", "link"])
def test_write_named__a_descriptor_keeps_its_place_in_the_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        (tmp_path / "link").symlink_to(f"/dev/fd/{descriptor}")
        named = tmp_path / name.format(descriptor)
        os.write(descriptor, b"before, ")
        with pytest.raises(BeowireError, match="Bad file descriptor: name a descriptor that is"):
            files.write_named(named, "not handed to us")
        os.set_inheritable(descriptor, True)
        files.write_named(named, "after")
        os.write(descriptor, b", and so on")
    finally:
        os.close(descriptor)
    assert path.read_text() == "before, after, and so on"
    with pytest.raises(BeowireError, match="Bad file descriptor: name a descriptor that is"):
        files.write_named(named, "closed")


def test_write_named__a_pipe_that_does_not_block_gets_all(tmp_path: Path) -> None:
    ends = os.pipe()
    os.set_blocking(ends[1], False)
    os.set_inheritable(ends[1], True)
    found: list[bytes] = []

    def read() -> None:
        with os.fdopen(ends[0], "rb") as stream:
            found.append(stream.read())

    reader = threading.Thread(target=read)
    reader.start()
    files.write_named(Path(f"/dev/fd/{ends[1]}"), "x" * 300_000)
    os.close(ends[1])
    reader.join()
    assert found == [b"x" * 300_000]


@pytest.mark.parametrize(
    "error", [errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS], ids=errno.errorcode.get
)
def test_write_named__where_no_rename_can_be_the_file_is_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    path = tmp_path / "file"
    path.write_text("a longer text than the next")
    before = path.stat().st_ino

    def refuse(_draft: Path, _target: Path) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(Path, "replace", refuse)
    files.write_named(path, "after")
    assert (path.read_text(), path.stat().st_ino) == ("after", before)
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_write_named__a_file_of_two_names_keeps_both(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("a longer text than the next")
    os.link(tmp_path / "one", tmp_path / "two")
    files.write_named(tmp_path / "one", "after")
    assert (tmp_path / "two").read_text() == "after"


def test_write_named__a_file_keeps_its_access_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("a longer text than the next")
    before = path.stat().st_ino
    monkeypatch.setattr(os, "listxattr", lambda _: ["system.posix_acl_access"])
    files.write_named(path, "after")
    assert (path.read_text(), path.stat().st_ino) == ("after", before)


def test_write_named__descriptors_of_another_process(tmp_path: Path) -> None:
    with (tmp_path / "gone").open("w", encoding="utf-8") as gone:
        (tmp_path / "gone").unlink()
        process = subprocess.Popen(
            ["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=gone
        )
    its = Path(f"/proc/{process.pid}/fd")
    files.refuse_unwritable(its / "0")
    files.write_named(its / "0", "to a pipe")
    with pytest.raises(BeowireError, match="it leads to a deleted file: name another"):
        files.write_named(its / "2", "to a file that is gone")
    assert process.communicate(timeout=60)[0] == b"to a pipe"


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root: files of another user")
def test_write_named__the_owner_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    path.chmod(0o640)
    os.chown(path, 12345, 23456)
    files.write_named(path, "after")
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (12345, 23456, 0o640)


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root: links of another user")
def test_write_beside__another_users_link_is_refused(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    link = tmp_path / "report.html"
    link.symlink_to(victim)
    files.write_beside(link, "ours")
    assert victim.read_text() == "ours"
    os.lchown(link, 12345, 23456)
    with pytest.raises(BeowireError, match=r"report\.html is another user's symbolic link: remove"):
        files.write_beside(link, "again")
    assert victim.read_text() == "ours"


FULL_DISK = """
set -e
mount -t tmpfs -o size=64k none "$1"
printf before >"$1/file"
mkdir "$1/bound"
printf before >"$1/bound/file"
ln -s file "$1/link"
mount --bind "$1/bound/file" "$1/bound/file"
"$2" -c "$3" "$1"
cat "$1/file" "$1/bound/file"
find "$1" | sort
"""

WRITES = """
import sys
from pathlib import Path
from beowire import files
from beowire.errors import BeowireError
for name in ("file", "link", "bound/file", "new"):
    try:
        files.write_named(Path(sys.argv[1], name), "x" * 100_000)
    except BeowireError as error:
        print(error)
"""


def test_write_named__a_full_disk_costs_nothing(tmp_path: Path) -> None:
    alone = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", FULL_DISK, "sh"]
    done = subprocess.run(
        [*alone, str(tmp_path), sys.executable, WRITES],
        env={**os.environ, "PYTHONPATH": str(ROOT / "evaluator")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    reason = "No space left on device: make room, or name a file elsewhere"
    names = ("file", "link", "bound/file", "new")
    said = [f"cannot write {tmp_path / name}: {reason}" for name in names]
    there = [tmp_path / name for name in (".", "bound", "bound/file", "file", "link")]
    assert done.stdout.splitlines() == [*said, f"beforebefore{there[0]}", *map(str, there[1:])]
    assert (done.returncode, done.stderr) == (0, "")


def test_refuse_unwritable__before_a_measurement(tmp_path: Path) -> None:
    for path in (tmp_path / "new", tmp_path / "none" / "new", Path(os.devnull)):
        files.refuse_unwritable(path)
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(BeowireError, match=r"link: Is a directory: name a file in it"):
        files.refuse_unwritable(tmp_path / "link")
    assert [one.name for one in tmp_path.iterdir()] == ["link"]


READ_ONLY = """
mount -t tmpfs none "$1"; echo before >"$1/file"; mount -o remount,ro "$1"; exec "$2" -c "$3" "$1"
"""
ASKS = """
import sys
from pathlib import Path
from beowire import files
from beowire.errors import BeowireError
for ask in (files.refuse_unwritable, lambda path: files.write_named(path, "new")):
    for name in ("file", "new"):
        try:
            ask(Path(sys.argv[1], name))
        except BeowireError as error:
            print(error)
"""


def test_refuse_unwritable__a_disk_that_is_read_only__also_as_root(tmp_path: Path) -> None:
    alone = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", READ_ONLY, "sh"]
    done = subprocess.run(
        [*alone, str(tmp_path), sys.executable, ASKS],
        env={**os.environ, "PYTHONPATH": str(ROOT / "evaluator")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    reason = "Read-only file system: name a file elsewhere"
    said = [f"cannot write {tmp_path / name}: {reason}" for name in ("file", "new")]
    assert (done.stdout.splitlines(), done.stderr) == ([*said, *said], "")


def test_refuse_records__by_whatever_name(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    record.touch()
    (tmp_path / "link").symlink_to(record)
    os.link(record, tmp_path / "hard")
    for name in ("record.jsonl", "link", "hard"):
        with pytest.raises(BeowireError, match=f"{name} is the record itself: name another file"):
            files.refuse_records(tmp_path / name, [record])
    files.refuse_records(tmp_path / "other", [record])


#: What writes files of our own, by another way than this module or by write_whole(), and why.
OWN_FILES = {
    "apps/npb.py": "a copy of sources in a scratch directory",
    "apps/programs.py": "the input of a program, in a scratch directory",
    "files.py": "what all others use",
    "places/lab/congestion.py": "a setting of the kernel",
    "places/lab/kernel.py": "settings of the kernel",
    "places/lab/keeper.py": "a setting of the kernel",
    "places/lab/machines/agent.py": "a setting of the kernel",
    "places/lab/machines/initramfs.py": "a memory file",
    "places/mpi/in_lab.py": "a script in a scratch directory",
    "places/lab/pvm.py": "scripts in a scratch directory",
    "places/lab/state.py": "the state of a lab, in a directory of ours",
    "places/mpi/places.py": "scripts in a scratch directory",
    "predict/run.py": "platforms in a scratch directory",
    "record/writer.py": "a record grows line by line, and is never an existing file",
    "reproduce/steps.py": "the plan, in a directory that we have just made",
}


def test_no_command_writes_a_file_by_another_way() -> None:
    package = ROOT / "evaluator" / "beowire"
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if any(_writes(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found == set(OWN_FILES), "write what a user names with files.write_named()"


MODE = r"r?b?\+b?|[wax]b?t?\+?b?t?"


def _writes(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "O_CREAT":
            yield node
        elif isinstance(node, ast.ImportFrom | ast.Name):
            names = [one.name for one in node.names] if isinstance(node, ast.ImportFrom) else []
            if {"write_whole", "copyfile", "copy2"} & {*names, getattr(node, "id", "")}:
                yield node
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            texts = [one.value for one in node.args if isinstance(one, ast.Constant)]
            modes = [one for one in texts if isinstance(one, str) and re.fullmatch(MODE, one)]
            if (modes and name in ("open", "fdopen")) or name in (
                "write_text",
                "write_bytes",
                "write_whole",
                "copyfile",
            ):
                yield node


def test_writes__sees_every_way() -> None:
    for text in ("open(a, 'w')", "p.open('ab')", "p.write_text(b)", "files.write_whole(p, b)"):
        assert any(_writes(ast.parse(text))), text
    for text in ("open(a)", "p.open('rb')", "files.write_named(p, b)", "session.open(1)"):
        assert not any(_writes(ast.parse(text))), text
