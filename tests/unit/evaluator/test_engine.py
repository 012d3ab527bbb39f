# SPDX-License-Identifier: BSD-3-Clause
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from beowire.places.engine import EngineError, EngineProcess, wait_for_events
from unit.evaluator.fake_launcher import FakeLauncher

Start = Callable[..., EngineProcess]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts an engine that runs some Python, or the fake one."""
    engines: list[EngineProcess] = []

    def run(program: str | None = None, node: str = "node7") -> EngineProcess:
        if program is None:
            launcher = FakeLauncher()
            process = launcher.start(launcher.nodes[0])
        else:
            process = subprocess.Popen(
                [sys.executable, "-S", "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        engines.append(EngineProcess(process, node))
        return engines[-1]

    yield run
    for engine in engines:
        engine.end(timeout_s=0.5)
        assert engine.process.poll() is not None


def test_request__returns_the_answer(start: Start) -> None:
    hello = start().request("hello", "hello")
    assert hello["protocol"] == 1


def test_send__encodes_what_a_value_may_not_hold(start: Start) -> None:
    engine = start("import sys; print('{\"event\":\"' + sys.stdin.readline()[:-1] + '\"}')")
    engine.send("open", {"peer": "a b%é\n"})
    assert engine.receive("open peer=a%20b%25%C3%A9%0A")


def test_receive__an_error_event_is_raised_with_its_parts(start: Start) -> None:
    engine = start(
        'print(\'{"event":"error","code":"EMSGSIZE","message":"too\\\\n long","fatal":false}\')'
    )
    with pytest.raises(EngineError, match="too long") as caught:
        engine.receive("result")
    assert (caught.value.node, caught.value.fatal, caught.value.code) == (
        "node7",
        False,
        "EMSGSIZE",
    )


def test_receive__death_says_how_and_the_last_words(start: Start) -> None:
    engine = start("import sys; sys.stderr.write('first\\nno such card\\n'); sys.exit(4)")
    with pytest.raises(EngineError, match="ended with status 4: no such card") as caught:
        engine.receive("hello")
    assert caught.value.code == "DIED"


def test_receive__a_signal_is_named(start: Start) -> None:
    engine = start("import os; os.kill(os.getpid(), 9)")
    with pytest.raises(EngineError, match="was killed by SIGKILL; if dmesg says that memory ran"):
        engine.receive("hello")


def test_receive__a_crash_is_a_fault_of_the_driver(start: Start) -> None:
    engine = start("import os; os.kill(os.getpid(), 11)")
    with pytest.raises(EngineError, match="was killed by SIGSEGV: a bug in its driver, or in"):
        engine.receive("hello")


@pytest.mark.parametrize(
    "line", ["hello", "[1]", "{}", '{"event":7}', '{"event":"hello"', "\\xff\\xfe", "[" * 100000]
)
def test_receive__garbage_is_named(start: Start, line: str) -> None:
    engine = start(f"import sys; sys.stdout.buffer.write(b'''{line}''' + bytes([10]))")
    with pytest.raises(EngineError, match="broke the protocol") as caught:
        engine.receive("hello")
    assert caught.value.code == "GARBAGE"
    assert len(str(caught.value)) < 300


def test_receive__an_endless_line_is_garbage(start: Start) -> None:
    engine = start("while True: print('x' * 65536, end='', flush=True)")
    with pytest.raises(EngineError, match="no end"):
        engine.receive("hello")


def test_receive__another_event_is_garbage(start: Start) -> None:
    with pytest.raises(EngineError, match="'hello' where 'open' was due"):
        start().request("hello", "open")


def test_receive__silence_has_a_deadline(start: Start) -> None:
    engine = start("import sys; sys.stdin.read()")
    with pytest.raises(EngineError, match=r"no answer within 0\.1 s") as caught:
        engine.receive("hello", timeout_s=0.1)
    assert caught.value.code == "TIMEOUT"


def test_receive__an_answer_in_pieces_is_put_together(start: Start) -> None:
    engine = start(
        "import sys, time\n"
        'for part in (\'{"event":\', \'"hello"\', \'}\\n{"event":"open"}\\n\'):\n'
        "    print(part, end='', flush=True); time.sleep(0.02)\n"
        "sys.stdin.read()"
    )
    assert engine.receive("hello") == {"event": "hello"}
    assert engine.receive("open") == {"event": "open"}


def test_receive__much_on_standard_error_does_not_block_the_engine(start: Start) -> None:
    engine = start(
        "import sys\nsys.stderr.write('noise\\n' * 100000)\nprint('{\"event\":\"hello\"}')"
    )
    assert engine.receive("hello")
    assert engine.last_words() == "noise"


NOISY = r"""printf 'welcome\n{"event":"hello","pid":1}\nno endabc\nabcd\n{"event":"hello"}\n'"""


def test_receive__what_a_login_prints_before_the_marker_is_not_the_engines() -> None:
    with _marked(NOISY) as engine:
        assert engine.receive("hello") == {"event": "hello"}


def test_receive__a_login_that_prints_for_ever_is_not_listened_to() -> None:
    with _marked("exec yes abc") as engine:
        with pytest.raises(EngineError, match="print without end") as caught:
            engine.receive("hello")
        assert caught.value.code == "GARBAGE"


@contextmanager
def _marked(script: str) -> Iterator[EngineProcess]:
    process = subprocess.Popen(
        ["sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    engine = EngineProcess(process, "node7", b"abcd")
    try:
        yield engine
    finally:
        engine.end(0.1)


def test_send__to_an_engine_that_is_gone_says_how_it_ended(start: Start) -> None:
    engine = start("import sys; sys.exit(5)")
    engine.process.wait()
    with pytest.raises(EngineError, match="ended with status 5"):
        engine.send("hello")


def test_send__to_an_engine_that_does_not_read_has_an_end(start: Start) -> None:
    engine = start("import time; time.sleep(100)")
    with pytest.raises(EngineError, match="does not read") as caught:
        for _ in range(100):
            engine.send("hello", {"padding": "x" * 4000})
    assert caught.value.code == "TIMEOUT"


def test_end__asks_first(start: Start) -> None:
    engine = start()
    engine.request("hello", "hello")
    engine.end()
    assert engine.process.returncode == 0


def test_end__kills_what_does_not_listen(start: Start) -> None:
    engine = start(
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        'print(\'{"event":"hello"}\', flush=True)\n'
        "time.sleep(100)"
    )
    engine.receive("hello")
    engine.end(timeout_s=0.1)
    assert engine.process.returncode == -9


def test_end__may_be_called_again(start: Start) -> None:
    engine = start()
    engine.end()
    engine.end()


def test_wait_for_events__wakes_for_any_of_them(start: Start) -> None:
    silent = start("import sys; sys.stdin.read()")
    engine = start('print(\'{"event":"hello"}\')')
    deadline = time.monotonic() + 60
    while engine.take() is None:
        assert time.monotonic() < deadline
        wait_for_events([silent, engine], 5)


def test_wait_for_events__times_out(start: Start) -> None:
    assert wait_for_events([start("import sys; sys.stdin.read()")], 0.01) is False
