# SPDX-License-Identifier: BSD-3-Clause
"""When a file is checked again, and what of clang-tidy is for `make test-long` only."""

import os
from pathlib import Path

import pytest

from scripts import run_clang_tidy
from scripts.run_clang_tidy import (
    KEPT_S,
    ROOT,
    check,
    depth,
    fingerprint,
    parse_deps,
    remove_old,
    what_counts,
)

SOURCE = ROOT / "transport" / "flow" / "flow.c"
TEST = ROOT / "tests" / "unit" / "transport" / "flow" / "flow_test.c"


def test_depth__no_analyzer_for_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BEOWIRE_TEST_LONG", raising=False)
    assert depth(TEST) == ["--checks=-clang-analyzer-*"]


def test_depth__all_of_it_in_the_long_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEOWIRE_TEST_LONG", "1")
    assert depth(TEST) == depth(SOURCE) == []


def test_depth__of_sources_the_nearer_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BEOWIRE_TEST_LONG", raising=False)
    file = tmp_path / "gone.c"
    file.write_text("int f(int a);\nint f(int a)\n{\n    int *p = 0;\n    return a ? *p : 0;\n}\n")
    said = check(
        file, [*depth(SOURCE), "--config-file=" + str(ROOT / ".clang-tidy"), str(file), "--"]
    )
    assert "clang-analyzer-core.NullDereference" in said


DEPS = """transport/a.c.o: #deps 2, deps mtime 1 (VALID)
    ../../transport/a.c
    /usr/include/stdio.h

b.o: #deps 1, deps mtime 2 (VALID)
    ../../b.c

c.o: #deps 1, deps mtime 2 (STALE)
    ../../c.c

"""


def test_parse_deps__files_of_each_object() -> None:
    tree = ROOT / "build" / "asan"
    assert parse_deps(DEPS, tree) == {
        "transport/a.c.o": [ROOT / "transport" / "a.c", Path("/usr/include/stdio.h")],
        "b.o": [ROOT / "b.c"],
    }


def test_what_counts__neither_ccache_nor_what_a_fuzzer_is_told() -> None:
    plain = "clang-14 -fsanitize=fuzzer-no-link -O0 -c a.c"
    cached = "ccache clang-14 -fsanitize=fuzzer-no-link -O0 -fno-sanitize=fuzzer-no-link -c a.c"
    assert what_counts(cached) == what_counts(plain) == plain
    assert what_counts("clang-14 -O1 -c a.c") != what_counts("clang-14 -O0 -c a.c")


def test_fingerprint__another_when_anything_changes_that_counts(tmp_path: Path) -> None:
    header = tmp_path / "a.h"
    header.write_text("int a;")
    files = [SOURCE, header]
    first = fingerprint(b"tool", f"cc -I{ROOT}/transport", files)
    assert fingerprint(b"tool", "cc -I./transport", list(reversed(files))) == first
    others = {
        fingerprint(b"tool 2", f"cc -I{ROOT}/transport", files),
        fingerprint(b"tool", "cc", files),
        fingerprint(b"tool", f"cc -I{ROOT}/transport", [SOURCE]),
    }
    assert len(others) == 3 and first not in others


def test_fingerprint__the_same_in_whichever_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = tmp_path / "system.h"
    system.write_text("int s;")
    found = set()
    for root in (tmp_path / "a", tmp_path / "b" / "deeper"):
        root.mkdir(parents=True)
        (root / "one.c").write_text("int a;")
        monkeypatch.setattr(run_clang_tidy, "ROOT", root)
        found.add(fingerprint(b"tool", f"cc -I{root}/transport", [root / "one.c", system]))
    assert len(found) == 1


def test_fingerprint__of_what_a_header_has(tmp_path: Path) -> None:
    # Two files of one name, as in two checkouts: what was read of one is not taken for the other's.
    found = set()
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "one.h").write_text(folder)
        found.add(fingerprint(b"", "", [tmp_path / folder / "one.h"]))
    assert len(found) == 2


def test_remove_old__only_what_nobody_asked_for(tmp_path: Path) -> None:
    for name, age in (("old", KEPT_S + 10), ("new", 10)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    remove_old(tmp_path, 1e9)
    assert [one.name for one in tmp_path.iterdir()] == ["new"]
