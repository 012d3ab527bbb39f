# SPDX-License-Identifier: BSD-3-Clause
"""The process that a lab of machines lives and dies with.

    python3 -I isolated.py beowire.places.lab.machines.keeper REQUEST   as beowire.places.lab.keeper

The machines are its children, and the kernel kills them when it ends, however it ends. Whoever
runs programs in them connects to its socket (`LabFiles.channel`). With QEMU each node is a machine;
user-mode Linux is one machine, in which a keeper of an ordinary lab makes the nodes.
"""

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from beowire import isolated
from beowire.errors import BeowireError
from beowire.places.lab import cluster, keeper, network, processes
from beowire.places.lab.cards import CARDS
from beowire.places.lab.keeper import KeeperRequest
from beowire.places.lab.machines import frames, initramfs, parts, qemu, uml
from beowire.places.lab.machines.broker import Broker
from beowire.places.lab.machines.frames import Link
from beowire.places.lab.machines.guest import Guest
from beowire.places.lab.machines.loop import Loop
from beowire.places.lab.machines.wire import Switch, cable
from beowire.places.lab.options import DEFAULT_MTU
from beowire.places.lab.processes import Namespaces
from beowire.places.lab.state import LabFiles, LabNode, LabState

BOOT_S = 200.0
"""How long machines may take until they are ready: emulated on a busy host they take a minute."""

LIFELINE = 0
"""The descriptor at whose end the lab ends."""

_NOWHERE = Namespaces(0, 0)
"""Nothing of this host is in a machine's namespaces."""

TRIED = ("tipc",)
"""Modules that are loaded wherever the kernel has them."""

SETTING_UP = {
    "tipc": ["tipc", "bearer", "enable", "media", "eth", "device", network.NODE_INTERFACE],
    "rdma_rxe": ["rdma", "link", "add", "rxe0", "type", "rxe", "netdev", network.NODE_INTERFACE],
}
"""What makes a module of the kernel use the node's card."""

_INSIDE = "inside"
"""The name of the lab that is in user-mode Linux."""

_UML = "machine"


class MachinesLab:
    """The lab while it is made and kept, seen from its keeper."""

    def __init__(self, request: KeeperRequest) -> None:
        self.request = request
        self.options = request.options
        self.files = LabFiles.of(request.name)
        self.loop = Loop()
        self.guests: list[Guest] = []
        self._links: dict[str, Link] = {}
        self._said: dict[str, dict[str, object]] = {}
        self._setups: dict[str, dict[str, object]] = {}
        self.broker = Broker(self.loop, lambda request: self._links.get(str(request["machine"])), 1)
        self._over: str | None = None

    def make(self) -> LabState:
        """Starts the machines; returns when each is what it is to be."""
        # Whoever asked for it may not want to wait until it is there.
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        self.loop.watch_signals(numbers, lambda _: self._end("it was taken down"))
        self.loop.watch(LIFELINE, self._read_lifeline, None)
        try:
            self._start()
            self._wait_for(self._have_answered, BOOT_S, "boots")
            for name, answer in self._said.items():
                if error := answer.get("error"):
                    raise BeowireError(f"{name}: {self._explained(str(error))}")
            state = self._describe()
            self.files.channel.unlink(missing_ok=True)
            self.broker.listen(self.files.channel)
        except BaseException:
            self._end_guests()
            raise
        return state

    def keep(self) -> None:
        """Returns when the lab should end: a signal, the lifeline, or the end of a machine."""
        print("ready", flush=True)
        keeper.let_go_of_output()
        while self._over is None:
            self.loop.step()

    def end(self, state: LabState) -> None:
        """Says so to whoever runs something in it, and switches the machines off."""
        del state
        self.broker.end_all(f"the lab {self.request.name} is gone: {self._over}")
        self._end_guests()

    # What differs between the two kinds.

    def _start(self) -> None:
        """Starts the machines."""
        found = parts.qemu_parts()
        parts.check_memory(self.options.nodes, qemu.MEMORY_BYTES)
        card = CARDS[self.options.nic]
        agent = [*isolated.command("beowire.places.lab.machines.agent"), qemu.PORT]
        archive = initramfs.in_memory(initramfs.make(found.kernel, found.busybox, agent))
        for index, end in enumerate(self._wires()):
            guest = self._add(network.node_name(index), self._setup_of(index, card.driver))
            words = qemu.command(
                found,
                card,
                index,
                initramfs=archive,
                console=guest.console_end.fileno(),
                control=guest.control_end.fileno(),
                wire=end.fileno(),
            )
            with end:
                guest.start(words, [archive, end.fileno()])
        os.close(archive)
        self._accelerator = "kvm" if found.kvm else "tcg"

    def _describe(self) -> LabState:
        nodes = []
        for index, guest in enumerate(self.guests):
            assert guest.process is not None
            nodes.append(
                LabNode(
                    name=guest.name,
                    holder=processes.find_process(guest.process.pid),
                    namespaces=_NOWHERE,
                    address=network.node_address(index),
                    address6=network.node_address6(index, self.options),
                    mac=network.node_mac(index),
                    cpu=0,
                    machine=guest.name,
                    channel=str(self.files.channel),
                )
            )
        said = self._said[self.guests[0].name]
        nowhere = LabNode(network.SWITCH, processes.this_process(), _NOWHERE, "", "", "", None)
        return self._state(tuple(nodes), nowhere, "", said, str(said.get("congestion") or ""))

    def _explained(self, error: str) -> str:
        if error.startswith("ip: ") and self.options.mtu != DEFAULT_MTU:
            return f"the card {self.options.nic} takes no MTU {self.options.mtu}: leave out --mtu"
        return error

    # What they have in common.

    def _state(
        self,
        nodes: tuple[LabNode, ...],
        switch: LabNode,
        delay_by: str,
        said: dict[str, object],
        used: str,
    ) -> LabState:
        return LabState(
            name=self.request.name,
            keeper=processes.this_process(),
            boot_id=processes.boot_id(),
            ephemeral=self.request.ephemeral,
            options=self.options,
            nodes=nodes,
            switch=switch,
            delay_by=delay_by,
            congestion_control=used,
            accelerator=self._accelerator,
            kernel=str(said.get("kernel") or ""),
        )

    def _add(self, name: str, setup: dict[str, object]) -> Guest:
        guest = Guest(self.loop, name, self._guest_ended)
        self.guests.append(guest)
        self._setups[name] = setup
        link = Link(
            self.loop,
            guest.control.detach(),
            lambda link, session, kind, data: self._arrived(name, link, session, kind, data),
            lambda _: None,  # its process ends as well
        )
        self._links[name] = link
        return guest

    def _arrived(self, name: str, link: Link, session: int, kind: int, data: bytes) -> None:
        if kind == frames.HELLO:
            link.send(0, frames.SETUP, json.dumps(self._setups[name], allow_nan=False).encode())
        elif kind == frames.READY:
            self._said[name] = json.loads(data)
        else:
            self.broker.pass_on(link, session, kind, data)

    def _setup_of(self, index: int, driver: str) -> dict[str, object]:
        return {
            "hostname": network.node_name(index),
            "modules": [driver, "ipv6", "af_packet", *self.options.modules],
            "tried": [name for name in TRIED if name not in self.options.modules],
            "sysctls": keeper.QUIET_IPV6,
            "interface": network.NODE_INTERFACE,
            "ip": [
                f"link set {network.NODE_INTERFACE} mtu {self.options.mtu}",
                *network.node_links(self.options, index)[:1],
                *network.node_links(self.options, index)[2:],
            ],
            "congestion": self.options.congestion,
            "commands": SETTING_UP,
        }

    def _wires(self) -> Sequence[socket.socket]:
        """The ends for the cards."""
        if self.options.link == "direct":
            return cable()
        switch = Switch(self.loop)
        return [switch.port() for _ in range(self.options.nodes)]

    def _wait_for(self, done: Callable[[], bool], limit_s: float, what: str) -> None:
        deadline = time.monotonic() + limit_s
        while not done():
            if self._over is not None:
                raise BeowireError(self._over, exit_code=1)
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                late = next((one for one in self.guests if one.name not in self._said), None)
                why = "" if late is None else f": {late.name}: {late.why()}"
                raise BeowireError(f"no machine {what} in {limit_s:.0f} s{why}", exit_code=1)
            self.loop.step(left_s)

    def _have_answered(self) -> bool:
        """All that were waited for; or there is no point in waiting."""
        every = len(self._said) == len(self.guests)
        return every or any("error" in answer for answer in self._said.values())

    def _guest_ended(self, guest: Guest) -> None:
        self._end(f"{guest.name}: {guest.why()}")

    def _end(self, why: str) -> None:
        if self._over is None:
            self._over = why

    def _read_lifeline(self) -> None:
        if not os.read(LIFELINE, 1):
            self._end("who made it has ended")
        else:
            self.loop.forget(LIFELINE)

    def _end_guests(self) -> None:
        for guest in self.guests:
            guest.end()


class UmlLab(MachinesLab):
    """One machine of user-mode Linux, and an ordinary lab in it."""

    def _start(self) -> None:
        found = parts.uml_parts()
        parts.check_memory(1, uml.MEMORY_BYTES)
        agent = [
            *isolated.command("beowire.places.lab.machines.agent"),
            uml.PORT,
            str(found.kernel.modules),
        ]
        modules = ["ipv6", *self.options.modules]
        guest = self._add(_UML, {"modules": modules, "tried": list(TRIED)})
        words = uml.command(found, agent, control=guest.control_end.fileno())
        guest.start(words, [])
        self._accelerator = "uml"

    def _explained(self, error: str) -> str:
        return error

    def _describe(self) -> LabState:
        inner = replace(self.options, backend="namespaces", modules=())
        request = replace(
            self.request,
            name=_INSIDE,
            options=inner,
            ephemeral=True,
            cores=(None,) * inner.nodes,
        )
        words = [*isolated.command("beowire.places.lab.keeper"), request.to_json()]
        self._keeper = _Conversation(self, words)
        self._wait_for(
            lambda: b"\n" in self._keeper.output or self._keeper.over, BOOT_S, "is ready"
        )
        answer = self._keeper.output.decode(errors="replace").partition("\n")[0]
        if answer != "ready":
            raise BeowireError(
                answer.partition(" ")[2].partition(" ")[2] or "the lab's keeper died"
            )
        self._keeper.at_end = lambda: self._end("the lab in its machine has ended")
        reading = _Conversation(self, ["cat", f"{_RUNTIME}/{_INSIDE}.lab.json"])
        self._wait_for(lambda: reading.over, BOOT_S, "answers")
        inside = LabState.from_json(reading.output.decode())
        nodes = tuple(self._inside(node) for node in inside.nodes)
        said = self._said[_UML]
        loaded = said.get("loaded")
        assert isinstance(loaded, list)
        for node in nodes:
            for module in loaded:
                if module in SETTING_UP:
                    self._set_up(node, module)
        used = inside.congestion_control
        return self._state(nodes, self._inside(inside.switch), inside.delay_by, said, used)

    def _inside(self, node: LabNode) -> LabNode:
        channel = str(self.files.channel)
        return replace(node, namespaces=_NOWHERE, machine=_UML, channel=channel, nested=True)

    def _set_up(self, node: LabNode, module: str) -> None:
        doing = _Conversation(self, [*cluster.enter(node), "-", "0", "/", *SETTING_UP[module]])
        self._wait_for(lambda: doing.over, BOOT_S, "answers")
        if doing.failed:
            raise BeowireError(f"{node.name}: {module}: {doing.output.decode().strip()}")


_RUNTIME = "/run/beowire-inside"


class _Conversation:
    """A program in the machine that this keeper itself runs."""

    def __init__(self, lab: MachinesLab, command: Sequence[str]) -> None:
        ours, theirs = socket.socketpair()
        lab.broker.add(theirs)
        self.output = b""
        self.over = False
        self.failed = False
        self.at_end: Callable[[], None] = lambda: None
        environment = {**os.environ, "BEOWIRE_RUNTIME_DIR": _RUNTIME}
        self._link = Link(lab.loop, ours.detach(), self._arrived, lambda _: None)
        request = {
            "machine": _UML,
            "command": list(command),
            "environment": environment,
            "directory": "/",
            "cpu": "-",
        }
        self._link.send(1, frames.START, json.dumps(request, allow_nan=False).encode())

    def _arrived(self, link: Link, session: int, kind: int, data: bytes) -> None:
        del link, session
        if kind in (frames.OUTPUT, frames.ERRORS):
            self.output += data
        elif kind == frames.EXIT:
            ending = json.loads(data)
            self.over = True
            self.failed = ending.get("status") != 0
            if "refused" in ending:
                self.output += ending["refused"][1].encode()
            self.at_end()


def main() -> None:
    """Makes the lab, keeps it, ends it."""
    request = KeeperRequest.from_json(sys.argv[1])
    kinds = {"vm": MachinesLab, "uml": UmlLab}
    keeper.run(kinds[request.options.backend](request))


if __name__ == "__main__":
    main()
