# SPDX-License-Identifier: BSD-3-Clause
"""Debian's PVM programs, as they are (packages netpipe-pvm, pvm-examples, and pvm's console): over
Beowire they say what they say over PVM's own routes."""

import os
import pty
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from system.pvm_machines import NEEDS_PVM, Machine, needs, preloaded

pytestmark = NEEDS_PVM

OURS = preloaded(BEOWIRE_LANES="shm")

#: Longest that a program may take.
_BOUND_S = 60.0

#: What differs from run to run: numbers of tasks (also in the names of their mailboxes), and times.
_TASK = re.compile(r"0x4[0-9a-f]{4}|\bt?4[0-9a-f]{4}|\b262\d{3}\b")
_TIMES = re.compile(r"(Roundtrip T) =.*?(Data size)")

#: frsg's verdict on two sums of squares. It never sets the variable in which the first of them
#: begins (`PSum`), so that one is right or not as the stack happens to be, over every route; the
#: second comes by PVM's reduction and is right in both verdicts.
_FRSG_VERDICT = re.compile(
    r"/ (?:Test OK: Sum of Squares of first +20 +integers is +"
    r"|ERROR: .* by Sum1 as +-?\d+ +and by Sum2 as +)2870\b.*"
)


@pytest.fixture(name="machine", scope="module")
def one_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A virtual machine of this host alone, for all of them."""
    machine = Machine(tmp_path_factory.mktemp("debian"))
    try:
        yield machine
    finally:
        machine.end()


@needs("NPpvm", "netpipe-pvm")
def test_netpipe__finds_every_byte_right(machine: Machine, tmp_path: Path) -> None:
    """The end that has -h sends, and says what it finds."""
    words = ["-i", "-l", "1000", "-u", "10000", "-o", str(tmp_path / "np.out")]
    receiver = machine.start("/usr/bin/NPpvm", *words, variables=OURS)
    try:
        # It waits for another task that has nothing to do; so it has to be there before.
        sender = machine.run("/usr/bin/NPpvm", "-h", "x", *words, variables=OURS)
        assert receiver.wait(_BOUND_S) == sender.returncode == 0
    finally:
        receiver.kill()
        receiver.communicate()
    found = [line for line in sender.stderr.splitlines() if "bytes" in line]
    assert len(found) > 5
    assert all(line.endswith("Integrity check passed") for line in found)


def _said(machine: Machine, words: str, typed: str, variables: Mapping[str, str]) -> list[str]:
    """What a program says, without what differs; lines of several tasks in any order."""
    with machine.start(*words.split(), variables=variables, stdin=subprocess.PIPE) as process:
        try:
            out, err = process.communicate(typed, timeout=_BOUND_S)
        except BaseException:
            process.kill()
            raise
    assert process.returncode in {0, 1}, (words, out, err)  # some of them end without a status
    return _lines(out + err)


def _lines(text: str) -> list[str]:
    text = _TASK.sub("TASK", _TIMES.sub(r"\1\2", text))
    text = _FRSG_VERDICT.sub("Sum2 is 2870", text)
    return sorted(line.rstrip() for line in text.splitlines())


@needs("master1", "pvm-examples")
@pytest.mark.parametrize(
    ("words", "typed", "expected"),
    [
        ("hello.pvm", "", "from TASK: hello, world from "),
        ("master1", "", "I got 300.000000 from 2; (expecting 300.000000)"),
        ("fmaster1", "", " I got     300.0000000 from   2 (expected     300.0000000 )"),
        ("gexample", "50\n3\n", " The 1-Norm is 1275"),
        ("fgexample", "", "  The 1-Norm is         5050"),
        ("trsg", "4\n5\n", " Test OK: Sum of Squares of first 20 integers is 2870"),
        ("frsg", "4\n5\n", " Sum2 is 2870"),
        ("thb 3", "", "joined group31"),
        ("gexamp 3", "", "/usr/bin/gexamp 0: sync"),
        ("inherita inherit3", "", "inherita: TASK END - sent from inherit3 TASK on machine"),
        ("inheritb", "", "5:inheritb: TASK \tinherit2 TASK on machine "),
        ("lmbi 3 m e", "", "lmbi: just inserted entry <TASKlmbi2> at index 0."),
        ("hitc", "", " I got result from tid:      TASK"),
    ],
)
def test_an_example__the_same_results(
    machine: Machine, words: str, typed: str, expected: str
) -> None:
    program, *rest = words.split()
    stock, over = (
        _said(machine, " ".join([f"/usr/bin/{program}", *rest]), typed, one) for one in ({}, OURS)
    )
    assert stock == over
    assert any(line.startswith(expected) for line in over), over


def _console(machine: Machine, command: str, variables: Mapping[str, str]) -> list[str]:
    """What tasks say that the console has spawned, until all have ended."""
    kept, given = pty.openpty()
    with subprocess.Popen(
        ["/usr/bin/pvm"],
        env={**machine.environment(), **variables, "HOME": str(machine.place)},
        stdin=subprocess.PIPE,
        stdout=given,
        stderr=given,
        text=True,
    ) as console:
        os.close(given)
        timer = threading.Timer(_BOUND_S, console.kill)
        timer.start()
        try:
            assert console.stdin is not None
            print(command, file=console.stdin, flush=True)
            text, told = "", False
            while more := _read(kept):
                text += more
                if not told and " finished" in text:
                    told = True
                    print("quit", file=console.stdin, flush=True)
        finally:
            timer.cancel()
            console.kill()
            os.close(kept)
    assert told, text
    tasks = re.findall(r"^(?:pvm> )?\[1:t\w+\] (.*)$", text.replace("\r", ""), re.MULTILINE)
    return _lines("\n".join(tasks))


def _read(descriptor: int) -> str:
    try:
        return os.read(descriptor, 4096).decode()
    except OSError:  # nobody has the terminal's other end any more
        return ""


@needs("master1", "pvm-examples")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("spawn -4 -> spmd", "token ring done"),
        ("spawn -4 -> fspmd", " token ring done"),
        ("spawn -2 -> dbwtest", "TASK: 100000 doubles received correctly"),
        ("spawn -2 -> ibwtest", "TASK: 100000 doubles received correctly"),
        ("spawn -2 -> pbwtest", "TASK: 100000 doubles received correctly"),
        ("spawn -2 -> rbwtest", "TASK: 100000 doubles received correctly"),
    ],
)
def test_an_example_from_the_console__the_same_results(
    machine: Machine, command: str, expected: str
) -> None:
    stock, over = (_console(machine, command, one) for one in ({}, OURS))
    assert stock == over
    assert expected in over, over
