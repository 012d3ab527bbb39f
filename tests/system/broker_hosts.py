# SPDX-License-Identifier: BSD-3-Clause
"""For the tests of the broker: nodes of a lab that have one, and processes that it serves."""

import contextlib
import json
import struct
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from beowire.places.lab import cluster
from beowire.places.lab.options import LabOptions
from beowire.places.lab.state import LabState
from system.conftest import ROOT, wait_until

BROKER = ROOT / "build" / "release" / "broker" / "beowired"

#: Debian's `nogroup`, and a user of it; another user, who is in no group that the broker knows.
USER = 65534
STRANGER = 65533
POLICY = 'groups = ["nogroup"]\nendpoints_per_user = 4\n'

#: Without any privilege, a member of the group.
PLAIN = (
    "setpriv",
    f"--reuid={USER}",
    f"--regid={USER}",
    "--clear-groups",
    "--bounding-set=-all",
    "--inh-caps=-all",
)

#: What the broker has of the privileges in its unit, and no more.
OWN_USER = (
    "setpriv",
    "--reuid=65532",
    "--regid=65532",
    "--clear-groups",
    "--inh-caps=-all,+net_admin,+bpf",
    "--ambient-caps=-all,+net_admin,+bpf",
    "--bounding-set=-all,+net_admin,+bpf",
)

SOL_SOCKET, SOL_PACKET = 1, 263
ETHERTYPE = 0x88B5

#: A node has its own /run, and shows control groups; $1 is the broker's.
PREPARE = (
    "[ -e /run/of-lab ] || { mount -t tmpfs none /run; mkdir -m 777 /run/beowire /run/of-lab; };"
    " [ -e /sys/fs/cgroup/cgroup.procs ] || mount -t cgroup2 none /sys/fs/cgroup;"
    " mkdir -p /sys/fs/cgroup/$1; echo $$ >/sys/fs/cgroup/$1/cgroup.procs;"
    ' shift; exec "$@"'
)


@dataclass
class Hosts:
    """A lab of two nodes with a broker each, if there is one."""

    lab: LabState
    directory: Path
    group: str
    brokers: dict[str, "subprocess.Popen[str]"] = field(default_factory=dict)
    holders: list["Holder"] = field(default_factory=list)

    def in_node(self, node: str, *words: str) -> list[str]:
        return cluster.command_in(cluster.node_of(self.lab, node), words, pin=False)

    def start_broker(
        self, node: str, policy: str = POLICY, before: Sequence[str] = OWN_USER
    ) -> None:
        path = self.directory / "broker.toml"
        path.write_text(policy, encoding="ascii")
        words = ("sh", "-c", PREPARE, "sh", self.group, *before, str(BROKER), str(path))
        self.brokers[node] = subprocess.Popen(
            self.in_node(node, *words), stderr=subprocess.PIPE, text=True
        )
        listens = self.in_node(node, "sh", "-c", "grep -q ' /run/beowire/broker$' /proc/net/unix")
        assert wait_until(lambda: subprocess.run(listens, check=False).returncode == 0), self.end(
            node
        )

    def end(self, node: str) -> str:
        """Ends the broker of a node; what it said."""
        broker = self.brokers.pop(node)
        broker.kill()
        return broker.communicate()[1]

    def remove_group(self) -> None:
        remove = self.in_node("node0", "rmdir", f"/sys/fs/cgroup/{self.group}")
        # What was killed is in it until it has ended.
        assert wait_until(lambda: subprocess.run(remove, check=False).returncode == 0)

    def holder(
        self,
        user: int = USER,
        node: str = "node0",
        before: tuple[str, ...] = (),
        group: int | None = None,
    ) -> "Holder":
        who = (user, user if group is None else group)
        made = Holder(self, who, node, before)
        self.holders.append(made)
        return made

    def close(self) -> None:
        for holder in self.holders:
            holder.end()
        for node in list(self.brokers):
            self.end(node)


class Holder:
    """A process of hold_frames.py."""

    def __init__(
        self, hosts: Hosts, who: tuple[int, int], node: str, before: tuple[str, ...]
    ) -> None:
        """Starts it."""
        program = Path(__file__).with_name("hold_frames.py")
        self.mac = b""
        self.number = 0
        self.process = subprocess.Popen(
            hosts.in_node(node, *before, sys.executable, "-I", str(program), *map(str, who)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def say(self, *words: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        """The result; of an error, its name."""
        assert self.process.stdout is not None
        said = json.loads(self.process.stdout.readline())
        return said["ok"] if "ok" in said else said["error"]

    def do(self, *words: object) -> Any:
        self.say(*words)
        return self.answer()

    def ask(self, *words: object) -> "Holder":
        """Has the broker grant it a socket on eth0."""
        said = self.do("ask", "eth0", *words)
        assert "why" not in said, said
        self.number, self.mac = said["number"], bytes.fromhex(said["mac"])
        return self

    def open(self) -> "Holder":
        """Opens its own, as root can."""
        self.mac = bytes.fromhex(self.do("own", "eth0"))
        return self

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(name="hosts")
def make_hosts(place: Path) -> Iterator[Hosts]:
    """Both nodes have a broker, which keeps the options of its sockets closed."""
    with running(place) as hosts:
        hosts.start_broker("node0")
        yield hosts


@pytest.fixture(name="place")
def make_place() -> Iterator[Path]:
    """A directory that everybody may enter; those of pytest are root's alone."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o777)
        yield Path(name)


@contextlib.contextmanager
def running(place: Path, nodes: int = 2, mtu: int = 1500) -> Iterator[Hosts]:
    group = f"beowire-test-{uuid.uuid4().hex[:8]}"
    lab = cluster.up_ephemeral(LabOptions(nodes=nodes, link="switch", mtu=mtu), "broker")
    hosts = Hosts(lab.state, place, group)
    try:
        yield hosts
    finally:
        hosts.close()
        hosts.remove_group()
        lab.close()


def frame(
    holder: Holder,
    to: bytes,
    what: str,
    *,
    source: bytes | None = None,
    ethertype: int = ETHERTYPE,
    number: int | None = None,
    destination: int = 1,
) -> str:
    """A frame as the holder may send it, but for what is named."""
    envelope = to + (holder.mac if source is None else source) + struct.pack("!H", ethertype)
    mine = holder.number if number is None else number
    header = struct.pack("<BBHHH", 0x37, 5, 0, destination, mine).ljust(28, b"\0")
    return (envelope + header + what.encode()).ljust(60, b"\0").hex()


def seen(watcher: Holder, last: str) -> list[str]:
    """What has come to a watcher up to a frame that says `last`: of those that say something."""
    found: list[str] = []

    def has_come() -> bool:
        for one in watcher.do("arrived"):
            text = bytes.fromhex(one)[42:].split(b"\0")[0].decode(errors="replace")
            found.extend([text] if text.startswith(("good", "forged")) else [])
        return last in found

    assert wait_until(has_come), found
    return found


def forgeries(holder: Holder, to: bytes, others: Holder, card: bytes) -> dict[str, str]:
    """Frames that the holder must not send, by what is wrong with them."""
    tagged = bytes.fromhex(frame(holder, to, "forged-vlan"))
    vlan = tagged[:12] + b"\x81\x00\x00\x05" + tagged[12:]
    return {
        "type": frame(holder, to, "forged-type", ethertype=0x88B6),
        "ip": frame(holder, to, "forged-ip", ethertype=0x0800),
        "arp": frame(holder, to, "forged-arp", ethertype=0x0806),
        "broadcast-arp": frame(holder, b"\xff" * 6, "forged-b-arp", ethertype=0x0806),
        "vlan": vlan.hex(),
        "broadcast": frame(holder, b"\xff" * 6, "forged-broadcast"),
        "multicast": frame(holder, b"\x01\x00\x5e\x00\x00\x01", "forged-multicast"),
        "card": frame(holder, to, "forged-card", source=card),
        "other": frame(holder, to, "forged-other", source=others.mac, number=others.number),
        "other source": frame(holder, to, "forged-source", source=others.mac),
        "stranger": frame(holder, to, "forged-stranger", source=b"\x02\0\0\0\0\x07"),
        "identity": frame(holder, to, "forged-identity", number=others.number),
        "short": frame(holder, to, "")[: 2 * 20],
    }
