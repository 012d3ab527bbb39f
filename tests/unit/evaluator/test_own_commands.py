# SPDX-License-Identifier: BSD-3-Clause
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from beowire.conduct.own_commands import measure, parse_commands
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.launch.local import LocalLauncher
from beowire.record.lines import Result


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    with Interrupts() as caught:
        yield caught


def _measure(text: str, interrupts: Interrupts, seconds: float = 20.0) -> tuple[list[Result], str]:
    (command,) = parse_commands([f"mine={text}"])
    with LocalLauncher() as launcher:
        return measure(command, launcher, [8, 64], interrupts, launch=1, seconds=seconds)


def test_parse__names_and_commands() -> None:
    parsed = parse_commands(["a=echo 1", "np:tcp=NPtcp -h b=c"])
    assert [(one.name, one.text) for one in parsed] == [
        ("a", "echo 1"),
        ("np:tcp", "NPtcp -h b=c"),
    ]
    assert "NPtcp -h b=c" in parsed[1].info().summary


@pytest.mark.parametrize("text", ["echo 1", "=echo", "a=", "A=echo", "a b=echo", "-a=echo"])
def test_parse__refuses_in_one_line(text: str) -> None:
    with pytest.raises(BeowireError, match="write NAME=COMMAND") as caught:
        parse_commands([text])
    assert "\n" not in str(caught.value)


def test_parse__refuses_two_of_a_name() -> None:
    with pytest.raises(BeowireError, match="two of the name a"):
        parse_commands(["a=echo", "a=true"])


def test_measure__lines_become_results(interrupts: Interrupts) -> None:
    text = r"printf '# a comment\n\n8 1e-6\n8 0.000003\n 64\t5.5e-06 \n8 0.000002\n'"
    results, fault = _measure(text, interrupts)
    assert fault == ""
    assert [(one.driver, one.size, one.n, one.status) for one in results] == [
        ("mine", 8, 3, "ok"),
        ("mine", 64, 1, "ok"),
    ]
    half = results[0].half_rtt_ns
    assert half is not None
    assert (half.median, half.min, half.max) == pytest.approx((2000, 1000, 3000))
    assert half.ci95 is None  # three say too little
    rate = results[1].rate_bytes_per_s
    assert rate is not None
    assert rate.median == pytest.approx(64 / 5.5e-6)


def test_measure__interval_where_there_are_enough(interrupts: Interrupts) -> None:
    results, _ = _measure("for i in 1 2 3 4 5 6 7 8 9; do echo 8 $i; done", interrupts)
    half = results[0].half_rtt_ns
    assert half is not None
    assert half.ci95 is not None
    low, high = half.ci95
    assert 1e9 <= low < half.median == 5e9 < high <= 9e9
    rate = results[0].rate_bytes_per_s
    assert rate is not None
    assert rate.ci95 == pytest.approx((8e9 / high, 8e9 / low))


def test_measure__command_finds_the_nodes_and_sizes(interrupts: Interrupts, tmp_path: Path) -> None:
    file = tmp_path / "said"
    words = "$BEOWIRE_NODES $BEOWIRE_ADDRESSES $BEOWIRE_SIZES"
    results, fault = _measure(f"echo {words} > {file}; echo 8 1", interrupts)
    assert (len(results), fault) == (1, "")
    assert file.read_text() == "local0,local1 127.0.0.1,127.0.0.1 8 64\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo hello", "line 1 of what it printed is 'hello', and not SIZE SECONDS"),
        ("echo 8 1; echo 8 1 1", "line 2 of what it printed is '8 1 1'"),
        ("echo 0 1", "and not SIZE SECONDS"),
        ("echo 8 0", "and not SIZE SECONDS"),
        ("echo 8 -1", "and not SIZE SECONDS"),
        ("echo 8 1.2.3", "and not SIZE SECONDS"),
        ("echo 99999999999999999999 1", "and not SIZE SECONDS"),
        ("true", "it printed no line `SIZE SECONDS`"),
        ("echo 8 1; echo it broke >&2; exit 3", "it ended with status 3: it broke"),
        ("echo 8 1; kill -9 $$", "signal 9 ended it"),
        ("no-such-command-at-all", "it ended with status 127"),
    ],
)
def test_measure__what_goes_wrong_is_said(text: str, said: str, interrupts: Interrupts) -> None:
    results, fault = _measure(text, interrupts)
    assert fault.startswith("the command mine failed on this host: ")
    assert said in fault
    assert "\n" not in fault
    assert all(one.status == fault and one.stopped_by == "error" for one in results)
    assert len(results) == (1 if "echo 8 1;" in text else 0)


def test_measure__ends_in_time_with_all_that_it_started(
    interrupts: Interrupts, tmp_path: Path
) -> None:
    file = tmp_path / "pid"
    text = f"sleep 60 & echo $! > {file}; echo 8 1; sleep 60"
    results, fault = _measure(text, interrupts, 0.5)
    assert "did not end within 0.5 s" in fault
    assert len(results) == 1
    pid = file.read_text().strip()
    stat = Path(f"/proc/{pid}/stat")
    for _ in range(500):  # a killed process takes a moment to go, longer on a busy machine
        # Whoever has it as a child by now need not have waited for it yet.
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] in "ZX":
            break
        time.sleep(0.01)
    else:
        pytest.fail("what it has started is still there")


def test_measure__ends_with_whoever_measures(tmp_path: Path) -> None:
    said = tmp_path / "pids"
    program = (
        "import sys; sys.path[:] = sys.argv[2:];"
        "from beowire.conduct import own_commands as own;"
        "from beowire.interrupts import Interrupts;"
        "from beowire.places.launch.local import LocalLauncher;"
        "(one,) = own.parse_commands([sys.argv[1]]);"
        "own.measure(one, LocalLauncher(), [8], Interrupts(), launch=1, seconds=60)"
    )
    command = f"mine=sleep 600 & echo $$ $! > {said}; wait"
    with subprocess.Popen([sys.executable, "-c", program, command, *sys.path]) as measuring:
        try:
            deadline = time.monotonic() + 60
            while not (said.exists() and len(said.read_text().split()) == 2):
                assert time.monotonic() < deadline
                time.sleep(0.01)
            started = [psutil.Process(int(pid)) for pid in said.read_text().split()]
        finally:
            measuring.kill()
    assert psutil.wait_procs(started, 5)[1] == []
