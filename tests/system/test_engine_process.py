# SPDX-License-Identifier: BSD-3-Clause
"""The compiled engine as a process, spoken to by a client that knows only docs/ENGINE.md."""

import contextlib
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from beowire.paths import engine_directory
from beowire.plan import selection
from beowire.plan.patterns import PATTERNS
from system.pvm_machines import NEEDS_PVM

Event = dict[str, Any]


class Engine:
    def __init__(self, *options: str, preexec: Callable[[], None] | None = None) -> None:
        self.process = subprocess.Popen(
            [engine_directory() / "beowire-engine", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=preexec,  # noqa: PLW1509 (no threads run when it is used)
        )

    def say(self, *lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        self.process.stdin.flush()

    def hear(self) -> Event:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.endswith(b"\n"), f"the engine ended with status {self.process.wait()}"
        event = json.loads(line)
        assert isinstance(event, dict)
        return event

    def ask(self, line: str) -> Event:
        self.say(line)
        return self.hear()

    def hang_up(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()


Start = Callable[..., Engine]


@pytest.fixture
def start() -> Iterator[Start]:
    engines: list[Engine] = []

    def run(*options: str, preexec: Callable[[], None] | None = None) -> Engine:
        engines.append(Engine(*options, preexec=preexec))
        return engines[-1]

    yield run
    for engine in engines:
        engine.end()


def connect(start: Start, driver: str, max_size: int = 4096) -> tuple[Engine, Engine]:
    initiator, responder = start(), start()
    addresses = []
    for engine, role in ((initiator, "initiator"), (responder, "responder")):
        opened = engine.ask(f"open driver={driver} role={role} max_size={max_size}")
        assert opened["event"] == "open", opened
        addresses.append(opened["address"])
    initiator.say(f"connect peer={addresses[1]}")
    responder.say(f"connect peer={addresses[0]}")
    assert initiator.hear() == {"event": "connected"}
    assert responder.hear() == {"event": "connected"}
    return initiator, responder


def test_hello__says_who_it_is(start: Start) -> None:
    engine = start()
    hello = engine.ask("hello")
    assert (hello["event"], hello["protocol"], hello["abi"]) == ("hello", 1, 6)
    assert hello["pid"] == engine.process.pid
    assert hello["cpu"] is None
    assert hello["clock"]["overhead_ns"] > 0


def test_patterns__are_those_of_the_evaluator(start: Start) -> None:
    """Two tables, one at each end of the control protocol, say the same."""
    found = start().ask("patterns")["patterns"]
    said = [
        (one["name"], one["summary"], one["reports"], set(one["needs"]), one["min_size"])
        for one in found
    ]
    assert said == [
        (row.name, row.summary, row.reports, set(row.needs), row.min_size)
        for row in PATTERNS.values()
        if row.carried_by == row.name
    ]
    assert {row.carried_by for row in PATTERNS.values()} == {one["name"] for one in found}


def test_clock__is_the_one_of_this_kernel(start: Start) -> None:
    before_ns = time.monotonic_ns()
    there_ns = start().ask("clock")["now_ns"]
    assert before_ns <= there_ns <= time.monotonic_ns()


def test_cpu__pins_the_process(start: Start) -> None:
    highest = max(os.sched_getaffinity(0))
    engine = start("--cpu", "auto")
    assert engine.ask("hello")["cpu"] == highest
    assert os.sched_getaffinity(engine.process.pid) == {highest}
    lowest = min(os.sched_getaffinity(0))
    assert start("--cpu", str(lowest)).ask("hello")["cpu"] == lowest


@pytest.mark.parametrize(
    "options", [["--cpu", "99999"], ["--cpu", "x"], ["--cpu", "1023"], ["--nonsense"], ["extra"]]
)
def test_options__that_cannot_be_obeyed(start: Start, options: list[str]) -> None:
    engine = start(*options)
    assert engine.process.wait() == 2
    assert engine.process.stderr is not None
    assert engine.process.stderr.read().strip()


def test_drivers__lists_every_driver_and_the_broken_files(start: Start, tmp_path: Path) -> None:
    (tmp_path / "broken.so").write_text("no shared object")
    engine = start("--drivers", f"{engine_directory() / 'drivers'}:{tmp_path}")
    answer = engine.ask("drivers")
    drivers = {driver["name"]: driver for driver in answer["drivers"]}
    assert {"memcpy", "shm", "tcp", "tcp-spin", "udp", "packet"} <= drivers.keys()
    assert drivers["memcpy"]["placement"] == "process"
    assert drivers["shm"]["placement"] == "host"
    assert drivers["tcp"]["placement"] == "pair"
    assert drivers["tcp"]["reliable"] and not drivers["udp"]["reliable"]
    assert drivers["udp"]["max_size"] == 65507
    for driver in drivers.values():
        assert driver["ready"] == (driver["reason"] == "")
    assert [broken["file"] for broken in answer["broken"]] == ["broken.so"]
    assert answer["broken"][0]["reason"]


def test_drivers__each_is_in_a_group_and_none_is_called_as_one(start: Start) -> None:
    names = {driver["name"] for driver in start().ask("drivers")["drivers"]}
    assert {"tcp-nagle", "memcpy-bytes", "unix-stream", "beowire-udp", "xdp"} <= names
    assert not names & set(selection.GROUPS)
    assert [name for name in sorted(names) if selection.group_of(name) is None] == []


def test_drivers__one_that_crashes_costs_no_other(start: Start, tmp_path: Path) -> None:
    """It is compiled here, and loads a library that ends the process, as an MPI's may."""
    source = tmp_path / "crash.c"
    source.write_text(
        "__attribute__((constructor)) static void f(void) { *(volatile int *)8 = 1; }\n",
        encoding="ascii",
    )
    crashing = tmp_path / "beowire-driver-aaa.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(crashing), str(source)], check=True)
    directories = f"{tmp_path}:{engine_directory() / 'drivers'}"
    answer = start("--drivers", directories).ask("drivers")
    assert {"tcp", "beowire"} <= {driver["name"] for driver in answer["drivers"]}
    assert answer["broken"] == [
        {"file": crashing.name, "reason": "it ends the process that tries it: SIGSEGV"}
    ]
    opened = start("--drivers", directories).ask("open driver=none role=initiator max_size=8")
    assert (opened["event"], opened["code"]) == ("error", "ENOENT")


def test_drivers__no_directory_of_drivers(start: Start, tmp_path: Path) -> None:
    answer = start("--drivers", str(tmp_path / "nowhere")).ask("drivers")
    assert answer["drivers"] == []
    assert "cannot be read" in answer["broken"][0]["reason"]


def test_environment__is_a_flat_map_of_many_facts(start: Start) -> None:
    fields = start().ask("environment interface=lo")["fields"]
    assert len(fields) >= 60
    assert all(value is None or isinstance(value, str | int | float) for value in fields.values())
    assert fields["kernel"] == os.uname().release
    assert fields["interface"] == "lo"
    assert fields["interface_mtu"] > 0
    assert fields["cpus_online"] == os.cpu_count()


def test_environment__unknown_interface(start: Start) -> None:
    engine = start()
    error = engine.ask("environment interface=nonexistent0")
    assert (error["event"], error["code"], error["fatal"]) == ("error", "ENODEV", False)
    assert engine.ask("hello")["event"] == "hello"


def test_route__to_this_host(start: Start) -> None:
    engine = start()
    route = engine.ask("route to=127.0.0.1")
    assert route["interface"] == "lo"
    assert (route["source"], route["destination"]) == ("127.0.0.1", "127.0.0.1")
    assert engine.ask("route to=not%20a%20host")["code"] == "EHOSTUNREACH"
    assert "to=" in engine.ask("route")["message"]


@pytest.mark.parametrize(
    ("line", "code", "word"),
    [
        ("dance", "EINVAL", "dance"),
        ("run colour=red", "EINVAL", "colour"),
        ("run pattern=pingpong size=8 count=1", "EINVAL", "open and connect"),
        ("connect peer=x", "EINVAL", "open a session"),
        ("open driver=tcp role=initiator", "EINVAL", "max_size"),
        ("open driver=tcp role=judge max_size=8", "EINVAL", "role"),
        ("open driver=tcp role=initiator max_size=1073741825", "EINVAL", "1073741824"),
        ("open driver=nosuch role=initiator max_size=8", "ENOENT", "nosuch"),
        ("open driver=tcp role=initiator max_size=8 address=nonsense", "EINVAL", "nonsense"),
        ("open driver=tcp role=responder max_size=8 address=192.0.2.1", "EADDRNOTAVAIL", "tcp"),
        ("x" * 5000, "EMSGSIZE", "4096"),
    ],
)
def test_commands__refused_with_one_line(start: Start, line: str, code: str, word: str) -> None:
    engine = start()
    error = engine.ask(line)
    assert (error["event"], error["code"]) == ("error", code)
    assert word in error["message"]
    assert "\n" not in error["message"]
    assert engine.ask("hello")["event"] == "hello"


@pytest.mark.parametrize("driver", ["tcp", "tcp-spin", "shm", "udp"])
def test_run__pingpong(start: Start, driver: str) -> None:
    initiator, responder = connect(start, driver)
    line = "run pattern=pingpong size=100 count=500 skip=50 batch=1"
    assert responder.ask(line) == {"event": "ready"}
    near = initiator.ask(line)
    if driver == "udp":
        responder.say("stop")  # in case that some got lost
    far = responder.hear()
    assert (near["event"], near["size"], near["count"], near["skip"]) == ("result", 100, 500, 50)
    assert near["received"] + near["lost"] == 500
    assert not near["stopped"]
    buckets = near["histogram"]["buckets"]
    assert sum(count for _, count in buckets) == near["received"]
    assert buckets == sorted(buckets)
    assert buckets[0][0] <= near["min_ns"] <= near["max_ns"]
    assert near["elapsed_ns"] >= near["min_ns"] * near["received"]
    assert far["histogram"]["buckets"] == [] and far["min_ns"] is None
    assert far["received"] >= near["received"]
    assert not far["stopped"] or near["lost"] > 0
    assert set(near["probes"]) == {
        "window_ns",
        "user_ns",
        "system_ns",
        "irq_ns",
        "softirq_ns",
        "voluntary_switches",
        "involuntary_switches",
        "interrupts",
        "card_interrupts",
        "softirqs",
    }
    assert near["probes"]["window_ns"] >= near["elapsed_ns"]


@pytest.mark.parametrize("driver", ["tcp", "tcp-spin", "shm"])
def test_run__stream_and_sizes_may_alternate(start: Start, driver: str) -> None:
    initiator, responder = connect(start, driver, max_size=1 << 20)
    for pattern, size in (("stream", 3), ("pingpong", 1 << 20), ("stream", 100000)):
        line = f"run pattern={pattern} size={size} count=100 skip=10"
        assert responder.ask(line) == {"event": "ready"}
        near, far = initiator.ask(line), responder.hear()
        assert not near["stopped"] and not far["stopped"]
        assert near["sent"] == far["received"] == 100
        assert near["elapsed_ns"] > 0 and far["elapsed_ns"] > 0


def test_run__without_another_end(start: Start) -> None:
    engine = start()
    assert engine.ask("open driver=memcpy role=initiator max_size=1000")["address"] == ""
    refusal = engine.ask("run pattern=stream size=1000 count=200")
    assert (refusal["code"], refusal["fatal"]) == ("EOPNOTSUPP", False)
    assert refusal["message"] == "memcpy: no pattern stream: it has no other end"
    assert engine.ask("run pattern=pingpong size=1000 count=200 batch=10")["received"] == 200
    assert engine.ask("close") == {"event": "closed"}
    assert engine.ask("close") == {"event": "closed"}


def test_run__size_that_the_session_does_not_carry(start: Start) -> None:
    initiator, _ = connect(start, "tcp", max_size=100)
    error = initiator.ask("run pattern=pingpong size=101 count=1")
    assert (error["code"], error["fatal"]) == ("EMSGSIZE", False)


def test_run__lost_messages_are_counted(start: Start) -> None:
    initiator, _ = connect(start, "udp")  # whose other end does not answer
    result = initiator.ask("run pattern=pingpong size=8 count=3")
    assert (result["lost"], result["received"], result["stopped"]) == (3, 0, False)


def test_stop__ends_a_run_that_waits(start: Start) -> None:
    for driver in ("tcp", "tcp-spin", "shm"):
        initiator, _ = connect(start, driver)
        initiator.say("run pattern=pingpong size=8 count=100 deadline_ms=600000", "stop")
        assert initiator.hear()["stopped"]
        refused = initiator.ask("run pattern=pingpong size=8 count=1")
        assert (refused["code"], refused["fatal"]) == ("ESTALE", True)
        assert initiator.ask("close") == {"event": "closed"}


@pytest.mark.parametrize("size", [8, 65536])
@pytest.mark.parametrize("driver", ["tcp", "beowire-shm"])
def test_stop__between_messages_leaves_the_session_usable(
    start: Start, driver: str, size: int
) -> None:
    """The receive that the responder waited in takes none of the messages that follow."""
    initiator, responder = connect(start, driver, 65536)
    line = f"run pattern=pingpong size={size} count=1000000000"
    assert responder.ask(f"{line} deadline_ms=600000") == {"event": "ready"}
    assert initiator.ask(f"{line} deadline_ms=50")["stopped"]
    responder.say("stop")
    assert responder.hear()["stopped"]
    for line in (f"run pattern=pingpong size={size}", "run pattern=integrity size=65536"):
        assert responder.ask(f"{line} count=64") == {"event": "ready"}
        assert initiator.ask(f"{line} count=64").get("received") == 64
        assert responder.hear().get("received") == 64


@NEEDS_PVM
@pytest.mark.parametrize("driver", ["pvm-beowire", "pvm-direct"])
def test_stop__a_peer_that_has_begun_to_send_is_not_left_hanging(start: Start, driver: str) -> None:
    """Its library returns when the message has been taken, and has to be told nothing else."""
    size = 4 << 20
    initiator, responder = connect(start, driver, size)
    line = f"run pattern=integrity size={size} count=1 deadline_ms=600000"
    assert responder.ask(line) == {"event": "ready"}
    responder.say("stop")
    assert responder.hear()["stopped"]
    late = threading.Timer(10.0, initiator.process.kill)
    late.start()
    try:
        assert initiator.ask(line.replace("600000", "500"))["stopped"]
    finally:
        late.cancel()
    assert [engine.ask("close") for engine in (initiator, responder)] == [{"event": "closed"}] * 2


def test_stop__outside_a_run_has_no_answer(start: Start) -> None:
    engine = start()
    engine.say("stop")
    assert engine.ask("hello")["event"] == "hello"


def test_deadline__ends_a_run_that_nobody_answers(start: Start) -> None:
    initiator, responder = connect(start, "tcp")
    assert initiator.ask("run pattern=stream size=4096 count=1000000000 deadline_ms=50")["stopped"]
    line = "run pattern=pingpong size=8 count=1 deadline_ms=50"
    assert responder.ask(line) == {"event": "ready"}
    assert responder.hear()["event"] in ("result", "error")


@pytest.mark.parametrize("driver", ["tcp", "tcp-spin", "shm"])
def test_peer__killed_in_the_middle(start: Start, driver: str) -> None:
    initiator, responder = connect(start, driver)
    line = "run pattern=pingpong size=8 count=1000000000 deadline_ms=600000"
    assert responder.ask(line) == {"event": "ready"}
    initiator.say(line)
    responder.process.kill()
    error = initiator.hear()
    assert (error["event"], error["fatal"]) == ("error", True)
    assert error["code"] in ("ECONNRESET", "EPIPE")
    assert initiator.ask("close") == {"event": "closed"}
    assert initiator.ask("open driver=memcpy role=initiator max_size=8")["event"] == "open"


@NEEDS_PVM
def test_connect__with_what_open_was_told(start: Start) -> None:
    """The engine reads each command to where the one before it was."""
    engines = start(), start()
    addresses = []
    for engine, role in zip(engines, ("initiator", "responder"), strict=True):
        line = f"open interface=lo driver=pvm-beowire role={role} max_size=8"
        addresses.append(engine.ask(line)["address"])
    for engine, peer in zip(engines, reversed(addresses), strict=True):
        engine.say(f"connect peer={peer}")
    assert [engine.hear() for engine in engines] == [{"event": "connected"}] * 2


def test_connect__given_up_when_asked_to(start: Start) -> None:
    responder = start()
    assert responder.ask("open driver=tcp role=responder max_size=8")["event"] == "open"
    responder.say("connect peer=0@initiator", "close")
    assert responder.hear()["code"] == "ECANCELED"
    assert responder.hear() == {"event": "closed"}


def test_input__ends_while_a_run_waits(start: Start) -> None:
    for driver in ("tcp", "tcp-spin", "shm", "udp"):
        initiator, _ = connect(start, driver)
        initiator.say("run pattern=pingpong size=8 count=1000000 deadline_ms=600000")
        assert initiator.hang_up() == 3


def test_quit__while_a_run_waits(start: Start) -> None:
    initiator, _ = connect(start, "tcp")
    initiator.say("run pattern=pingpong size=8 count=1 deadline_ms=600000", "quit")
    assert initiator.hear()["stopped"]
    assert initiator.process.wait() == 0


def test_parent__dies_with_it_although_the_input_stays_open() -> None:
    reading, writing = os.pipe()
    program = (
        "import subprocess, sys, time;subprocess.Popen([sys.argv[1]], stdin=0);time.sleep(600)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(engine_directory() / "beowire-engine")],
        stdin=reading,
        stdout=subprocess.PIPE,
    )
    try:
        os.close(reading)
        assert parent.stdout is not None
        os.write(writing, b"hello\n")
        assert json.loads(parent.stdout.readline())["event"] == "hello"
        parent.kill()
        assert parent.stdout.read() == b""  # until the engine, which holds the pipe, is gone
    finally:
        parent.kill()
        parent.wait()
        os.close(writing)


def test_parent__a_thread_that_ends_takes_nothing_with_it(start: Start) -> None:
    engines: list[Engine] = []
    thread = threading.Thread(target=lambda: engines.append(start()))
    thread.start()
    thread.join()
    assert engines[0].ask("hello")["event"] == "hello"
    assert engines[0].ask("hello")["event"] == "hello"


def test_memory__that_is_not_there(start: Start) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))

    engine = start(preexec=limit)
    error = engine.ask("open driver=tcp role=initiator max_size=1073741824")
    assert (error["event"], error["code"]) == ("error", "ENOMEM")
    assert engine.ask("open driver=tcp role=initiator max_size=1024")["event"] == "open"
