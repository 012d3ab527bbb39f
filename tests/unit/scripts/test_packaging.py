# SPDX-License-Identifier: BSD-3-Clause
"""What packages are made with: manual pages, and documents without dead links."""

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from scripts import check_house

ROOT = Path(__file__).resolve().parents[3]


@cache
def made(script: str, *words: str) -> str:
    return subprocess.run(
        [sys.executable, "-I", ROOT / "packaging" / script, *words],
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_documents__every_link_leads_somewhere(tmp_path: Path) -> None:
    made("documents.py", str(tmp_path))
    assert list(check_house.check_links(tmp_path)) == []
    assert (tmp_path / "docs/pictures/message.svg").is_file()
    # What leads elsewhere is still said.
    assert "(`CONTRIBUTING.md` of the sources)" in (tmp_path / "README.md").read_text()


def test_library_page__has_every_function() -> None:
    page = made("manual.py", "library")
    for header in ("beowire.h", "beowire_job.h"):
        text = (ROOT / "transport/include" / header).read_text()
        names = re.findall(r"^BEOWIRE_API [^(;]*?\b(\w+)\(", text, re.MULTILINE)
        assert len(names) > 5
        for name in names:
            assert re.search(rf"^\.SS .*\b{name}\(\)", page, re.MULTILINE), name


def test_provider_page__has_every_parameter_with_its_bounds() -> None:
    page = made("manual.py", "provider")
    text = (ROOT / "fabric/parameters.c").read_text()
    defined = re.findall(r'param_define\(&fabric_provider, "(\w+)"', text)
    assert len(defined) > 5
    for name in defined:
        assert f".B FI_BEOWIRE_{name.upper()}\n" in page
    assert "%d" not in page


def test_command_page__has_every_command() -> None:
    page = made("manual.py", "command")
    for path in (ROOT / "evaluator/beowire/commands").glob("*.py"):
        if "\ndef register(app" in path.read_text():
            name = path.stem.replace("_", r"\-")
            assert f"beowire {name}\n" in page, name


@pytest.mark.parametrize("page", ["command", "library", "provider"])
def test_pages__are_ones_that_man_reads(page: str, tmp_path: Path) -> None:
    if shutil.which("man") is None:
        pytest.skip("there is no man")
    (tmp_path / "page.1").write_text(made("manual.py", page))
    done = subprocess.run(
        ["man", "--warnings", "-l", tmp_path / "page.1"],
        capture_output=True,
        text=True,
        check=True,
        env={"LC_ALL": "C.UTF-8", "MANWIDTH": "80", "PATH": "/usr/bin:/bin"},
    )
    assert done.stderr == ""
