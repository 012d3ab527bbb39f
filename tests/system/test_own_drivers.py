# SPDX-License-Identifier: BSD-3-Clause
"""A user's own driver, from its source to its row: and drivers that are wrong."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from beowire import paths
from beowire.conduct import own_drivers
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.record.reader import read_record
from system.conftest import ROOT

EXAMPLE = ROOT / "examples" / "driver.c"
LOOP = "while (recv(fd"


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    with Interrupts() as caught:
        yield caught


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "drivers_cache", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def variant(tmp_path: Path, name: str, before_receiving: str) -> Path:
    """The example under another name, with a defect in receive()."""
    text = EXAMPLE.read_text().replace('"my-datagrams"', f'"{name}"')
    assert LOOP in text
    file = tmp_path / f"{name}.c"
    file.write_text(text.replace(LOOP, f"{before_receiving} {LOOP}"))
    return file


def test_example__is_short() -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= 60


def compare(tmp_path: Path, *drivers: Path) -> subprocess.CompletedProcess[str]:
    own = [word for file in drivers for word in ("--driver", str(file))]
    words = ("--drivers", "pipe", "--sizes", "8,1024", "--time", "2", "--out", "o")
    return subprocess.run(
        [ROOT / "beowire", "compare", *own, *words, "--driver-command", "told=echo 8 0.00001"],
        cwd=tmp_path,
        env={**os.environ, "BEOWIRE_CONFIG": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_compare__own_driver_is_a_row(tmp_path: Path) -> None:
    done = compare(tmp_path, EXAMPLE)
    assert done.returncode == 0, done.stderr
    record = read_record(tmp_path / "o" / "record.jsonl")
    assert {one.driver for one in record.results} == {"pipe", "my-datagrams", "told"}
    assert (tmp_path / "o" / "report.html").is_file()


def test_compare__wrong_drivers__nothing_is_measured_and_each_is_named(tmp_path: Path) -> None:
    no_c = tmp_path / "notes.txt"
    no_c.write_text("Not a program.\n")
    none = tmp_path / "none.c"
    done = compare(tmp_path, EXAMPLE, variant(tmp_path, "early", "return 0;"), no_c, none)
    assert done.returncode == 2
    assert re.search(
        r"driver early fails its check on local\d: receive\(\) delivered other", done.stderr
    )
    assert re.search(r"notes.txt: it does not compile: .*notes.txt:1:1: error: ", done.stderr)
    assert f"{none}: there is no such file" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "o").exists()


def test_compiled__once_for_the_same_content(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "own.h").write_text("#define VALUE 1\n")
    source = tmp_path / "own.c"
    source.write_text('#include "own.h"\n#include "driver.h"\nint value = VALUE;\n')
    first = own_drivers.compiled(source)
    made = first.stat().st_mtime_ns
    assert own_drivers.compiled(source) == first
    assert first.stat().st_mtime_ns == made
    (tmp_path / "own.h").write_text("#define VALUE 2\n")
    assert own_drivers.compiled(source) != first
    assert not list(cache.rglob("*.new"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("int x = ;\n", "it does not compile: .*own.c:1:9: error: expected expression"),
        ('#include "no-such.h"\n', "it does not compile: .*no-such.h: No such file"),
    ],
)
def test_compiled__errors_are_one_line(tmp_path: Path, text: str, said: str) -> None:
    source = tmp_path / "own.c"
    source.write_text(text)
    with pytest.raises(BeowireError, match=said) as caught:
        own_drivers.compiled(source)
    assert "\n" not in str(caught.value)


def test_compiled__no_file_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BeowireError, match="there is no such file"):
        own_drivers.compiled(tmp_path / "none.c")
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(BeowireError, match=r"no C compiler .*: install one, or name it in CC"):
        own_drivers.compiled(EXAMPLE)


def test_own_drivers__each_defect_is_named(
    tmp_path: Path, interrupts: Interrupts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_drivers, "_CHECK_MS", 200)
    monkeypatch.setattr(own_drivers, "_ANSWER_S", 1.0)
    short = "if (size == 1000) size--, ((char *)data)[999] = 0;"
    defects = {
        "crash": ("__builtin_trap();", "driver crash fails .*: the engine was killed by SIGILL"),
        "hang": ("for (;;) pause();", "driver hang fails .*: the engine gave no answer within"),
        "lie": (short, r"driver lie fails .*: receive\(\) delivered other data .* of 1000 bytes"),
        "lost": ("return -5;", r"driver lost fails .*: receive\(\) of message 0 .*: Input/output"),
        "tcp": ("", "there is a driver tcp already: give yours another name"),
    }
    files = [variant(tmp_path, name, text) for name, (text, _) in defects.items()]
    empty = tmp_path / "empty.c"
    empty.write_text("int x;\n")
    before = paths.engine_directory()
    with (
        pytest.raises(BeowireError, match="does not export beowire_driver_table") as caught,
        own_drivers.own_drivers([*files, empty], interrupts),
    ):
        pass
    assert paths.engine_directory() == before
    for _, said in defects.values():
        assert re.search(said, str(caught.value))
    assert "\n" not in str(caught.value)


def test_own_drivers__engines_know_them_meanwhile(interrupts: Interrupts) -> None:
    before = paths.engine_directory()
    with own_drivers.own_drivers([EXAMPLE], interrupts) as own:
        assert own == ["my-datagrams"]
        inside = paths.engine_directory()
        assert (inside / "drivers" / "beowire-driver-my-datagrams.so").is_file()
        assert (inside / "drivers" / "beowire-driver-tcp.so").is_file()
    assert paths.engine_directory() == before
    assert not inside.exists()
