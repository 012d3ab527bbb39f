# SPDX-License-Identifier: BSD-3-Clause
"""A user's NPB tree: what it is, and that it is built in a copy."""

from pathlib import Path

import pytest

from beowire import paths
from beowire.apps import npb
from beowire.apps.catalogue import npb_app
from beowire.errors import BeowireError
from beowire.places.mpi.installation import Installation

#: Leaves what a tree's make would.
MAKEFILE = """\
cg:
\tgrep -q '^MPIF77 = .*mpif90$$' config/make.def
\tcp config/make.def bin/cg.$(CLASS).{ending}
is:
\tcp config/make.def bin/is.$(CLASS).{ending}
ft:
\t@echo 'ft.f:1: Error: it does not compile' >&2; false
"""


def tree(path: Path, version: str, *, mpi: bool = True) -> Path:
    for folder in ("sys", "config", "CG", *(["MPI_dummy"] if mpi else [])):
        (path / folder).mkdir(parents=True)
    (path / "sys" / "setparams.c").write_text(f'#define VERSION "{version}"\n')
    (path / "CG" / "cg.f").write_text("      end\n")
    ending = "$(NPROCS)" if version.startswith("3.3") else "x"
    (path / "Makefile").write_text(MAKEFILE.format(ending=ending))
    (path / "config" / "make.def.user").write_text("MPIF77 = mine\n")
    (path / "config" / "make.def").symlink_to("make.def.user")
    return path


@pytest.fixture(name="mpi")
def make_mpi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installation:
    monkeypatch.setattr(paths, "apps_cache", lambda: tmp_path / "cache")
    (tmp_path / "cache").mkdir()
    for name in ("mpif90", "mpicc"):
        (tmp_path / name).touch(0o755)
    return Installation("openmpi4", "4.1.4", tmp_path / "mpirun", tmp_path / "mpicc")


def test_find__the_directory_itself_or_one_inside(tmp_path: Path) -> None:
    path = tree(tmp_path / "NPB3.3-MPI", "3.3.1")
    assert npb.find(path).version == "3.3.1"
    assert npb.find(tmp_path).path == path
    assert npb.find(path).ranks_are_fixed
    assert not npb.find(tree(tmp_path / "NPB3.4-MPI", "3.4.2")).ranks_are_fixed


@pytest.mark.parametrize("version", ["3.2.1", "2.4", "4.0"])
def test_find__another_version(tmp_path: Path, version: str) -> None:
    path = tree(tmp_path / "npb", version)
    with pytest.raises(BeowireError, match=f"it is NPB {version}, and 3.3 or 3.4 is needed"):
        npb.find(path)


def test_find__not_for_mpi(tmp_path: Path) -> None:
    with pytest.raises(BeowireError, match=r"not NPB's MPI version: name NPB3\.4-MPI"):
        npb.find(tree(tmp_path / "npb", "3.4.2", mpi=False))


def test_find__nothing(tmp_path: Path) -> None:
    with pytest.raises(BeowireError, match="there is no NPB in it"):
        npb.find(tmp_path)
    with pytest.raises(BeowireError, match="no such directory"):
        npb.find(tmp_path / "absent")


def test_program__is_built_in_a_copy_with_our_definitions(
    tmp_path: Path, mpi: Installation
) -> None:
    path = tree(tmp_path / "NPB3.3-MPI", "3.3")
    before = {one: one.read_bytes() for one in path.rglob("*") if one.is_file()}
    binary = npb.program(npb.find(path), npb_app("cg"), mpi, "S", 4)
    assert binary.name == "cg.S.4"
    assert f"MPICC = {tmp_path}/mpicc" in binary.read_text()
    assert "-fallow-argument-mismatch" in binary.read_text()
    assert {one: one.read_bytes() for one in path.rglob("*") if one.is_file()} == before
    assert (path / "config" / "make.def").is_symlink()


def test_program__of_34_is_for_any_number_of_ranks(tmp_path: Path, mpi: Installation) -> None:
    found = npb.find(tree(tmp_path / "NPB3.4-MPI", "3.4.2"))
    two = npb.program(found, npb_app("cg"), mpi, "W", 2)
    assert two.name == "cg.W.x"
    assert npb.program(found, npb_app("cg"), mpi, "W", 4) == two


def test_program__that_does_not_compile(tmp_path: Path, mpi: Installation) -> None:
    found = npb.find(tree(tmp_path / "NPB3.3-MPI", "3.3"))
    with pytest.raises(BeowireError, match=r"make fails: ft\.f:1: Error: it does not compile"):
        npb.program(found, npb_app("ft"), mpi, "S", 2)


def test_program__without_a_fortran_wrapper(tmp_path: Path, mpi: Installation) -> None:
    (tmp_path / "mpif90").unlink()
    found = npb.find(tree(tmp_path / "NPB3.3-MPI", "3.3"))
    with pytest.raises(BeowireError, match="has no Fortran compiler wrapper"):
        npb.program(found, npb_app("cg"), mpi, "S", 2)


def test_program__in_c_needs_no_fortran_wrapper(tmp_path: Path, mpi: Installation) -> None:
    (tmp_path / "mpif90").unlink()
    found = npb.find(tree(tmp_path / "NPB3.3-MPI", "3.3"))
    assert npb.program(found, npb_app("is"), mpi, "S", 2).name == "is.S.2"
