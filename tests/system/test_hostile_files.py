# SPDX-License-Identifier: BSD-3-Clause
"""Files that somebody else has written, opened by the whole program: whatever bytes they are, it
ends soon, with what it can show or with one line and status 2, and nothing of them reaches a
terminal as a control sequence."""

import contextlib
import copy
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from beowire import cli, isolated
from unit.evaluator import apps_records, synthetic_record

#: Longer than any of these takes on a busy machine; what hangs does for ever.
PATIENCE_S = 60

ESC = "\x1b[31m"

COMMANDS = (
    ("report", "{}", "-o", "{out}/page.html", "--csv", "{out}/csv", "--prometheus", "{out}/prom"),
    ("report", "{}", "--text"),
    ("diff", "{}", "{}"),
    ("report", "{good}", "--text", "--rules", "{}"),
    ("tune", "--check", "{}"),
)


def lines_of_comparison() -> list[dict[str, Any]]:
    """A record of `beowire compare`."""
    lines = synthetic_record.lines(
        ("tcp", "beowire"), sizes=(8, 4096), patterns=("pingpong",), samples=50
    )
    return [json.loads(line.model_dump_json(by_alias=True)) for line in lines]


def lines_of_programs() -> list[dict[str, Any]]:
    """A record of `beowire apps`."""
    lines = [
        apps_records.meta("ft"),
        *apps_records.launches("ft", "tcp", [1.0, 1.1]),
        *apps_records.launches("ft", "beowire", [1.2, 1.3]),
        apps_records.profile("ft", "beowire"),
    ]
    return [json.loads(line.model_dump_json(by_alias=True)) for line in lines]


def text_of(lines: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def spoiled(change: Callable[[dict[str, Any]], None], at: int = 0) -> bytes:
    lines = lines_of_comparison()
    change(lines[at])
    return text_of(lines)


GOOD = text_of(lines_of_comparison())

CORPUS: dict[str, bytes] = {
    "empty": b"",
    "zeros": bytes(1 << 20),
    "no JSON": b"\xff\xfe\x00{",
    "a list": b"[]\n",
    "nested": b"[" * 200_000 + b"\n",
    "nested member": spoiled(lambda meta: meta.update(options=0)).replace(
        b'"options": 0', b'"options": ' + b"[" * 100_000
    ),
    "text for a number": spoiled(lambda line: line.update(size="x"), 1),
    "text for options": spoiled(
        lambda meta: meta["options"].update(dict.fromkeys(meta["options"], "x"))
    ),
    "a list for options": spoiled(
        lambda meta: meta["options"].update({key: [[]] for key in meta["options"]})
    ),
    "digits": spoiled(lambda line: line.update(size=0), 1).replace(
        b'"size": 0', b'"size": ' + b"9" * 10_000
    ),
    "NaN": spoiled(lambda line: line.update(n=float("nan")), 1),
    "escapes": spoiled(lambda line: line.update(driver=f"{ESC}tcp", status=f"{ESC}bad"), 1),
    "no text": spoiled(lambda line: line.update(driver="\ud800"), 1),
    "a long line": b'{"type": "meta", "x": "' + b"x" * (65 << 20) + b'"}\n',
    "programs: text for options": text_of(
        [
            {**lines_of_programs()[0], "options": {"class": ESC, "ranks": "x", "cores": "y"}},
            *lines_of_programs()[1:],
        ]
    ),
    "rules: escapes": f'[[rule]]\ndriver = "{ESC}"\nat_most = "1us"\n'.encode(),
    "rules: nested": b"a = " + b"[" * 100_000,
    "rules: digits": b'[[rule]]\ndriver = "tcp"\nat_most = "' + b"9" * 9000 + b'us"\nsizes = "'
    + b"9" * 9000 + b'"\n',
    "rules: a number": b"[[rule]]\ndriver = " + b"9" * 9000 + b"\n",
}  # fmt: skip


def assert_honest(status: int, output: str, errors: str) -> None:
    """`diff` ends with 2 also where it cannot tell, then without a line of its own."""
    assert "Traceback" not in errors
    assert status in (0, 1, 2), (status, errors)
    assert "\x1b" not in output + errors
    lines = errors.splitlines()
    assert all(line.startswith("beowire: ") for line in lines), errors
    assert status != 2 or lines or output


def opened(words: tuple[str, ...], path: Path, directory: Path) -> list[str]:
    good = directory / "good.jsonl"
    if not good.exists():
        good.write_bytes(GOOD)
    return [word.format(path, good=good, out=directory) for word in words]


def run_beowire(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*isolated.command("beowire"), *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=PATIENCE_S,
        check=False,
    )


def run_within(words: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    """The program in this process, for it takes half a second to start one."""
    output, errors = io.StringIO(), io.StringIO()
    status = 0
    with monkeypatch.context() as patch:
        patch.setattr(sys, "argv", ["beowire", *words])
        patch.setattr(cli, "_let_go_of_output", lambda: None)
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            try:
                cli.main()
            except SystemExit as end:
                status = int(end.code or 0)
    return status, output.getvalue(), errors.getvalue()


@pytest.mark.parametrize("name", CORPUS)
def test_corpus__one_line_and_status_2(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "record.jsonl"
    path.write_bytes(CORPUS[name])
    for words in COMMANDS:
        assert_honest(*run_within(opened(words, path, tmp_path), monkeypatch))
        for file in ("csv", "prom"):
            if (tmp_path / file).exists():
                assert b"\x1b" not in (tmp_path / file).read_bytes()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nested", "is no Beowire record: line 1 is not JSON"),
        ("text for a number", "line 2: size"),
        ("programs: text for options", ""),
        ("a long line", "line 1 is longer than 64 MiB"),
    ],
)
def test_report__of_a_broken_record(name: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    path.write_bytes(CORPUS[name])
    done = run_beowire("report", str(path), "--text")
    assert_honest(done.returncode, done.stdout, done.stderr)
    assert said in done.stderr
    assert not said or (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize("words", [COMMANDS[0], COMMANDS[2], COMMANDS[3], COMMANDS[4]])
def test_all__a_pipe_that_nobody_writes_to_is_not_waited_for(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = run_beowire(*opened(words, pipe, tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("beowire: ")


def bytes_read() -> int:
    """By all read() of this process."""
    return int(Path("/proc/self/io").read_text(encoding="ascii").split()[1])


@pytest.mark.parametrize("begins", [b"", GOOD.splitlines(keepends=True)[0]])
def test_all__gigabytes_of_zeros_are_not_read(
    begins: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sparse"
    path.write_bytes(begins)
    os.truncate(path, 2 << 30)
    before = bytes_read()
    for words in (COMMANDS[1], COMMANDS[3], COMMANDS[4]):
        status, _, errors = run_within(opened(words, path, tmp_path), monkeypatch)
        assert (status, errors.count("\n")) == (2, 1), errors
    assert bytes_read() - before < 512 << 20


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_report__of_whatever_bytes(
    data: st.DataObject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A good record, of which a value is another, or bytes are."""
    lines = data.draw(st.sampled_from([lines_of_comparison, lines_of_programs]))()
    if data.draw(st.booleans()):
        _change(lines[data.draw(st.integers(0, len(lines) - 1))], data)
    content = bytearray(text_of(lines))
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path = tmp_path / "record.jsonl"
    path.write_bytes(content[: data.draw(st.integers(len(content) - 50, len(content)))])
    words = data.draw(st.sampled_from([*COMMANDS[1:3], ("report", "{}", "--text", "--csv", "-")]))
    assert_honest(*run_within(opened(words, path, tmp_path), monkeypatch))


def _change(value: Any, data: st.DataObject) -> None:
    """Another value somewhere in it."""
    odd = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**40), 10**40),
        st.floats(),
        st.sampled_from(["", "x", ESC, "\ud800", [], {}, [[1]], "9" * 5000]),
    )
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = data.draw(st.sampled_from(keys))
        inner = value[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            value[key] = copy.deepcopy(data.draw(odd))
            return
        value = inner
