# SPDX-License-Identifier: BSD-3-Clause
"""What is compiled once more: that two compilers see all C, and what of a command is kept."""

import json
import os
from pathlib import Path

from scripts import compile_again
from scripts.compile_again import ROOT, Job, compiled, front_end, jobs, unseen, uses_libfabric


def test_unseen__what_clang_alone_compiles_but_the_fuzz_targets() -> None:
    seen = [Job(ROOT / "transport/a.c", (), built=True)]
    fuzz = Job(ROOT / "tests/fuzz/a_fuzz.c", (), built=True)
    other = Job(ROOT / "transport/b.c", (), built=True)
    assert unseen([*seen, fuzz], seen) == []
    assert unseen([*seen, fuzz, other], seen) == [other.source]


def test_front_end__without_output_and_cache() -> None:
    command = "ccache cc -Ia -flto=auto '-DA=\"b c\"' -MD -MQ a.o -MF a.d -o a.o -c a.c"
    kept = ["cc", "-Ia", '-DA="b c"', "a.c", "-fsyntax-only", "-Werror"]
    assert list(front_end(command)) == kept


def test_jobs__each_file_once_and_whether_it_is_built(tmp_path: Path) -> None:
    entries = [
        {"directory": str(tmp_path), "file": f, "output": o, "command": f"cc -c {f} -o {o}"}
        for f, o in (("a.c", "one.o"), ("a.c", "two.o"), ("b.c", "three.o"))
    ]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    (tmp_path / "two.o").touch()
    assert {job.source.name: job.built for job in jobs(tmp_path)} == {"a.c": True, "b.c": False}


def test_uses_libfabric__the_provider_its_tests_and_the_driver() -> None:
    assert uses_libfabric(ROOT / "fabric/info.c")
    assert uses_libfabric(ROOT / "tests/unit/fabric/hints_test.c")
    assert uses_libfabric(ROOT / "evaluator/drivers/fi.c")
    assert not uses_libfabric(ROOT / "evaluator/drivers/tcp.c")


def test_compiled__headers_that_come_first_and_their_warnings_count(tmp_path: Path) -> None:
    """As libfabric 2 warns of FI_MR_BASIC, and lacks FI_PROV_SPECIFIC."""
    tree = tmp_path / "tree"
    for name, text in (
        ("old", "#define A 1\n#define B 2\n"),
        ("new", '#define A _Pragma("GCC warning \\"A is deprecated\\"") 1\n'),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "header.h").write_text(text)
    tree.mkdir()
    for symbol in ("A", "B"):
        source = tree / f"{symbol}.c"
        source.write_text(f"#include <header.h>\nint value = {symbol};\n")
        command = tuple(front_end(f"cc -I{tmp_path}/old -c {source}"))
        job = Job(source, command, built=True)
        assert compiled(job, ())
        assert not compiled(job, ("-I", str(tmp_path / "new")))


def test_users__are_there() -> None:
    assert all((ROOT / user).exists() for user in compile_again.USERS)
    assert os.access(ROOT / "scripts/fetch-packages", os.X_OK)
