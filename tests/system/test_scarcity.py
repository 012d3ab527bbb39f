# SPDX-License-Identifier: BSD-3-Clause
"""A host runs out of something while a job runs: memory of a group, room in a queue, disks. Every
byte is right all the same."""

import contextlib
import os
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from system import speakers
from system.conftest import ROOT, wait_until
from system.speakers import EAGER, speaking
from system.test_off_path import NODES
from system.test_stillness import (
    PATIENCE_S,
    UDP_ALONE,
    exchanging,
    finish,
    lab_of,
    run,
)

MESSAGES = 5000
PEER_TIMEOUT_MS = 4000  # the usual one
CROSSWISE = ROOT / "build" / "release" / "tests" / "system" / "crosswise"

#: Two ends of an exchange were seen to have 56 MB at most.
GROUP_BYTES = 80_000_000


def _group_of_this_process() -> Path:
    for line in Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines():
        _, controllers, place = line.split(":", 2)
        if "memory" in controllers.split(","):
            return Path("/sys/fs/cgroup/memory") / place.lstrip("/")
    return Path("/sys/fs/cgroup") / place.lstrip("/")  # of version 2, the last line


class Group:
    """A control group whose processes have only so much memory."""

    def __init__(self, most: int) -> None:
        self._before = _group_of_this_process()
        self._place = self._before / f"beowire-{secrets.token_hex(4)}"
        self._place.mkdir()
        first = (self._place / "memory.limit_in_bytes").exists()  # of version 1
        self._names = ("limit_in_bytes", "max_usage_in_bytes") if first else ("max", "peak")
        (self._place / f"memory.{self._names[0]}").write_text(str(most), encoding="ascii")

    def enter(self) -> None:
        """What this process starts from now on is in it: nodes of labs do not see the groups."""
        (self._place / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")

    def leave(self) -> None:
        (self._before / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")

    def peak(self) -> int:
        """Bytes that it has had at most."""
        name = self._place / f"memory.{self._names[1]}"
        return int(name.read_text(encoding="ascii"))

    def remove(self) -> None:
        wait_until(lambda: not (self._place / "cgroup.procs").read_text(encoding="ascii"))
        self._place.rmdir()


@pytest.fixture(name="group")
def make_group() -> Iterator[Group]:
    group = Group(GROUP_BYTES)
    try:
        yield group
    finally:
        group.remove()


@pytest.mark.timeout(3 * PATIENCE_S)
def test_a_group_has_little_memory__strangers_and_peers_take_no_more(group: Group) -> None:
    """The peers send for two seconds what nobody receives."""
    late = ("env", "EXCHANGE_LATE=2")
    with lab_of(3) as lab, speaking(lab, "node2") as speaker, contextlib.ExitStack() as stack:
        group.enter()
        try:
            ends, addresses = stack.enter_context(exchanging(lab, MESSAGES, PEER_TIMEOUT_MS, late))
        finally:
            group.leave()
        target, _ = speakers.parse(addresses[1])
        frames = [
            speakers.connect(speakers.another(speaker.place), target, secrets.token_bytes(16))
            for _ in range(500)
        ]
        frames += [speakers.operation(EAGER, speaker.place, target, bytes(1000))] * 500
        for _ in range(4):
            speaker.say_udp(target, frames)
            speaker.say_ethernet(target, frames)
        assert [finish(end)["message_received"] for end in ends] == [MESSAGES, MESSAGES]
    assert 10_000_000 < group.peak() <= GROUP_BYTES


@pytest.mark.timeout(3 * PATIENCE_S)
def test_queues_of_both_hosts_are_full__the_exchange_is_right() -> None:
    """What does not fit is refused: with ENOBUFS, as IP_RECVERR has it."""
    queue = "qdisc replace dev eth0 root tbf rate 500mbit burst 4000 limit 20000"
    with lab_of(2) as lab:
        for node in NODES:
            run(lab, node, "tc", *queue.split())
        with exchanging(lab, MESSAGES // 4, PEER_TIMEOUT_MS, UDP_ALONE) as (ends, _):
            assert [finish(end)["message_received"] for end in ends] == [MESSAGES // 4] * 2
        for node in NODES:
            said = run(lab, node, "tc", "-s", "qdisc", "show", "dev", "eth0")
            assert int(said.partition("(dropped ")[2].partition(",")[0]) > 0, said


def test_disks_are_full__a_job_on_one_host_is_right() -> None:
    full = ("/tmp", "/dev/shm", "/run", "/var/tmp")
    script = "".join(
        f"mount -t tmpfs -o size=4k none {place} && head -c 4096 /dev/zero >{place}/full\n"
        for place in full
    )
    script += f"for one in {' '.join(full)}; do ! echo >$one/more; done 2>/dev/null || exit 9\n"
    beowire = [str(ROOT / "beowire"), "run", "-n", "2", "--", str(CROSSWISE), "300000"]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f'{script}exec "$@"', "sh", *beowire],
        env={**os.environ, "TMPDIR": "/tmp"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 2
