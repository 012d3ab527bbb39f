# SPDX-License-Identifier: BSD-3-Clause
"""`beowire report` from outside: where it writes, what it says, how it ends."""

import contextlib
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from beowire import isolated
from beowire.commands import report
from beowire.errors import BeowireError
from unit.evaluator import synthetic_record
from unit.evaluator.apps_records import launches, meta, written

#: The command alone, so that this test needs no other command to work.
APP = typer.Typer(rich_markup_mode=None)
APP.callback()(lambda: None)
report.register(APP)


@dataclass(frozen=True)
class Answer:
    returncode: int
    stdout: str
    stderr: str


def beowire(*arguments: str | Path, cwd: Path) -> Answer:
    with contextlib.chdir(cwd):
        done = CliRunner().invoke(APP, [str(word) for word in arguments])
    error = done.exception
    if isinstance(error, BeowireError):
        return Answer(error.exit_code, done.stdout, f"{done.stderr}beowire: {error}\n")
    assert error is None or isinstance(error, SystemExit)
    return Answer(done.exit_code, done.stdout, done.stderr)


@pytest.fixture
def record(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    lines = synthetic_record.lines(("tcp",), sizes=(8,))
    return synthetic_record.write(tmp_path / "run" / "record.jsonl", lines)


def test_report__no_output_named__is_beside_the_record(record: Path, tmp_path: Path) -> None:
    answer = beowire("report", "run/record.jsonl", cwd=tmp_path)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout == "run/report.html\n"
    assert (tmp_path / "run" / "report.html").stat().st_size > 10_000


def test_report__directory_of_a_run__is_as_good_as_its_record(record: Path, tmp_path: Path) -> None:
    answer = beowire("report", record.parent, cwd=tmp_path)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert (record.parent / "report.html").stat().st_size > 10_000


def test_report__output_named__gives_the_same_bytes_again(record: Path, tmp_path: Path) -> None:
    for name in ("one.html", "two.html"):
        assert beowire("report", record, "-o", name, cwd=tmp_path).returncode == 0
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_report__record_cut_short__warns_and_goes_on(record: Path, tmp_path: Path) -> None:
    record.write_bytes(record.read_bytes()[:-9])
    answer = beowire("report", record, cwd=tmp_path)
    assert answer.returncode == 0
    assert f"beowire: {record}: cut short in line" in answer.stderr


@pytest.mark.parametrize("content", [None, b"", b"no record\n", b'{"type":"meta","schema":9}\n'])
def test_report__no_good_record__is_one_line_and_exit_2(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "record.jsonl"
    if content is not None:
        path.write_bytes(content)
    answer = beowire("report", path, cwd=tmp_path)
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert len(answer.stderr.splitlines()) == 1
    assert str(path) in answer.stderr
    assert not (tmp_path / "report.html").exists()


def test_report__several_records__are_one_report(record: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    lines = synthetic_record.lines(("tcp",), sizes=(8,), seed=2)
    other = synthetic_record.write(tmp_path / "other" / "record.jsonl", lines)
    answer = beowire("report", record, other, "-o", "both.html", cwd=tmp_path)
    assert answer.returncode == 0
    assert "tcp · other" in (tmp_path / "both.html").read_text()


def test_report__drivers_named__has_these_alone(tmp_path: Path) -> None:
    lines = synthetic_record.lines(("beowire", "tcp", "tcp-spin", "shm"), sizes=(8,))
    synthetic_record.write(tmp_path / "record.jsonl", lines)
    answer = beowire("report", "record.jsonl", "--drivers", "beowire, sockets", cwd=tmp_path)
    assert (answer.returncode, answer.stderr) == (0, "")
    page = (tmp_path / "report.html").read_text()
    found = {name for name in ("beowire", "tcp", "tcp-spin", "shm") if f">{name}</td>" in page}
    assert found == {"beowire", "tcp", "tcp-spin"}
    answer = beowire("report", "record.jsonl", "--drivers", "beowire,udp", cwd=tmp_path)
    assert answer.returncode == 2
    assert "no 'udp' in the record: it has beowire, tcp, tcp-spin, shm" in answer.stderr


def test_report__no_record_named__is_refused(tmp_path: Path) -> None:
    assert beowire("report", cwd=tmp_path).returncode == 2


def test_programs__have_a_report_of_their_own(tmp_path: Path) -> None:
    lines = [*launches("cg", "tcp", [1.0]), *launches("cg", "beowire", [2.0])]
    written(tmp_path / "record.jsonl", meta("cg"), *lines)
    done = beowire("report", tmp_path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no `end` line" in done.stderr
    assert "Speedup over TCP" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_programs__only_one_record(tmp_path: Path) -> None:
    written(tmp_path / "record.jsonl", meta("cg"))
    done = beowire("report", tmp_path, tmp_path, cwd=tmp_path)
    assert done.returncode == 2
    assert "takes one record" in done.stderr


def test_report__text__prints_the_tables_and_writes_nothing(record: Path, tmp_path: Path) -> None:
    answer = beowire("report", "--text", "run", cwd=tmp_path)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith("node0")
    assert "Half round trip in µs" in answer.stdout
    assert not (tmp_path / "run" / "report.html").exists()
    answer = beowire("report", "--text", "run", "-o", "a.html", cwd=tmp_path)
    assert answer.returncode == 0
    assert (tmp_path / "a.html").exists()
    answer = beowire("report", "--text", "--csv", "-", "run", cwd=tmp_path)
    assert "--csv - and --text print different things" in answer.stderr


def test_report__text_of_several__compares_them(record: Path, tmp_path: Path) -> None:
    (tmp_path / "later").mkdir()
    lines = synthetic_record.lines(("tcp",), sizes=(8,), seed=3)
    synthetic_record.write(tmp_path / "later" / "record.jsonl", lines)
    answer = beowire("report", "--text", "run", "later", cwd=tmp_path)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "Half round trip, compared" in answer.stdout
    rows = [line for line in answer.stdout.splitlines() if line.split()[:3] == ["tcp", "8", "B"]]
    assert rows and all(len(row.split()) >= 8 for row in rows)


#: What writes a file that the user names.
NAMED = ("--csv", "--prometheus", "--junit", "--output")


def test_report__what_is_named_is_written_as_a_shell_would(record: Path, tmp_path: Path) -> None:
    rule = '[[rule]]\ndriver = "tcp"\nsizes = "8"\nat_most = "1s"\n'
    (tmp_path / "rules").write_text(rule, encoding="utf-8")
    links: list[str | Path] = []
    pipes: list[str | Path] = []
    for option in NAMED:
        target, link = tmp_path / f"target{option}", tmp_path / f"link{option}"
        target.write_text("before", encoding="utf-8")
        target.chmod(0o640)
        link.symlink_to(target.name)
        links += [option, link]
        os.mkfifo(tmp_path / f"pipe{option}")
        pipes += [option, tmp_path / f"pipe{option}"]
    assert "cannot write" not in beowire(*WORDS, record, *links, cwd=tmp_path).stderr
    with ThreadPoolExecutor(len(NAMED)) as readers:
        reading = [readers.submit((tmp_path / f"pipe{option}").read_text) for option in NAMED]
        beowire(*WORDS, record, *pipes, cwd=tmp_path)
        for option, read in zip(NAMED, reading, strict=True):
            target, link = tmp_path / f"target{option}", tmp_path / f"link{option}"
            assert target.read_text(encoding="utf-8") == read.result() != "before"
            assert link.is_symlink() and target.stat().st_mode & 0o777 == 0o640
    assert not list(tmp_path.rglob(".beowire-*"))


WORDS = ("report", "--rules", "rules")


def test_report__what_cannot_be_written_is_one_line(record: Path, tmp_path: Path) -> None:
    full = beowire("report", record, "--csv", "/dev/full", cwd=tmp_path)
    reason = "No space left on device: make room, or name a file elsewhere"
    assert (full.returncode, full.stdout) == (1, "")
    assert full.stderr == f"beowire: cannot write /dev/full: {reason}\n"
    refused = beowire("report", record, "--prometheus", record, cwd=tmp_path)
    assert f"{record} is the record itself: name another file" in refused.stderr
    early = beowire("report", record, "--csv", tmp_path, cwd=tmp_path)
    assert (early.returncode, early.stdout) == (2, "")
    assert early.stderr == f"beowire: cannot write {tmp_path}: Is a directory: name a file in it\n"


def test_report__standard_output_by_its_name_is_for_nothing_else(
    record: Path, tmp_path: Path
) -> None:
    def printed(*words: str | Path) -> str:
        line = [*isolated.command("beowire"), "report", record, *words]
        return subprocess.run(
            line, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True, timeout=60
        ).stdout

    wanted = printed("--csv", "-")
    assert wanted.startswith("driver,")
    assert printed("--csv", "/dev/stdout") == wanted
    (tmp_path / "link").symlink_to("/dev/stdout")
    page = printed("--output", "link")
    assert page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n")


def test_report__inputs_that_are_none__one_line(record: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in ("fifo", "/dev/zero"):
        answer = beowire("report", path, cwd=tmp_path)
        assert (answer.returncode, answer.stdout) == (2, "")
        assert answer.stderr == (
            f"beowire: {path} is a device or a pipe: a record is read from a file\n"
        )
    (tmp_path / "rules").write_text("[[rule]]\n", encoding="utf-8")
    answer = beowire(*WORDS, record, "--junit", "rules", cwd=tmp_path)
    assert answer.stderr == "beowire: rules is the file of rules itself: name another file\n"
    assert (tmp_path / "rules").read_text(encoding="utf-8") == "[[rule]]\n"
