# SPDX-License-Identifier: BSD-3-Clause
"""Nothing is loaded from the working directory, or from where the environment leads."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from beowire import isolated, paths

ROOT = Path(__file__).resolve().parents[3]

#: Modules that an interpreter imports by itself, that the package imports, and the package.
_PLANTED = (
    *("encodings/__init__", "site", "sitecustomize", "usercustomize", "os", "re", "json", "ctypes"),
    *("runpy", "pathlib", "subprocess", "typer", "rich/__init__", "numpy/__init__", "pydantic"),
    *("beowire/__init__", "beowire/__main__", "beowire/cli", "benchmarks/__init__"),
)
#: Programs that are started by name.
_PROGRAMS = ("readlink", "dirname", "python", "python3", "env", "sh", "ip", "nft", "setpriv", "ssh")


@pytest.fixture(name="trap")
def set_trap(tmp_path: Path) -> Path:
    """A directory in which whatever is loaded or run leaves a file `caught`."""
    trap = tmp_path / "trap"
    caught = tmp_path / "caught"
    for name in _PLANTED:
        path = trap / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"open({str(caught)!r}, 'a').write({name!r} + ' ')\n", encoding="ascii")
    site = trap / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    site.mkdir(parents=True)
    (site / "usercustomize.py").write_bytes((trap / "usercustomize.py").read_bytes())
    for name in _PROGRAMS:
        path = trap / name
        path.write_text(f"#!/bin/sh\necho {name} >>'{caught}'\n", encoding="ascii")
        path.chmod(0o755)
    return trap


def run(
    words: list[str], trap: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        words,
        cwd=trap,
        env={**kept, "BEOWIRE_RUNTIME_DIR": str(trap.parent / "run"), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    caught = trap.parent / "caught"
    assert not caught.exists(), caught.read_text(encoding="ascii")
    return done


_BEOWIRE = [str(ROOT / "beowire"), "lab", "status"]
_COMMANDS = (
    [*isolated.command("beowire"), "lab", "status"],
    [*isolated.command("benchmarks"), "--help"],
    [*isolated.command("beowire.places.lab.keeper"), "{}"],
)
#: Each leads an interpreter to the trap, or a shell.
_PYTHON = {
    "PYTHONPATH": ":{trap}",
    "PYTHONUSERBASE": "{trap}",
    "PYTHONSTARTUP": "{trap}/typer.py",
    "PYTHONINSPECT": "",
}
_SEARCHED = (".:/usr/bin:/bin", ":/usr/bin:/bin:", "")


@pytest.mark.parametrize(
    ("words", "environment"),
    [
        *((_BEOWIRE, {"PATH": path}) for path in _SEARCHED),
        (_BEOWIRE, _PYTHON),
        *((words, _PYTHON) for words in _COMMANDS),
    ],
)
def test_command__in_a_directory_of_somebody_else(
    words: list[str], environment: dict[str, str], trap: Path
) -> None:
    filled = {key: value.format(trap=trap) for key, value in environment.items()}
    done = run(words, trap, filled)
    if words[-1] == "status":
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert done.stdout.startswith("no labs")


def test_beowire__hands_on_no_search_path_that_leads_here(trap: Path) -> None:
    """Of libraries, too: an empty part of LD_LIBRARY_PATH is the working directory."""
    words = [str(ROOT / "beowire"), "run", "/usr/bin/env"]
    told = run(words, trap, {"LD_LIBRARY_PATH": ":/opt/a:b:", "PATH": "/usr/bin:.::x:/bin"})
    assert told.returncode == 0, told.stderr
    variables = told.stdout.splitlines()
    assert "LD_LIBRARY_PATH=/opt/a" in variables
    assert "PATH=/usr/bin:/bin" in variables
    told = run(words, trap, {"LD_LIBRARY_PATH": ":"})
    assert not [line for line in told.stdout.splitlines() if line.startswith("LD_LIBRARY_PATH")]


def test_beowire__hands_on_what_a_shell_would_drop_or_change(trap: Path) -> None:
    odd = {"BASH_FUNC_module%%": "() {  :\n}", "a b": "1", "root": "/data", "PWD": "/elsewhere"}
    words = [str(ROOT / "beowire"), "run", "/usr/bin/env", "-0"]
    told = run(words, trap, odd)
    assert told.returncode == 0, told.stderr
    assert {f"{name}={value}" for name, value in odd.items()} <= set(told.stdout.split("\0"))
    told = run(words, trap, {"BASH_FUNC_x%%": "x" * 120_000})
    assert (told.returncode, "BASH_FUNC_x%%" in told.stdout) == (0, False)
    assert told.stderr == ("beowire: exported functions are more than 90 KB, and are left out\n")


@pytest.mark.parametrize("module", ["beowire", "beowire.isolated"])
def test_python_m__is_refused(module: str, tmp_path: Path) -> None:
    """It has looked in the working directory already, where this time nothing was."""
    done = subprocess.run(
        [sys.executable, "-m", module],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "evaluator")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("beowire: ")
    assert done.stderr.count("\n") == 1


def test_command__keeps_where_compiled_modules_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", None)
    assert isolated.command("m") == [sys.executable, "-I", isolated.__file__, "m"]
    monkeypatch.setattr(sys, "pycache_prefix", "/a b")
    assert isolated.command("m")[2:4] == ["-X", "pycache_prefix=/a b"]


def test_every_interpreter_that_is_started_is_isolated() -> None:
    """By a script, or by the package itself."""
    scripts = [ROOT / "Makefile", ROOT / "beowire", *(ROOT / "scripts").iterdir()]
    starts = re.compile(r"""python3?(?:"|\)")*\s+(?!-I\b)(?:-|scripts/|evaluator/)""")
    found = [
        f"{path.name}: {line}"
        for path in scripts
        if path.is_file() and path.suffix != ".py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if not line.lstrip().startswith("#") and starts.search(line)
    ]
    assert found == []
    bare = re.compile(r'sys\.executable,(?!\s*"-I")')
    for folder in ("evaluator", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            assert not bare.search(text), f"{path} starts an interpreter that is not isolated"


def test_nothing_that_is_built_has_a_search_path_of_its_own() -> None:
    """An RPATH that is relative, or that somebody else can write, would be looked into first."""
    directory = paths.engine_directory()
    built = [
        path
        for path in directory.rglob("*")
        if path.is_file() and path.read_bytes().startswith(b"\x7fELF")
    ]
    assert {".so", ""} <= {path.suffix for path in built}  # libraries, and programs
    for path in built:
        dynamic = subprocess.run(
            ["readelf", "--dynamic", str(path)], capture_output=True, text=True, check=True
        ).stdout
        if path.parent.name == "drop-in":  # which is where it is, and asks for what is beside it
            assert re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic) == ["$ORIGIN/.."], path
            (stock,) = re.findall(r"NEEDED.*\[([^\]]*/[^\]]*)\]", dynamic)
            assert stock.startswith("/usr/"), path
        else:
            assert "RPATH" not in dynamic and "RUNPATH" not in dynamic, path
            assert not re.search(r"NEEDED.*\[[^\]]*/", dynamic), path
        # What is copied to a host stands alone there.
        assert "libsodium" not in dynamic, path
