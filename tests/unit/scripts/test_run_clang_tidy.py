# SPDX-License-Identifier: BSD-3-Clause
"""When a file is checked again, and what of clang-tidy is for `make test-long` only."""

from pathlib import Path

import pytest

from scripts import run_clang_tidy
from scripts.run_clang_tidy import (
    ROOT,
    fingerprint,
    parse_deps,
)

SOURCE = ROOT / "transport" / "flow" / "flow.c"


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
