# SPDX-License-Identifier: BSD-3-Clause
"""What processes without any privilege get from the broker, and what they cannot do with it."""

import contextlib
import json
import os
import re
import shlex
import signal
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
from beowire.places.mpi import environment, installation, launch
from system.conftest import PATIENCE_S, ROOT, RunBeowire, wait_until
from system.exchanges import introduce, start
from system.mpi_jobs import OPEN_MPI, Mpi

BROKER = ROOT / "build" / "release" / "broker" / "beowired"

#: Debian's `nogroup`, and a user of it; another user, who is in no group that the broker knows.
USER = 65534
STRANGER = 65533
_DAEMON = 1
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
_OWN_USER = (
    "setpriv",
    "--reuid=65532",
    "--regid=65532",
    "--clear-groups",
    "--inh-caps=-all,+net_admin,+bpf",
    "--ambient-caps=-all,+net_admin,+bpf",
    "--bounding-set=-all,+net_admin,+bpf",
)

_SOL_SOCKET, _SOL_PACKET = 1, 263
_ETHERTYPE = 0x88B5

#: A node has its own /run, and shows control groups; $1 is the broker's.
_PREPARE = (
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
        self, node: str, policy: str = POLICY, before: Sequence[str] = _OWN_USER
    ) -> None:
        path = self.directory / "broker.toml"
        path.write_text(policy, encoding="ascii")
        words = ("sh", "-c", _PREPARE, "sh", self.group, *before, str(BROKER), str(path))
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
    with _hosts(place) as hosts:
        hosts.start_broker("node0")
        yield hosts


@pytest.fixture(name="place")
def make_place() -> Iterator[Path]:
    """A directory that everybody may enter; those of pytest are root's alone."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o777)
        yield Path(name)


@contextlib.contextmanager
def _hosts(place: Path, nodes: int = 2, mtu: int = 1500) -> Iterator[Hosts]:
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
    ethertype: int = _ETHERTYPE,
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


#: As where the kernel has no tcx (broker/egress.h).
_BY_FILTER = (*_OWN_USER, "env", "RUNTIME_DIRECTORY=/nowhere")


@pytest.mark.parametrize("before", [_OWN_USER, _BY_FILTER], ids=["as usual", "by a filter"])
def test_frames__only_those_of_the_grant_leave(hosts: Hosts, before: Sequence[str]) -> None:
    hosts.end("node0")
    hosts.start_broker("node0", before=before)
    watcher = hosts.holder(0, "node1").open()
    root = hosts.holder(0).open()
    holder, other = hosts.holder().ask(), hosts.holder().ask()
    assert hosts.holder().do("own", "eth0") == "EPERM"
    holder.do("send", frame(holder, watcher.mac, "good-first"))
    for name, forged in forgeries(holder, watcher.mac, other, root.mac).items():
        assert holder.do("send", forged) == "ENOBUFS", name
    # Nor does anybody else on this host send in its name.
    root.do("send", frame(root, watcher.mac, "forged-by-root", source=holder.mac))
    root.do("send", frame(root, watcher.mac, "good-arp", ethertype=0x0806))
    other.do("send", frame(other, watcher.mac, "good-other"))
    holder.do("send", frame(holder, watcher.mac, "good-last"))
    good = ["good-first", "good-arp", "good-other", "good-last"]
    assert seen(watcher, "good-last") == good


@pytest.mark.parametrize("before", [_OWN_USER, _BY_FILTER], ids=["as usual", "by a filter"])
def test_frames__of_another_policy__replace_the_earlier(
    hosts: Hosts, before: Sequence[str]
) -> None:
    watcher = hosts.holder(0, "node1").open()
    for ethertype in (0x88B6, _ETHERTYPE):
        hosts.end("node0")
        hosts.start_broker("node0", f"{POLICY}ethertype = {ethertype}\n", before)
        holder = hosts.holder().ask(ethertype)
        wrong = frame(holder, watcher.mac, "forged-type", ethertype=0x88B7)
        assert holder.do("send", wrong) == "ENOBUFS"
        holder.do("send", frame(holder, watcher.mac, f"good-{ethertype}", ethertype=ethertype))
    last = f"good-{_ETHERTYPE}"
    assert seen(watcher, last) == [f"good-{0x88B6}", last]


def _programs(hosts: Hosts) -> bytes:
    """What is known of the programs on node0's card."""
    reads = hosts.in_node("node0", "sh", "-c", "cat /run/beowire/egress-*")
    return subprocess.run(reads, capture_output=True, check=True).stdout


def test_program__of_an_earlier_broker_stays(hosts: Hosts) -> None:
    hosts.holder().ask()
    before = _programs(hosts)
    if before == b"":
        pytest.skip("this kernel has no tcx (Linux 6.6)")
    hosts.end("node0")
    hosts.start_broker("node0")
    hosts.holder().ask()
    assert _programs(hosts) == before
    qdiscs = hosts.in_node("node0", "tc", "qdisc", "show", "dev", "eth0")
    said = subprocess.run(qdiscs, capture_output=True, text=True, check=True).stdout
    assert "clsact" not in said


def test_program__named_by_a_file_of_another_user__counts_for_nothing(hosts: Hosts) -> None:
    hosts.holder().ask()
    watcher = hosts.holder(0, "node1").open()
    claim = "cp /run/beowire/egress-* /run/of-lab; rm /run/beowire/egress-*;"
    claim += f" mv /run/of-lab/egress-* /run/beowire; chown {STRANGER} /run/beowire/egress-*"
    subprocess.run(hosts.in_node("node0", "sh", "-c", claim), check=True)
    holder = hosts.holder().ask()
    qdiscs = hosts.in_node("node0", "tc", "qdisc", "show", "dev", "eth0")
    said = subprocess.run(qdiscs, capture_output=True, text=True, check=True).stdout
    assert "clsact" in said
    assert holder.do("send", frame(holder, watcher.mac, "forged", ethertype=0x0806)) == "ENOBUFS"


def test_frames__longer_than_a_page(place: Path) -> None:
    with _hosts(place, mtu=9000) as hosts:
        hosts.start_broker("node0")
        watcher = hosts.holder(0, "node1").open()
        holder, other = hosts.holder().ask(), hosts.holder().ask()
        more = "00" * 5000
        forged = frame(holder, watcher.mac, "forged-identity", number=other.number)
        assert holder.do("send", forged + more) == "ENOBUFS"
        holder.do("send", frame(holder, watcher.mac, "good-last") + more)
        assert seen(watcher, "good-last") == ["good-last"]


def test_frames__by_another_interface(hosts: Hosts) -> None:
    watcher = hosts.holder(0, "node1").open()
    holder = hosts.holder().ask()
    forged = frame(holder, watcher.mac, "forged-type", ethertype=0x88B6)
    said = {holder.do("send_by", forged, index) for index in range(1, 40)}
    # Its own, which refuses the frame; loopback, which is down; none of all others.
    assert said == {"ENOBUFS", "ENETDOWN", "ENXIO"}
    holder.do("send", frame(holder, watcher.mac, "good-last"))
    assert seen(watcher, "good-last") == ["good-last"]


def test_options__are_closed(hosts: Hosts) -> None:
    watcher = hosts.holder(0, "node1").open()
    holder = hosts.holder().ask()
    on, off = struct.pack("=i", 1).hex(), struct.pack("=i", 0).hex()
    ring = struct.pack("=4I", 1 << 18, 1, 2048, 128).hex()
    membership = {kind: struct.pack("=iHH8s", 2, kind, 6, b"").hex() for kind in (0, 1, 2)}
    of_packet = {
        "multicast": (1, membership[0]),
        "promiscuous": (1, membership[1]),
        "all multicast": (1, membership[2]),
        "ring": (5, ring),
        "copy threshold": (7, on),
        "auxiliary data": (8, on),
        "origin": (9, on),
        "version": (10, off),
        "reserve": (12, on),
        "sending ring": (13, ring),
        "segmentation": (15, on),
        "group": (18, on),
        "bypass on": (20, on),
        "bypass off": (20, off),
        "segmentation, longer": (24, struct.pack("=i", 12).hex()),
    }
    for name, (number, value) in of_packet.items():
        assert holder.do("option", _SOL_PACKET, number, value) == "EPERM", name
    holder.do("unmap")
    assert holder.do("option", _SOL_PACKET, 13, ring) == "EPERM"
    assert holder.do("filtered") == "EPERM"
    for number, value in ((27, on), (44, off), (36, off), (36, on)):  # detach, unlock, mark
        assert holder.do("option", _SOL_SOCKET, number, value) == "EPERM", number
    good = frame(holder, watcher.mac, "forged-mark")
    assert holder.do("send_with", good, _SOL_SOCKET, 36, off) == "EPERM"
    for control in (0x8914, 0x8924, 0x8922, 0x894C):  # flags, address, MTU, namespace
        assert holder.do("control", control, b"frames".ljust(40, b"\0").hex()) == "EPERM"
    holder.do("send", frame(holder, watcher.mac, "good-last"))
    assert seen(watcher, "good-last") == ["good-last"]


@pytest.mark.skipif(
    not Path("/proc/sys/abi/vsyscall32").exists(), reason="no system calls of 32 bits here"
)
def test_options__by_system_calls_of_32_bits__frames_are_held_as_before(hosts: Hosts) -> None:
    watcher = hosts.holder(0, "node1").open()
    holder = hosts.holder().ask()
    on, no_ring = struct.pack("=i", 1).hex(), struct.pack("=4I", 0, 0, 0, 0).hex()
    # No BPF program sees these calls: they free the ring, and get a header before each frame.
    holder.do("unmap")
    assert holder.do("option_of_32_bits", _SOL_PACKET, 5, no_ring) is None
    assert holder.do("option_of_32_bits", _SOL_PACKET, 15, on) is None
    # By it, the card writes a checksum over EtherType, source or number. Some kernels refuse one of
    # bytes before the 20th.
    for begin, at in ((0, 12), (0, 6), (0, 10), (0, 20), (20, 20)):
        header = struct.pack("=BBHHHH", 1, 0, 0, 0, begin, at - begin).hex()
        forged = header + frame(holder, watcher.mac, f"forged-{begin}-{at}")
        said = {"ENOBUFS"} if begin == 20 else {"ENOBUFS", "EINVAL"}
        assert holder.do("send", forged) in said, at
    assert holder.do("option_of_32_bits", _SOL_PACKET, 20, on) is None  # bypass
    other_type = frame(holder, watcher.mac, "forged-type", ethertype=0x0806)
    assert holder.do("send", "00" * 10 + other_type) == "ENOBUFS"
    for name in (27, 36):  # detach, mark
        assert holder.do("option_of_32_bits", _SOL_SOCKET, name, on) == "EPERM"
    holder.do("send", "00" * 10 + frame(holder, watcher.mac, "good-last"))
    assert seen(watcher, "good-last") == ["good-last"]


def _assert_hears_only_its_own(holder: Holder, other: Holder, speaker: Holder) -> None:
    everybody = b"\xff" * 6
    mine = holder.number
    for spoken in (
        frame(speaker, holder.mac, "good-first", destination=holder.number),
        frame(speaker, holder.mac, "forged-number", destination=holder.number ^ 1),
        frame(speaker, holder.mac, "forged-type", ethertype=0x0800, destination=mine),
        frame(speaker, everybody, "forged-broadcast", destination=mine),
        frame(speaker, b"\x01\x00\x5e\x00\x00\x01", "forged-multicast", destination=mine),
        frame(speaker, everybody, "forged-arp", ethertype=0x0806),
        frame(speaker, other.mac, "forged-other", destination=mine),
        frame(speaker, other.mac, "good-others", destination=other.number),
        frame(speaker, holder.mac, "good-last", destination=holder.number),
    ):
        speaker.do("send", spoken)
    assert seen(holder, "good-last") == ["good-first", "good-last"]
    assert seen(other, "good-others") == ["good-others"]


def test_hears__only_what_is_for_its_endpoint(hosts: Hosts) -> None:
    holder, other = hosts.holder().ask(), hosts.holder().ask()
    assert holder.do("bind", 3) is None  # of all protocols
    _assert_hears_only_its_own(holder, other, hosts.holder(0, "node1").open())


def test_passed_on__it_is_the_same_grant(hosts: Hosts) -> None:
    watcher = hosts.holder(0, "node1").open()
    root = hosts.holder(0).open()
    holder, other = hosts.holder().ask(), hosts.holder().ask()
    taker = hosts.holder(STRANGER)
    path = str(hosts.directory / "offer")
    holder.say("offer", path)
    assert holder.answer() == "listening"
    assert taker.do("take", path) is None
    assert holder.answer() is None
    holder.end()
    taker.mac, taker.number = holder.mac, holder.number
    for name, forged in forgeries(taker, watcher.mac, other, root.mac).items():
        assert taker.do("send", forged) == "ENOBUFS", name
    assert taker.do("option", _SOL_PACKET, 20, struct.pack("=i", 0).hex()) == "EPERM"
    taker.do("send", frame(taker, watcher.mac, "good-last"))
    assert seen(watcher, "good-last") == ["good-last"]


def test_without_control_groups__nobody_is_served(place: Path) -> None:
    path = place / "broker.toml"
    path.write_text(POLICY, encoding="ascii")
    line = 'umount -l /sys/fs/cgroup 2>/dev/null; exec "$@"'
    alone = ("unshare", "--mount", "sh", "-c", line, "sh", *_OWN_USER, str(BROKER), str(path))
    done = subprocess.run(alone, capture_output=True, text=True, check=False)
    words = "beowired: cannot attach a program to a control group (No such file or directory): "
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith(words), done.stderr


@pytest.mark.parametrize(
    ("user", "question", "words"),
    [
        (STRANGER, ("eth0",), f"user {STRANGER} is in no group to which the broker grants frames"),
        (USER, ("lo",), "lo: the broker serves no interface of this kind"),
        (USER, ("eth7",), "eth7: No such device"),
        (USER, ("eth0", 0x0800), "the broker serves EtherType 0x88b5 only"),
    ],
)
def test_refused(hosts: Hosts, user: int, question: tuple[object, ...], words: str) -> None:
    assert hosts.holder(user).do("ask", *question) == {"why": words}
    # It is no trouble of the host's.
    assert hosts.end("node0") == ""


def test_refused__a_subordinate_id_that_has_kept_the_group(hosts: Hosts) -> None:
    words = f"user {STRANGER} is in no group to which the broker grants frames"
    assert hosts.holder(STRANGER, group=USER).do("ask", "eth0") == {"why": words}


def test_refused__a_process_of_another_network(hosts: Hosts) -> None:
    outside = hosts.holder(before=("unshare", "--net"))
    assert outside.do("ask", "eth0") == {"why": "the broker serves another network namespace"}


def _servers(hosts: Hosts) -> list[int]:
    """The broker's processes on node0, with those that have ended and are not reaped."""
    broker = hosts.brokers["node0"].pid
    listed = Path(f"/proc/{broker}/task/{broker}/children").read_text(encoding="ascii")
    return [int(word) for word in listed.split()]


def _stop_servers(hosts: Hosts) -> list[int]:
    """Stops the processes in which the broker of node0 serves, so that none gives up waiting."""
    servers = _servers(hosts)
    _signal(servers, signal.SIGSTOP)
    return servers


def _signal(processes: Sequence[int], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.kill(process, number)


def test_a_user_who_connects_and_asks_nothing__others_are_served(place: Path) -> None:
    with _hosts(place) as hosts:
        hosts.start_broker("node0", 'groups = ["nogroup", "daemon"]\n')
        stopped: list[int] = []
        silent = hosts.holder()

        def is_refused() -> bool:
            silent.do("crowd", 64)
            stopped[:] = _stop_servers(hosts)
            words = f"the broker serves too many processes of user {USER}"
            return bool(silent.do("ask", "eth0") == {"why": words})

        try:
            assert wait_until(is_refused)
            hosts.holder(_DAEMON).ask()
        finally:
            _signal(stopped, signal.SIGKILL)


def test_servers__are_reaped_when_they_end(hosts: Hosts) -> None:
    hosts.holder().ask()
    assert wait_until(lambda: _servers(hosts) == [])


def test_no_process_can_be_started__one_line_says_so(place: Path) -> None:
    with _hosts(place) as hosts:
        hosts.start_broker("node0", before=(*_OWN_USER, "prlimit", "--nproc=0"))
        said = "cannot start a process"
        why = "Resource temporarily unavailable"
        assert hosts.holder().do("ask", "eth0") == {"why": f"the broker {said} ({why})"}
        assert hosts.end("node0") == f"beowired: {said}: {why}\n"


def test_a_user_who_asks_in_a_loop__others_are_served(place: Path) -> None:
    with _hosts(place) as hosts:
        hosts.start_broker("node0", 'groups = ["nogroup", "daemon"]\nendpoints_per_user = 1\n')
        busy = hosts.holder()
        refused = {"why": f"user {USER} has asked the broker 260 times within a minute"}
        assert any(busy.do("ask", "eth7") == refused for _ in range(2000))
        hosts.holder(_DAEMON).ask()


#: What systemd does: it listens, and passes the socket on as descriptor 3.
_ACTIVATE = """
import os, socket, sys
listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listening.bind("/run/beowire/broker")
os.chmod("/run/beowire/broker", 0o666)
listening.listen()
os.dup2(os.dup(listening.fileno()), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_passed_socket__is_served(place: Path) -> None:
    with _hosts(place) as hosts:
        activate = (sys.executable, "-I", "-c", _ACTIVATE)
        hosts.start_broker("node0", before=activate)
        watcher = hosts.holder(0, "node1").open()
        holder = hosts.holder().ask()
        holder.do("send", frame(holder, watcher.mac, "good-last"))
        assert seen(watcher, "good-last") == ["good-last"]
        assert hosts.end("node0") == ""


def test_passed_socket__that_is_none(hosts: Hosts) -> None:
    line = 'exec 3</dev/null; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@"'
    words = ("sh", "-c", _PREPARE, "sh", hosts.group, *_OWN_USER, "sh", "-c", line, "sh")
    path = str(hosts.directory / "broker.toml")
    done = subprocess.run(
        hosts.in_node("node0", *words, str(BROKER), path),
        capture_output=True,
        text=True,
        check=False,
    )
    said = "beowired: cannot listen: Socket operation on non-socket\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_policy__that_is_wrong(hosts: Hosts) -> None:
    path = hosts.directory / "wrong.toml"
    path.write_text('groups = ["nogroup"]\nspeed = 3\n', encoding="ascii")
    done = subprocess.run([str(BROKER), str(path)], capture_output=True, text=True, check=False)
    words = f"beowired: {path}: line 2: no such key\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", words)


def test_grants__end_with_the_last_copy(hosts: Hosts) -> None:
    holders = [hosts.holder().ask() for _ in range(4)]
    assert len({holder.number for holder in holders}) == 4
    one_more = hosts.holder()
    full = {"why": "the user has the maximum number of endpoints of eth0"}
    assert one_more.do("ask", "eth0") == full
    assert _addresses(hosts) == {holder.mac for holder in holders}
    holders[0].process.kill()
    assert wait_until(lambda: one_more.do("ask", "eth0") != full)
    holders[1].do("drop")
    another = hosts.holder()
    assert wait_until(lambda: another.do("ask", "eth0") != full)
    for holder in hosts.holders:
        holder.end()
    assert wait_until(lambda: _addresses(hosts) == set())


def _addresses(hosts: Hosts) -> set[bytes]:
    """Those of the macvlans of node0's card."""
    said = subprocess.run(
        hosts.in_node("node0", "bridge", "fdb", "show", "dev", "eth0"),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = {bytes.fromhex(line.split()[0].replace(":", "")) for line in said.splitlines()}
    return {address for address in found if address[0] & 1 == 0}


def test_broker_that_dies__grants_go_on_and_another_one_serves(hosts: Hosts) -> None:
    watcher = hosts.holder(0, "node1").open()
    holder, other = hosts.holder().ask(), hosts.holder().ask()
    hosts.end("node0")
    hosts.remove_group()  # as systemd does; it holds the program for options
    holder.do("send", frame(holder, watcher.mac, "good-without"))
    assert holder.do("send", frame(holder, watcher.mac, "forged", ethertype=0x0806)) == "ENOBUFS"
    assert hosts.holder().do("ask", "eth0") == "ECONNREFUSED"
    hosts.start_broker("node0")
    newer = hosts.holder().ask()
    assert len({one.number for one in (holder, other, newer)}) == 3
    for one in (holder, newer):
        for forged in forgeries(one, watcher.mac, other, watcher.mac).values():
            assert one.do("send", forged) == "ENOBUFS"
        assert one.do("option", _SOL_PACKET, 20, struct.pack("=i", 0).hex()) == "EPERM"
        one.do("send", frame(one, watcher.mac, f"good-{one.number}"))
    assert seen(watcher, f"good-{newer.number}") == [
        "good-without",
        f"good-{holder.number}",
        f"good-{newer.number}",
    ]


def test_exchange__of_a_plain_user_over_frames(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts.start_broker("node1")
    monkeypatch.setenv("EXCHANGE_LANES", "packet")
    ends = []
    try:
        for node, incoming, outgoing in (("node0", 1, 2), ("node1", 2, 1)):
            ends.append(start(hosts.lab, node, (incoming, outgoing, 4000), PLAIN))
        introduce(ends)
        # Both are open: from now on they need no broker.
        for node in ("node0", "node1"):
            assert hosts.end(node) == ""
        for end in ends:
            out, error = end.communicate(timeout=PATIENCE_S)
            assert (end.returncode, error) == (0, "")
            counters = json.loads(out)
            assert counters["lanes_packet"] == 1
            assert counters["lanes_tso"] == counters["lanes_udp"] == 0
    finally:
        for end in ends:
            end.kill()
            end.communicate()


def _remote_shell(hosts: Hosts) -> Path:
    """For launchers, which are root's: it starts their daemons on the nodes as the plain user."""
    lines = ["#!/bin/sh", "case $1 in"]
    for node in hosts.lab.nodes:
        enter = shlex.join(cluster.command_in(node, (*PLAIN, "sh", "-c"), pin=False))
        lines.append(f'{node.address}) shift; exec {enter} "$*" ;;')
    shell = hosts.directory / "shell"
    shell.write_text("\n".join([*lines, "esac", ""]), encoding="ascii")
    shell.chmod(0o755)
    return shell


@pytest.fixture(name="library")
def distributions_mpi(run_beowire: RunBeowire) -> Mpi:
    """Others are tried by tests/wheels."""
    return Mpi(run_beowire, OPEN_MPI)


def test_mpi__of_a_plain_user_over_frames(place: Path, library: Mpi) -> None:
    mpi = installation.find(library.name, library.prefix)
    with _hosts(place, nodes=3) as hosts:
        for node in hosts.lab.nodes:
            hosts.start_broker(node.name)
        # node0, where the launcher is root's, has no rank.
        ranks_on = [launch.Host(node.address, 2, 2) for node in hosts.lab.nodes[1:]]
        program = [str(library.program), "pingpong", "collectives"]
        job = launch.Job(4, ranks_on, "eth0", _remote_shell(hosts), program, on_first=False)
        listed = place / "hosts"
        listed.write_text(launch.hosts_file(mpi, job), encoding="ascii")
        chosen = {"FI_BEOWIRE_LANES": "shm,packet", "FI_BEOWIRE_REPORT": "1", "TMPDIR": str(place)}
        line = launch.command(mpi, job, listed)
        if mpi.name == "mpich":  # the name of a node means nothing to the others
            line[1:1] = ["-localhost", hosts.lab.nodes[0].address]
        whole = {**os.environ, **environment.variables(mpi, "beowire"), **chosen}
        whole |= launch.environment(mpi)
        whole |= launch.handed_over(mpi, whole)
        done = subprocess.run(
            hosts.in_node("node0", *line),
            env=whole,
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * PATIENCE_S,
        )
    assert done.returncode == 0, (done.stdout, done.stderr)
    for check in ("pingpong", "collectives"):
        assert f"mpi_check: {check} is right on 4 ranks" in done.stdout
    said = [line for line in (done.stdout + done.stderr).splitlines() if "beowire: " in line]
    # A line of each rank, with bytes by this lane; none of anything that is missing.
    assert len(said) == 4, said
    assert all(re.search(r"over eth0: .*packet [1-9]", line) for line in said), said
