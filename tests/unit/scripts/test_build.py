# SPDX-License-Identifier: BSD-3-Clause
"""scripts/build looks again for libraries at each call: what is installed later is found."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
MESON_BUILD = """
fabric = dependency('libfabric', version: '>=1.17', required: false)
threads = dependency('threads')
if compiler.has_header('pvm3.h')
endif
pvm = compiler.find_library('pvm3', has_headers: 'pvm3.h', required: false)
"""


def write_program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture(name="project")
def make_project(tmp_path: Path) -> Path:
    """A project of scripts only, whose meson writes down how it is called, and whose libraries are
    files of `there`."""
    for name in ("build", "libraries", "find-python"):
        (tmp_path / "scripts").mkdir(exist_ok=True)
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    (tmp_path / "meson.build").write_text(MESON_BUILD)
    write_program(tmp_path / "scripts/stage-engine", "")
    programs, there = tmp_path / "programs", tmp_path / "there"
    there.mkdir()
    write_program(
        programs / "meson",
        f"""case "$*" in
        "setup build"*)
            echo whole >>{tmp_path}/calls
            mkdir -p build/release
            : >build/release/build.ninja ;;
        "setup --reconfigure"*) echo again >>{tmp_path}/calls ;;
        introspect*) echo "[]" ;;
        esac""",
    )
    write_program(programs / "ninja", "")
    write_program(programs / "pkg-config", f'cat {there}/"$2" 2>/dev/null')
    write_program(programs / "cc", f'[ -e {there}/"$3" ]')
    return tmp_path


def build(project: Path) -> list[str]:
    """How meson was called."""
    calls = project / "calls"
    calls.write_text("")
    subprocess.run(
        [project / "scripts/build", "demo"],
        check=True,
        env={"PATH": f"{project}/programs:/usr/bin:/bin"},
        stdout=subprocess.DEVNULL,
    )
    return calls.read_text().split()


def test_build__what_is_installed_later_is_found(project: Path) -> None:
    assert build(project) == ["whole"]
    assert build(project) == []
    (project / "there/pvm3.h").touch()
    assert build(project) == ["again"]
    assert build(project) == []
    (project / "there/libfabric").write_text("1.17.0")
    assert build(project) == ["again"]
    (project / "there/libfabric").write_text("2.1.0")
    assert build(project) == ["again"]
    (project / "there/pvm3.h").unlink()
    assert build(project) == ["again"]
    assert build(project) == []
    found = (project / "build/release.libraries").read_text()
    assert found == "libfabric 2.1.0\npvm3.h absent\n"


def test_libraries__all_that_is_optional_here() -> None:
    done = subprocess.run(
        [ROOT / "scripts/libraries"], check=True, capture_output=True, text=True
    ).stdout
    names = {line.split()[0] for line in done.splitlines()}
    assert {"libfabric", "libibverbs", "libsodium", "pvm3.h", "ucx"} <= names
