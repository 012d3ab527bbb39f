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
from beowire import run as running
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.launch.machines import MachinesLauncher
from beowire.record import Result, read_record

SUMMARY = "interrupts of a network card for a round trip of 8 B, and TCP on the same card"
SECONDS = 120.0

_SIZE = 8
_NODES = ("node0", "node1")
_AT_LEAST = 1.0
_AT_MOST = 0.05
_BOOT_S = 300.0
_CALL_S = 120.0
_COMMAND = "scripts/bench interrupts"

#: What engines take to start in such machines.
_START_S = 15.0

#: What says that polling is preferred: the host's to set (docs/CONFIGURATION.md). The times are
#: for emulated machines, whose every step takes a hundred times as long.
_PREFERRED = {"napi_defer_hard_irqs": 1000, "gro_flush_timeout": 20_000_000}

#: Cards whose driver has an interrupt for what was sent, too, unless it is loaded so.
_QUIET_SENDING = {
    "virtio": ("virtio_net", "napi_tx=0"),
    "e1000e": ("e1000e", "TxIntDelay=65535 TxAbsIntDelay=65535"),
}

#: What polls a queue: the lane xdp where the driver has a hook for it, a UDP lane everywhere.
_POLLING = {"virtio": ("beowire-xdp", "beowire"), "e1000e": ("beowire",)}

#: The parameter is not always one that can be read, so the module is loaded again in any case.
_RELOAD = """
set -e
address=$(ip -4 -o addr show eth0 | sed 's/.*inet \\([0-9./]*\\).*/\\1/')
rmmod {module}
modprobe {module} {parameter}
until [ -e /sys/class/net/eth0 ]; do sleep 0.1; done
ip link set eth0 up
ip addr add $address dev eth0
until [ "$(cat /sys/class/net/eth0/carrier)" = 1 ]; do sleep 0.1; done
"""

#: Round trips of 64 B over TCP for so many seconds: how many, their median, segments sent again.
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
    sys.exit()
end = socket.create_connection((peer, 7777))
end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
before, begun, times = sent_again(), time.monotonic(), []
while time.monotonic() - begun < seconds:
    at = time.monotonic()
    end.sendall(b"x" * 64)
    left = 64
    while left:
        left -= len(end.recv(left))
    times.append(time.monotonic() - at)
print(json.dumps({"trips": len(times), "median_s": statistics.median(times),
                  "longest_s": max(times), "sent_again": sent_again() - before}))
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
    for card in _QUIET_SENDING:
        try:
            with _lab(card) as lab:
                _measure(context, lab, card, results)
        except BeowireError as error:
            results.problems.append(f"{card}: {error}")
    return results


def _measure(context: Context, lab: _Lab, card: str, results: Results) -> None:
    seconds = context.seconds / (4 * len(_QUIET_SENDING))
    module, parameter = _QUIET_SENDING[card]
    _note(results, card, "beowire-packet", _compare(context, lab, card, "beowire-packet", seconds))
    for node in _NODES:
        lab.run(node, "sh", "-c", _RELOAD.format(module=module, parameter=parameter))
        for name, value in _PREFERRED.items():
            lab.run(node, "sh", "-c", f"echo {value} > /sys/class/net/eth0/{name}")
    polled = {"BEOWIRE_SETTINGS": "busy_poll_us=50"}
    for driver in _POLLING[card]:
        cell = _compare(context, lab, card, driver, seconds, variables=polled)
        _note(results, card, driver, cell, polled=True)
    with _tcp(lab, seconds) as client:
        alone = _trips(client)
    with _tcp(lab, seconds + _START_S) as client:
        _compare(context, lab, card, _POLLING[card][0], seconds, variables=polled)
        beside = _trips(client)
    results.figures.append(
        Figure(
            f"{card}: segments of TCP that were sent again beside {_POLLING[card][0]}",
            figure.exactly(float(beside["sent_again"])),
            _COMMAND,
            at_most=0,
            unit=" ",
            detail=f"{card}, TCP round trips of 64 B: alone {_told(alone)}; beside {_told(beside)}",
        )
    )


def _note(results: Results, card: str, driver: str, cell: Result, *, polled: bool = False) -> None:
    counts = [end.get("card_interrupts") for end in cell.probes]
    known = [count for count in counts if count is not None]
    if len(known) < len(_NODES):
        results.problems.append(f"{card}, {driver}: the card's interrupts are not known")
        return
    worst = max(known) if polled else min(known)
    how = "polled" if polled else "as the kernel has it"
    results.figures.append(
        Figure(
            f"{card}: interrupts for a round trip, {driver}, {how}",
            figure.exactly(worst),
            _COMMAND,
            at_most=_AT_MOST if polled else None,
            at_least=None if polled else _AT_LEAST,
            unit=" ",
            detail=f"{card}, {driver}, {how}: {known[0]:.3g} and {known[1]:.3g} at the two ends,"
            f" {cell.n} round trips",
        )
    )


def _compare(
    context: Context,
    lab: _Lab,
    card: str,
    driver: str,
    seconds: float,
    *,
    variables: Mapping[str, str] | None = None,
) -> Result:
    """One cell, in the lab that is there. BeowireError: it was not measured."""
    directory = context.part(f"{card}-{driver}-{time.monotonic_ns()}")
    request = running.Request(["pingpong"], [_SIZE], directory, drivers=driver, seconds=seconds)
    with _environment(variables or {}), Interrupts() as interrupts:
        running.run(MachinesLauncher.attach(lab.name), request, interrupts)
    results = read_record(request.record).results
    if not results or results[0].status != "ok":
        raise BeowireError(f"{driver}: {results[0].status if results else 'was not measured'}")
    return results[0]


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
        f"{measured['trips']:.0f}, median {measured['median_s'] * 1e3:.2g} ms, longest"
        f" {measured['longest_s'] * 1e3:.2g} ms, {measured['sent_again']:.0f} segments sent again"
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
