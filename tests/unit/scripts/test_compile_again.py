# SPDX-License-Identifier: BSD-3-Clause
"""What is compiled once more: that two compilers see all C, and what of a command is kept."""

from pathlib import Path

from scripts.compile_again import ROOT, Job, compiled, front_end, unseen


def test_unseen__what_clang_alone_compiles_but_the_fuzz_targets() -> None:
    seen = [Job(ROOT / "transport/a.c", (), built=True)]
    fuzz = Job(ROOT / "tests/fuzz/a_fuzz.c", (), built=True)
    other = Job(ROOT / "transport/b.c", (), built=True)
    assert unseen([*seen, fuzz], seen) == []
    assert unseen([*seen, fuzz, other], seen) == [other.source]


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
