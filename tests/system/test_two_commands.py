# SPDX-License-Identifier: BSD-3-Clause
"""`make demo` as a newcomer runs it, and what is left when it is ended in the middle: nothing."""

import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from system.conftest import interfaces

ROOT = Path(__file__).resolve().parents[2]

#: Marks every process that descends from one of our makes, whoever its parent is by now.
MARK = "BEOWIRE_TEST_RUN"

#: How long ending may take before it counts as not ending, in seconds.
GRACE_S = 60.0

#: How long make may take, which builds all there is, on a machine that others use too.
BUILD_S = 600

pytestmark = pytest.mark.timeout(2 * BUILD_S)


@pytest.fixture(name="checkout", scope="module")
def make_checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources as they are now, built; it shares the virtual environment.

    Not this checkout: the make that runs these tests has its lock.
    """

    def generated(directory: str, names: list[str]) -> set[str]:
        at_top = {"build", ".git"} if Path(directory) == ROOT else set()
        return {"__pycache__"} | at_top

    checkout = tmp_path_factory.mktemp("two-commands") / "beowire"
    shutil.copytree(ROOT, checkout, ignore=generated, symlinks=True)
    (checkout / "build").mkdir()
    (checkout / "build" / "venv").symlink_to(ROOT / "build" / "venv")
    done = make(checkout)
    assert done.returncode == 0, done.stderr
    return checkout


def environment(mark: str) -> dict[str, str]:
    """What a fresh shell has, without what an outer make or pytest has put there.

    And compilers' flags of the user's, which come after the project's: optimising across files is
    most of a build, and scripts/build has done all of that before system tests run.
    """
    kept = ("PATH", "HOME", "TERM", "USER", "TMPDIR")
    ours = {MARK: mark, "CFLAGS": "-O1 -fno-lto"}
    return {name: os.environ[name] for name in kept if name in os.environ} | ours


def make(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs make to its end, and checks that nothing is left of it."""
    mark = uuid.uuid4().hex
    done = subprocess.run(
        ["make", *arguments],
        cwd=checkout,
        env=environment(mark),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=BUILD_S,
        check=False,
    )
    assert command_lines(mark) == []
    return done


def command_lines(mark: str) -> list[str]:
    """The command lines of all processes that carry the mark in their environment."""
    found = []
    wanted = f"{MARK}={mark}".encode()
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                text = (process / "cmdline").read_bytes().replace(b"\0", b" ")
                found.append(f"{process.name} {text.decode(errors='replace')}")
        except OSError:
            continue  # It ended while we looked, or is another user's.
    return found


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Waits until the condition holds; fails after the grace time."""
    deadline = time.monotonic() + GRACE_S
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {GRACE_S} s for {what}")
        time.sleep(0.05)


def network_namespaces(wanted: Callable[[str], bool]) -> dict[str, Path]:
    """The network namespaces of the processes (by number) that are wanted, and how to get there."""
    found = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and wanted(process.name):
            try:
                found[str((process / "ns" / "net").readlink())] = process / "ns" / "net"
            except OSError:
                continue
    return found


@contextmanager
def held(places: Iterable[Path]) -> Iterator[None]:
    """Keeps the names of these namespaces from being given to others, which tests that run
    meanwhile make."""
    handles = [os.open(place, os.O_RDONLY | os.O_CLOEXEC) for place in places]
    try:
        yield
    finally:
        for handle in handles:
            os.close(handle)


def test_demo__prints_a_table_and_says_where_the_report_is(checkout: Path) -> None:
    before = interfaces()
    done = make(checkout, "demo", "TIME=5")
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("report: "))
    report = checkout / line.removeprefix("report: ")
    assert report.is_relative_to(checkout / "build")
    assert report.stat().st_size > 0
    assert (report.parent / "record.jsonl").stat().st_size > 0
    for driver in ("tcp", "packet", "beowire"):
        assert driver in done.stdout
    assert interfaces() == before


@pytest.mark.parametrize(
    ("number", "to_group"),
    [
        pytest.param(signal.SIGINT, True, id="Ctrl-C"),
        pytest.param(signal.SIGTERM, False, id="kill"),
        pytest.param(signal.SIGKILL, False, id="kill -9"),
    ],
)
def test_demo__ended_in_the_middle_leaves_nothing(
    checkout: Path, number: signal.Signals, to_group: bool
) -> None:
    mark = uuid.uuid4().hex
    before = interfaces()
    with ExitStack() as holding:
        with subprocess.Popen(
            ["make", "demo", "TIME=60"],
            cwd=checkout,
            env=environment(mark),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as demo:
            try:
                wait_for(
                    lambda: sum("beowire-engine" in line for line in command_lines(mark)) >= 2,
                    "two engines at work",
                )
                ours = {line.split()[0] for line in command_lines(mark)}
                made = network_namespaces(ours.__contains__)
                for name in network_namespaces(str(os.getpid()).__eq__):
                    made.pop(name, None)
                assert len(made) >= 2
                holding.enter_context(held(made.values()))
                if to_group:
                    os.killpg(demo.pid, number)
                else:
                    demo.send_signal(number)
                assert demo.wait(GRACE_S) != 0
                wait_for(lambda: not command_lines(mark), "all processes to end")
            finally:
                for line in command_lines(mark):
                    os.kill(int(line.split()[0]), signal.SIGKILL)
        assert interfaces() == before
        assert made.keys().isdisjoint(network_namespaces(lambda _: True))


def test_broken_source__make_stops_with_one_line_that_says_what_to_do(checkout: Path) -> None:
    source = checkout / "evaluator" / "engine" / "main.c"
    text = source.read_text()
    try:
        source.write_text(text + "\n#error broken on purpose\n")
        done = make(checkout, "demo", "TIME=10")
    finally:
        source.write_text(text)
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if line.startswith("build: ")]
    assert said == [
        "build: the compiler stopped in build/release: mend what it names above, then try again"
    ]


def test_make_again__has_nothing_to_do(checkout: Path) -> None:
    first = make(checkout)
    assert first.returncode == 0, first.stderr
    engine = checkout / "build" / "engine" / "beowire-engine"
    built = (checkout / "build" / "release" / ".ninja_log").read_bytes()
    assert make(checkout).returncode == 0
    assert engine.is_file()
    assert (checkout / "build" / "release" / ".ninja_log").read_bytes() == built
