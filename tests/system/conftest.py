# SPDX-License-Identifier: BSD-3-Clause
"""For the system tests: the command line, and the proof that a test has left nothing behind."""

import contextlib
import os
import re
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

_MARK = "BEOWIRE_TEST_MARK"
"""Environment variable by which every process that descends from a test is known."""

PATIENCE_S = 60.0
"""How long what happens at once on an idle machine may take on one where all cores are taken,
before it counts as not happening. Only a test that fails waits so long."""

_OF_MODULES = re.compile(
    r"(bond|dummy|erspan|gre|gretap|ifb|ip6_vti|ip6gre|ip6tnl|ip_vti|sit|teql|tunl)\d+"
)

RunBeowire = Callable[..., "subprocess.CompletedProcess[str]"]


def processes_of(mark: str) -> list[str]:
    """Command lines of the processes that have the mark; those without one are dead already."""
    wanted = f"{_MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if wanted in environment and words:
            found.append(f"{entry.name}: {words.strip()}")
    return found


def wait_until(condition: Callable[[], object], patience_s: float = PATIENCE_S) -> bool:
    """Polls until the condition holds; False when it did not in time."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def interfaces() -> set[str]:
    """The network interfaces of this host, but for those that modules of its kernel make when
    somebody, who may be another test, has them loaded."""
    names = {entry.name for entry in Path("/sys/class/net").iterdir()}
    return {name for name in names if not _OF_MODULES.fullmatch(name)}


@pytest.fixture(autouse=True)
def leftovers(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Fails the test when a process, a lab or an interface of its own is still there at its end.

    The namespaces of a lab are held by processes only, so none is left when these have gone. The
    test's labs have a directory of their own: those of the user are neither seen nor touched.
    So have its temporary files: a program that is killed cannot take its own away. Yields the
    test's mark.
    """
    mark = uuid.uuid4().hex
    runtime = tmp_path_factory.mktemp("runtime", numbered=True)
    runtime.chmod(0o700)
    monkeypatch.setenv(_MARK, mark)
    monkeypatch.setenv("BEOWIRE_RUNTIME_DIR", str(runtime))
    temporary = tmp_path_factory.mktemp("tmp", numbered=True)
    monkeypatch.setenv("TMPDIR", str(temporary))
    before = interfaces()
    yield mark
    wait_until(lambda: not processes_of(mark))
    left = processes_of(mark)
    for line in left:  # so that one failure does not make others
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(line.partition(":")[0]), 9)
    assert left == []
    assert [path.name for path in runtime.iterdir() if path.name != "lock"] == []
    assert interfaces() == before


@pytest.fixture
def run_beowire() -> RunBeowire:
    """Runs `beowire` of this checkout to its end: `run_beowire("lab", "up", prefix=[...])`."""

    def run(
        *arguments: str,
        prefix: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        text: str | None = None,
        cwd: Path | None = None,
        timeout: float = 2 * PATIENCE_S,
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*prefix, str(ROOT / "beowire"), *arguments],
            env={**os.environ, **(environment or {})},
            input=text,
            capture_output=True,
            text=True,
            check=False,
            cwd=cwd,
            timeout=timeout,
        )

    return run


def assert_refused(done: "subprocess.CompletedProcess[str]", *words: str, code: int = 2) -> None:
    """It said one line, with these words, and nothing else."""
    assert (done.returncode, done.stdout) == (code, ""), (done.stdout, done.stderr)
    lines = done.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("beowire: "), lines
    for word in words:
        assert word in lines[0]
