# SPDX-License-Identifier: BSD-3-Clause
"""Programs are compiled once for each MPI and content, and failures are one line."""

from pathlib import Path

import pytest

from beowire import paths
from beowire.apps import building, catalogue
from beowire.errors import BeowireError
from beowire.places.mpi.installation import Installation

#: Counts its calls, and "compiles" by writing its words to the last of them.
WRAPPER = """\
#!/bin/sh
echo call >> "{log}"
{fails}
for last; do :; done
printf '%s\\n' "$@" > "$last"
"""


@pytest.fixture(name="tree", autouse=True)
def make_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    sources = tmp_path / "sources"
    for folder in ("common", "profile"):
        (sources / folder).mkdir(parents=True)
        (sources / folder / "shared.c").write_text("int a;\n")
        (sources / folder / "shared.h").write_text("extern int a;\n")
    (sources / "cg.c").write_text("int main(void) { return 0; }\n")
    monkeypatch.setattr(paths, "apps_sources", lambda: sources)
    monkeypatch.setattr(paths, "apps_cache", lambda: tmp_path / "cache")
    return sources


def mpi(tmp_path: Path, fails: str = ":") -> Installation:
    wrapper = tmp_path / "mpicc"
    wrapper.write_text(WRAPPER.format(log=tmp_path / "log", fails=fails))
    wrapper.chmod(0o755)
    return Installation("openmpi4", "4.1.4", tmp_path / "mpirun", wrapper)


CG = catalogue.App("cg", "")


def calls(tmp_path: Path) -> int:
    return len((tmp_path / "log").read_text().splitlines())


def test_program__is_compiled_once(tmp_path: Path) -> None:
    found = mpi(tmp_path)
    first = building.program(CG, found)
    assert building.program(CG, found) == first
    assert first.name == "cg"
    assert calls(tmp_path) == 1
    assert [path.name for path in first.parent.iterdir()] == ["cg"]


def test_program__again_when_a_header_has_changed(tmp_path: Path, tree: Path) -> None:
    found = mpi(tmp_path)
    first = building.program(CG, found)
    (tree / "common" / "shared.h").write_text("extern long a;\n")
    assert building.program(CG, found) != first


def test_program__headers_are_not_compiled(tmp_path: Path) -> None:
    words = building.program(CG, mpi(tmp_path)).read_text().split()
    assert "-O3" in words
    assert [Path(word).name for word in words if word.endswith((".c", ".h"))] == [
        "cg.c",
        "shared.c",
    ]


def test_profile_library__is_shared(tmp_path: Path) -> None:
    assert "-shared" in building.profile_library(mpi(tmp_path)).read_text().split()


def test_program__a_wrapper_that_fails_says_why_in_a_line(tmp_path: Path) -> None:
    fails = "echo 'cg.c: In function main:' >&2; echo 'cg.c:1: error: no' >&2; exit 1"
    with pytest.raises(BeowireError, match=r"mpicc fails: cg\.c:1: error: no$"):
        building.program(CG, mpi(tmp_path, fails))
    assert list((tmp_path / "cache").rglob("*cg*")) == []


def test_program__a_wrapper_that_is_none(tmp_path: Path) -> None:
    found = mpi(tmp_path)
    (tmp_path / "mpicc").write_text("")
    with pytest.raises(BeowireError, match="mpicc"):
        building.program(CG, found)


def test_program__no_wrapper_at_all(tmp_path: Path) -> None:
    with pytest.raises(BeowireError, match="has no mpicc"):
        building.program(CG, Installation("openmpi4", "4.1.4", tmp_path / "mpirun", None))


def test_program__without_its_source(tmp_path: Path) -> None:
    with pytest.raises(BeowireError, match=r"nothing\.c is not there"):
        building.program(catalogue.App("nothing", ""), mpi(tmp_path))
