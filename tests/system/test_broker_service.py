# SPDX-License-Identifier: BSD-3-Clause
"""Whom the broker serves, what ends and what goes on, and programs that are served."""

import contextlib
import json
import os
import re
import shlex
import signal
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from beowire.places.lab import cluster
from beowire.places.mpi import environment, installation, launch
from system.broker_hosts import (
    BROKER,
    OWN_USER,
    PLAIN,
    POLICY,
    PREPARE,
    SOL_PACKET,
    STRANGER,
    USER,
    Hosts,
    forgeries,
    frame,
    make_hosts,
    make_place,
    running,
    seen,
)
from system.conftest import PATIENCE_S, ROOT, RunBeowire, wait_until
from system.exchanges import introduce, start
from system.mpi_jobs import OPEN_MPI, Mpi

__all__ = ["make_hosts", "make_place"]

_DAEMON = 1


def test_without_control_groups__nobody_is_served(place: Path) -> None:
    path = place / "broker.toml"
    path.write_text(POLICY, encoding="ascii")
    line = 'umount -l /sys/fs/cgroup 2>/dev/null; exec "$@"'
    alone = ("unshare", "--mount", "sh", "-c", line, "sh", *OWN_USER, str(BROKER), str(path))
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


def test_refused__the_driver_says_why(hosts: Hosts) -> None:
    """Which `beowire doctor` shows."""
    user = ("setpriv", "--reuid", str(STRANGER), "--regid", str(STRANGER), "--clear-groups")
    done = subprocess.run(
        hosts.in_node("node0", *user, str(ROOT / "build" / "engine" / "beowire-engine")),
        input="drivers interface=eth0\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    (known,) = [one for one in map(json.loads, done.stdout.splitlines()) if "drivers" in one]
    (packet,) = [one for one in known["drivers"] if one["name"] == "beowire-packet"]
    assert packet["reason"] == (
        f"packet/eth0: user {STRANGER} is in no group to which the broker grants frames"
    )


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
    with running(place) as hosts:
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
    with running(place) as hosts:
        hosts.start_broker("node0", before=(*OWN_USER, "prlimit", "--nproc=0"))
        said = "cannot start a process"
        why = "Resource temporarily unavailable"
        assert hosts.holder().do("ask", "eth0") == {"why": f"the broker {said} ({why})"}
        assert hosts.end("node0") == f"beowired: {said}: {why}\n"


def test_a_user_who_asks_in_a_loop__others_are_served(place: Path) -> None:
    with running(place) as hosts:
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
    with running(place) as hosts:
        activate = (sys.executable, "-I", "-c", _ACTIVATE)
        hosts.start_broker("node0", before=activate)
        watcher = hosts.holder(0, "node1").open()
        holder = hosts.holder().ask()
        holder.do("send", frame(holder, watcher.mac, "good-last"))
        assert seen(watcher, "good-last") == ["good-last"]
        assert hosts.end("node0") == ""


#: What systemd does with `Type=notify`: it waits to be told.
_WAIT_FOR_NOTICE = """
import os, socket, subprocess, sys
name = sys.argv[1]
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(name.replace("@", chr(0)))
if name[0] == "/":
    os.chmod(name, 0o666)
manager.settimeout(30)
broker = subprocess.Popen(sys.argv[2:], env={**os.environ, "NOTIFY_SOCKET": name})
print(manager.recv(64).decode(), broker.poll())
broker.kill()
"""


@pytest.mark.parametrize("name", ["/run/of-lab/notify", "@beowired-notify"])
def test_systemd_is_told_when_requests_are_served(hosts: Hosts, name: str) -> None:
    hosts.end("node0")
    words = ("sh", "-c", PREPARE, "sh", hosts.group, sys.executable, "-I", "-c", _WAIT_FOR_NOTICE)
    path = str(hosts.directory / "broker.toml")
    done = subprocess.run(
        hosts.in_node("node0", *words, name, *OWN_USER, str(BROKER), path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("READY=1 None\n", "")


def test_passed_socket__that_is_none(hosts: Hosts) -> None:
    line = 'exec 3</dev/null; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@"'
    words = ("sh", "-c", PREPARE, "sh", hosts.group, *OWN_USER, "sh", "-c", line, "sh")
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
        assert one.do("option", SOL_PACKET, 20, struct.pack("=i", 0).hex()) == "EPERM"
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
    with running(place, nodes=3) as hosts:
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
