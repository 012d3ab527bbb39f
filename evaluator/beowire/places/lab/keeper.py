# SPDX-License-Identifier: BSD-3-Clause
"""The process that a lab lives and dies with.

    python3 -I isolated.py beowire.places.lab.keeper REQUEST      the JSON text of a KeeperRequest

The keeper is in the switch's namespace and has one child for each node, the *holder*, in the
namespaces of that node. Nothing else refers to them (no bind mount, no name), and the kernel kills
the holders when the keeper ends, however it ends; so every namespace, and with it every
interface, goes when the keeper goes. Without privilege the keeper makes a user namespace first.

On standard output it says one line: `ready`, or `error EXIT_CODE MESSAGE`. Standard input is its
lifeline: it ends when that is closed, so a lab that is made for one run dies with the process that
made it. A byte on it means: from now on, stay without it.
"""

import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from fcntl import ioctl
from pathlib import Path
from typing import NoReturn, Protocol

from beowire.errors import BeowireError
from beowire.places.lab import congestion, kernel, network, processes
from beowire.places.lab.options import LabOptions
from beowire.places.lab.state import LabFiles, LabNode, LabState
from beowire.places.lab.tools import attempt, find_tool, run_batch

_SIOCGIFFLAGS = 0x8913
_IFF_RUNNING = 0x40
_READY_S = 20.0
_PROGRAM_GRACE_S = 2.0

QUIET_IPV6 = {
    f"net/ipv6/conf/{scope}/{name}": "0"
    for scope in ("all", "default")
    for name in ("accept_dad", "accept_ra", "router_solicitations")
}
"""Of a node, below /proc/sys. Duplicate address detection would keep an address from being used for
a second, router solicitations would put frames on the wire that nobody sent."""


@dataclass(frozen=True)
class KeeperRequest:
    """What the keeper is told to make."""

    name: str
    options: LabOptions
    ephemeral: bool
    cores: tuple[int | None, ...]
    """For each node: the core that its programs are pinned to."""

    relay: str
    """Path of the relay program; "" when there is none."""

    def to_json(self) -> str:
        """The text that the keeper takes as its argument."""
        return json.dumps(asdict(self), allow_nan=False)

    @staticmethod
    def from_json(text: str) -> "KeeperRequest":
        """The request that `to_json` wrote."""
        data = json.loads(text)
        return KeeperRequest(
            **{**data, "options": LabOptions(**data["options"]), "cores": tuple(data["cores"])}
        )


class _Holder:
    """The keeper's end of a node: the child that holds it, and a socket to tell it what to do."""

    def __init__(self, index: int, options: LabOptions, others: "list[_Holder]") -> None:
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        keeper = os.getpid()
        self.channel = mine
        self.pid = os.fork()
        if self.pid == 0:
            for other in [*others, self]:
                other.channel.close()
            _hold(index, options, theirs, keeper)
        theirs.close()

    def wait_for_answer(self) -> str:
        """What the child says when it has done what it was at; raises its error."""
        answer = json.loads(self.channel.recv(65536) or b'{"error": "a node of the lab died"}')
        if answer["error"]:
            raise BeowireError(answer["error"])
        return str(answer["said"])

    def configure(self) -> None:
        """Tells the child that its interface is there."""
        self.channel.send(b"go")


def _hold(index: int, options: LabOptions, channel: socket.socket, keeper: int) -> NoReturn:
    """The life of a holder: make the namespaces, configure the interface, stay."""
    try:
        let_go_of_output()
        kernel.set_parent_death_signal(signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(1)
        kernel.set_process_name(f"lab {network.node_name(index)}")
        for step in (_make_namespaces, _configure_node):
            error = said = ""
            try:
                said = step(index, options)
            except BeowireError as failure:
                error = str(failure)
            except Exception as failure:
                error = f"{network.node_name(index)}: {failure!r}"
            channel.send(json.dumps({"error": error, "said": said}, allow_nan=False).encode())
            if not channel.recv(16):  # waits for the keeper's `go`; the second time for its end
                break
    finally:
        os._exit(0)


def _make_namespaces(index: int, options: LabOptions) -> str:
    """Says which congestion control TCP has in the node."""
    _separate(network.node_name(index))
    for path, value in QUIET_IPV6.items():
        _set_sysctl(path, value)
    return congestion.set_default(options.congestion)


def _configure_node(index: int, options: LabOptions) -> str:
    run_batch("ip", network.node_links(options, index))
    _switch_off_offloads([network.NODE_INTERFACE], options)
    run_batch("tc", network.node_queues(options), "this kernel cannot shape: leave out --rate")
    _wait_until_running([network.NODE_INTERFACE])
    return ""


def _separate(hostname: str) -> None:
    kernel.unshare(kernel.CLONE_NEWNET | kernel.CLONE_NEWUTS | kernel.CLONE_NEWNS)
    kernel.set_hostname(hostname)
    with contextlib.suppress(OSError):  # refused in some containers: then /sys shows the host
        kernel.mount_own_sysfs()


def _become_able() -> None:
    """Enters the switch's namespaces, through a user namespace where privilege is missing."""
    with contextlib.suppress(OSError):
        _separate(network.SWITCH)
        return
    try:
        kernel.become_root_of_user_namespace()
        _separate(network.SWITCH)
    except OSError as error:
        raise BeowireError(
            f"this user may not make namespaces ({error.strerror}): run as root, or allow them with"
            f" `{_allow_user_namespaces()}`"
        ) from None


def _allow_user_namespaces() -> str:
    """The command that lifts the restriction which this host has on user namespaces."""
    for name, value in (
        ("kernel/apparmor_restrict_unprivileged_userns", "0"),
        ("kernel/unprivileged_userns_clone", "1"),
    ):
        with contextlib.suppress(OSError):
            if Path(f"/proc/sys/{name}").read_text(encoding="ascii").strip() != value:
                return f"sysctl {name.replace('/', '.')}={value}"
    return "sysctl user.max_user_namespaces=10000"


def _set_sysctl(name: str, value: str) -> None:
    with contextlib.suppress(OSError):  # no IPv6, or a read-only /proc/sys
        Path("/proc/sys", name).write_text(value, encoding="ascii")


def _switch_off_offloads(devices: list[str], options: LabOptions) -> None:
    if not options.impaired or options.cards_cut:
        return
    for device in devices:
        kernel.disable_features(device, network.SEGMENTATION)
        if options.delay_ns > 0:
            kernel.disable_features(device, network.CHECKSUM_AND_VLAN)


def _wait_until_running(devices: list[str]) -> None:
    """Waits until interfaces are up and have a carrier; that follows `up` by some milliseconds."""
    deadline = time.monotonic() + _READY_S
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for device in devices:
            request = struct.pack("16sH22x", device.encode(), 0)
            while not struct.unpack_from("H", ioctl(control, _SIOCGIFFLAGS, request), 16)[0] & (
                _IFF_RUNNING
            ):
                if time.monotonic() > deadline:
                    raise BeowireError(f"{device} of the lab did not come up in {_READY_S:.0f} s")
                time.sleep(0.002)


class _Lab:
    """The lab while it is made and kept, seen from its keeper."""

    def __init__(self, request: KeeperRequest) -> None:
        self.request = request
        self.options = request.options
        self.files = LabFiles.of(request.name)
        self.holders: list[_Holder] = []
        self.relay: subprocess.Popen[bytes] | None = None

    def make(self) -> LabState:
        """Makes everything; returns when frames can go from each node to each other."""
        kernel.set_process_name(f"lab {network.SWITCH}")
        _become_able()
        for scope in ("all", "default"):  # the switch itself never says anything
            _set_sysctl(f"net/ipv6/conf/{scope}/disable_ipv6", "1")
        for index in range(self.options.nodes):
            self.holders.append(_Holder(index, self.options, self.holders))
        used = [holder.wait_for_answer() for holder in self.holders]  # one kernel: the same in all
        devices = network.switch_devices(self.options)
        run_batch("ip", network.links(self.options, [holder.pid for holder in self.holders]))
        _switch_off_offloads(devices, self.options)
        delay_by = self._join_wires()
        for holder in self.holders:
            holder.configure()
        for holder in self.holders:
            holder.wait_for_answer()
        _wait_until_running(devices)
        return self._describe(delay_by, used[0])

    def _join_wires(self) -> str:
        """Has frames go through the wires; returns what delays them."""
        options = self.options
        delay_by = ""
        if options.delay_ns > 0:
            delay_by = "netem" if _netem_can_delay(options) else "relay"
        shaping = "this kernel cannot shape: leave out --rate"
        run_batch("tc", network.queues(options, by_netem=delay_by == "netem"), shaping)
        if delay_by == "relay":
            self._start_relay()
        filtering = "this needs nftables with the netdev family in the kernel (Linux 5.16 or later)"
        run_batch("nft", network.rules(options, by_relay=delay_by == "relay"), filtering)
        return delay_by

    def _start_relay(self) -> None:
        if not self.request.relay:
            raise BeowireError(
                "this kernel has no netem, and beowire-relay is not built: build it first (`make`)"
                " or leave out --delay"
            )
        pairs = [
            name
            for way in network.ways(self.options)
            if way.entry
            for name in (way.source, way.target)
        ]
        self.relay = subprocess.Popen(
            [self.request.relay, str(self.options.delay_ns), str(self.files.counters), *pairs],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.relay.stdout is not None and self.relay.stderr is not None
        if self.relay.stdout.readline() != b"ready\n":
            said = self.relay.stderr.read().decode(errors="replace").strip()
            raise BeowireError(said.splitlines()[0] if said else "beowire-relay does not start")

    def _describe(self, delay_by: str, congestion_control: str) -> LabState:
        nodes = tuple(
            LabNode(
                name=network.node_name(index),
                holder=processes.find_process(holder.pid),
                namespaces=processes.namespaces_of(holder.pid),
                address=network.node_address(index),
                address6=network.node_address6(index, self.options),
                mac=network.node_mac(index),
                cpu=self.request.cores[index],
            )
            for index, holder in enumerate(self.holders)
        )
        keeper = processes.this_process()
        here = processes.namespaces_of(keeper.pid)
        return LabState(
            name=self.request.name,
            keeper=keeper,
            boot_id=processes.boot_id(),
            ephemeral=self.request.ephemeral,
            options=self.options,
            nodes=nodes,
            switch=LabNode(network.SWITCH, keeper, here, "", "", "", None),
            delay_by=delay_by,
            congestion_control=congestion_control,
        )

    def keep(self) -> None:
        """Returns when the lab should end: a signal, the lifeline, or the death of a part of it."""
        waker, wakened = socket.socketpair()
        for end in (waker, wakened):
            end.setblocking(False)
        signal.set_wakeup_fd(waker.fileno())
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        poller = select.poll()
        poller.register(wakened, select.POLLIN)
        for holder in self.holders:
            poller.register(holder.channel, select.POLLIN)
        if self.relay is not None:
            poller.register(os.pidfd_open(self.relay.pid), select.POLLIN)
        poller.register(0, select.POLLIN)
        print("ready", flush=True)
        let_go_of_output()
        while True:
            woken = [descriptor for descriptor, _ in poller.poll()]
            if woken != [0] or not os.read(0, 1):
                return
            poller.unregister(0)

    def end(self, state: LabState) -> None:
        """Ends what still runs in the nodes, in order; the rest goes with this process."""
        own = {os.getpid(), *(holder.pid for holder in self.holders)}
        if self.relay is not None:
            own.add(self.relay.pid)
        programs = [p for p in processes.members(state.namespaces()) if p.pid not in own]
        processes.end(programs, _PROGRAM_GRACE_S)
        for holder, node in zip(self.holders, state.nodes, strict=True):
            processes.end([node.holder], 0.0)
            os.waitpid(holder.pid, 0)
        if self.relay is not None:
            self.relay.kill()
            self.relay.wait()


def _netem_can_delay(options: LabOptions) -> bool:
    if options.delay_ns % 1000 != 0:
        return False
    words = network.netem(options).split()
    tc = find_tool("tc")
    if attempt([tc, "qdisc", "add", "dev", "lo", "root", *words]).returncode != 0:
        return False
    attempt([tc, "qdisc", "del", "dev", "lo", "root"])
    return True


def let_go_of_output() -> None:
    """Has standard output go nowhere: whoever reads what the maker says waits until nobody holds
    that pipe any more."""
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)


class Kept(Protocol):
    """A lab that a keeper makes, keeps and ends."""

    files: LabFiles

    def make(self) -> LabState:
        """Makes it."""
        ...

    def keep(self) -> None:
        """Says `ready`, and returns when it should end."""
        ...

    def end(self, state: LabState) -> None:
        """Ends what the end of this process does not."""
        ...


def run(lab: Kept) -> None:
    """Makes the lab, keeps it, ends it."""
    try:
        state = lab.make()
        lab.files.write(state)
    except BeowireError as error:
        print(f"error {error.exit_code} {error}", flush=True)
        sys.exit(error.exit_code)
    except Exception as error:  # standard error goes nowhere
        print(f"error 1 the lab cannot be made: {error!r}", flush=True)
        sys.exit(1)
    try:
        lab.keep()
        lab.end(state)
    finally:
        lab.files.remove()


def main() -> None:
    """The keeper of a lab of namespaces."""
    run(_Lab(KeeperRequest.from_json(sys.argv[1])))


if __name__ == "__main__":
    main()
