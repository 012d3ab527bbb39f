# SPDX-License-Identifier: BSD-3-Clause
"""How often a network card interrupts for a message: with the kernel's interrupts, and where its
queue is polled in place of them; and what becomes of TCP on the same card meanwhile.

The cards are QEMU's, between two machines of a lab, so times say nothing; counts do. A round trip
is two frames to each end: one that comes, one that is sent.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks import figure
from benchmarks.context import Context
from benchmarks.figure import Figure, Results
from beowire import isolated
from beowire.compare import run as running
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.launch.machines import MachinesLauncher
from beowire.record.lines import Result
from beowire.record.reader import read_record
from beowire.units import rate_text, time_text

SUMMARY = "interrupts of a network card for a round trip of 8 B, and TCP on the same card"
SECONDS = 180.0

_SIZE = 8
_NODES = ("node0", "node1")
_AT_LEAST = 1.0
_AT_MOST = 0.05
_BOOT_S = 300.0
_CALL_S = 120.0
_COMMAND = "scripts/bench interrupts"

#: What engines take to start in such machines.
_START_S = 15.0
_CARRIER_S = 30

#: What says that polling is preferred: the host's to set (docs/CONFIGURATION.md). So often the
#: kernel looks in vain before it lets interrupts in again.
_DEFER = 1000

#: Sets one word of a card's struct ethtool_coalesce (linux/ethtool.h), as `ethtool -C` does, which
#: is not everywhere.
_COALESCE = """
import ctypes, fcntl, socket, struct, sys
name, at, value = sys.argv[1].encode(), int(sys.argv[2]), int(sys.argv[3])
words = ctypes.create_string_buffer(23 * 4)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
    for command in (0xE, 0xF):
        struct.pack_into("I", words, 0, command)
        if command == 0xF:
            struct.pack_into("I", words, 4 * at, value)
        request = struct.pack("16sP16x", name, ctypes.addressof(words))
        fcntl.ioctl(control, 0x8946, request)
"""
_RECEIVE_US, _SENT_FRAMES = 1, 6


@dataclass(frozen=True)
class _Card:
    """A kind of card, and how it is had quiet."""

    polling: tuple[str, ...]
    """What polls its queue: the lane xdp where the driver has a hook for it, a UDP lane
    everywhere."""
    coalesce: tuple[int, int] | None = None
    """What is set of `ethtool -C`, and to what, against interrupts for what was *sent*."""
    wait_ns: int = 1_000_000
    """gro_flush_timeout: for emulated machines, whose every step takes many times as long."""


_CARDS = {
    # The driver lets the card interrupt for a moment after each look, and so after the kernel's.
    "virtio": _Card(("beowire-xdp", "beowire"), (_SENT_FRAMES, 0), 20_000_000),
    "e1000": _Card(("beowire",)),
    # The driver's vector for what was sent is not polled: at most 100 interrupts a second.
    "e1000e": _Card(("beowire",), (_RECEIVE_US, 10_000)),
}

#: Names and counts of the card's interrupts.
_VECTORS = """
device=$(basename "$(readlink /sys/class/net/eth0/device)")
grep -wE "eth0(-[a-z0-9-]+)?|$device-[a-z]+(.[0-9]+)?" /proc/interrupts
"""

#: Over TCP, half of so many seconds each: round trips of 64 B (how many, their median, the
#: longest), then a stream (bytes a second that arrived); and segments sent again.
_TCP = """
import json, socket, statistics, sys, time
def sent_again():
    rows = [line.split() for line in open("/proc/net/snmp") if line.startswith("Tcp:")]
    return int(dict(zip(*rows))["RetransSegs"])
peer, seconds = sys.argv[1], float(sys.argv[2])
if not peer:
    server = socket.create_server(("", 7777))
    print("listens", flush=True)
    end, _ = server.accept()
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while data := end.recv(64):
        end.sendall(data)
    end, _ = server.accept()
    count = 0
    while data := end.recv(1 << 18):
        count += len(data)
    end.sendall(count.to_bytes(8, "big"))
    sys.exit()
end = socket.create_connection((peer, 7777))
end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
before, begun, times = sent_again(), time.monotonic(), []
while time.monotonic() - begun < seconds / 2:
    at = time.monotonic()
    end.sendall(b"x" * 64)
    left = 64
    while left:
        left -= len(end.recv(left))
    times.append(time.monotonic() - at)
end.close()
end, begun = socket.create_connection((peer, 7777)), time.monotonic()
while time.monotonic() - begun < seconds / 2:
    end.sendall(bytes(1 << 16))
end.shutdown(socket.SHUT_WR)
count = int.from_bytes(end.recv(8, socket.MSG_WAITALL), "big")
print(json.dumps({"trips": len(times), "median_s": statistics.median(times),
                  "longest_s": max(times), "sent_again": sent_again() - before,
                  "bytes_per_s": count / (time.monotonic() - begun)}))
"""


@dataclass(frozen=True)
class _Lab:
    """Two machines with one kind of card."""

    name: str

    def command(self, node: str, *words: str) -> list[str]:
        """What runs a program in a node."""
        return [*_beowire("lab", "exec", "--name", self.name, node, "--"), *words]

    def run(self, node: str, *words: str) -> str:
        """What it says. BeowireError with its last line if it fails."""
        return _said(self.command(node, *words), _CALL_S)


def run(context: Context) -> Results:
    """One card after the other: only as many machines at a time as a small host has room for."""
    results = Results()
    for name, card in _CARDS.items():
        try:
            with _lab(name) as lab:
                _measure(_Run(context, lab, name, card, results))
        except BeowireError as error:
            results.problems.append(f"{name}: {error}")
    return results


@dataclass(frozen=True)
class _Run:
    """What is measured of a card."""

    context: Context
    lab: _Lab
    name: str
    card: _Card
    results: Results

    @property
    def seconds(self) -> float:
        """Of one measurement of six."""
        return self.context.seconds / (6 * len(_CARDS))


def _measure(one: _Run) -> None:
    plain, polled = "beowire-packet", {"BEOWIRE_SETTINGS": "busy_poll_us=50"}
    first = one.card.polling[-1]
    with _tcp(one.lab, one.seconds) as client:
        told = {"alone": _trips(client)}
    _counted(one, plain)
    told[f"beside {first}, as the kernel has it"] = _beside(one, first, {})
    _prefer_polling(one.lab, one.card)
    for driver in one.card.polling:
        _counted(one, driver, polled)
    told[f"beside {first}, polled"] = beside = _beside(one, first, polled)
    detail = "; ".join(f"{how}: {_told(measured)}" for how, measured in told.items())
    one.results.figures.append(
        Figure(
            f"{one.name}: segments of TCP that were sent again beside {first}, polled",
            figure.exactly(float(beside["sent_again"])),
            _COMMAND,
            at_most=0,
            unit=" ",
            detail=f"{one.name}, TCP: {detail}",
        )
    )


def _prefer_polling(lab: _Lab, card: _Card) -> None:
    for node in _NODES:
        if card.coalesce is not None:
            words = ("eth0", *(str(number) for number in card.coalesce))
            lab.run(node, "ip", "link", "set", "eth0", "down")
            lab.run(node, "python3", "-c", _COALESCE, *words)
            lab.run(node, "ip", "link", "set", "eth0", "up")
            carrier = 'until [ "$(cat /sys/class/net/eth0/carrier)" = 1 ]; do sleep 0.1; done'
            lab.run(node, "timeout", str(_CARRIER_S), "sh", "-c", carrier)
        preferred = {"napi_defer_hard_irqs": _DEFER, "gro_flush_timeout": card.wait_ns}
        for name, value in preferred.items():
            lab.run(node, "sh", "-c", f"echo {value} > /sys/class/net/eth0/{name}")


def _beside(one: _Run, driver: str, variables: Mapping[str, str]) -> dict[str, float]:
    """What becomes of TCP while the driver measures."""
    with _tcp(one.lab, one.seconds) as client:
        _compare(one, driver, one.seconds + _START_S, variables)
        return _trips(client)


def _counted(one: _Run, driver: str, variables: Mapping[str, str] | None = None) -> None:
    """A figure; with variables: polled."""
    before = vectors(one.lab.run(_NODES[0], "sh", "-c", _VECTORS))
    cell = _compare(one, driver, one.seconds, variables or {})
    after = vectors(one.lab.run(_NODES[0], "sh", "-c", _VECTORS))
    counts = [end.get("card_interrupts") for end in cell.probes]
    known = [count for count in counts if count is not None]
    if len(known) < len(_NODES):
        one.results.problems.append(f"{one.name}, {driver}: the card's interrupts are not known")
        return
    polled = variables is not None
    how = "polled" if polled else "as the kernel has it"
    half = cell.half_rtt_ns
    trip = "?" if half is None else time_text(2 * half.median)
    by_vector = ", ".join(
        f"{vector} {count - before.get(vector, 0)}" for vector, count in after.items()
    )
    one.results.figures.append(
        Figure(
            f"{one.name}: interrupts for a round trip, {driver}, {how}",
            figure.exactly(max(known) if polled else min(known)),
            _COMMAND,
            at_most=_AT_MOST if polled else None,
            at_least=None if polled else _AT_LEAST,
            unit=" ",
            detail=f"{one.name}, {driver}, {how}: {known[0]:.3g} and {known[1]:.3g} at the ends,"
            f" {cell.n} round trips of {trip} (median); by vector, with start and end: {by_vector}",
        )
    )


def vectors(said: str) -> dict[str, int]:
    """Names and counts, of lines of /proc/interrupts of a machine with one processor."""
    found = {}
    for line in said.splitlines():
        words = line.split()
        found[words[-1]] = int(words[1])
    return found


def _compare(one: _Run, driver: str, seconds: float, variables: Mapping[str, str]) -> Result:
    """One cell, in the lab that is there. BeowireError: it was not measured."""
    directory = one.context.part(f"{one.name}-{driver}-{time.monotonic_ns()}")
    request = running.Request(["pingpong"], [_SIZE], directory, drivers=driver, seconds=seconds)
    with _environment(variables), Interrupts() as interrupts:
        running.run(MachinesLauncher.attach(one.lab.name), request, interrupts)
    found = read_record(request.record).results
    if not found or found[0].status != "ok":
        raise BeowireError(f"{driver}: {found[0].status if found else 'was not measured'}")
    return found[0]


@contextmanager
def _tcp(lab: _Lab, seconds: float) -> Iterator[subprocess.Popen[str]]:
    """A client that goes to and fro, and has a server at the other node."""
    address = lab.run("node1", "ip", "-4", "-o", "addr", "show", "eth0").split()[3].split("/")[0]
    with _started(lab.command("node1", "python3", "-c", _TCP, "", "0")) as server:
        assert server.stdout is not None
        if server.stdout.readline().strip() != "listens":
            raise BeowireError("the server for TCP does not start")
        words = ("python3", "-c", _TCP, address, str(seconds))
        with _started(lab.command("node0", *words)) as client:
            yield client


@contextmanager
def _started(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _trips(client: subprocess.Popen[str]) -> dict[str, float]:
    said, _ = client.communicate(timeout=_CALL_S)
    measured: dict[str, float] = json.loads(said)
    return measured


def _told(measured: Mapping[str, float]) -> str:
    return (
        f"{measured['trips']:.0f} round trips of 64 B, median {measured['median_s'] * 1e3:.3g} ms,"
        f" longest {measured['longest_s'] * 1e3:.3g} ms, a stream"
        f" {rate_text(measured['bytes_per_s'])}, {measured['sent_again']:.0f} segments sent again"
    )


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _lab(card: str) -> Iterator[_Lab]:
    lab = _Lab(f"interrupts-{os.getpid()}")
    _said(_beowire("lab", "up", "--backend", "vm", "--nic", card, "--name", lab.name), _BOOT_S)
    try:
        yield lab
    finally:
        _said(_beowire("lab", "down", "--name", lab.name), _CALL_S)


def _beowire(*words: str) -> list[str]:
    return [*isolated.command("beowire"), *words]


def _said(command: list[str], timeout_s: float) -> str:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
    )
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise BeowireError(lines[-1] if lines else f"{command[-1]} ended with {done.returncode}")
    return done.stdout
