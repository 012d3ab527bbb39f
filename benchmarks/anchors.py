# SPDX-License-Identifier: BSD-3-Clause
"""Others' programs that measure half a round trip, run between the two nodes of a lab.

`isolated.py benchmarks.anchors NAME`, as a command of `beowire compare --driver-command`, prints
lines `SIZE SECONDS` of the program NAME for each size that it can measure. Both ends are pinned to
their nodes' cores, as engines are; whatever is started has ended when this has.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from beowire import isolated
from beowire.errors import BeowireError
from beowire.places.lab import cluster
from beowire.places.lab.state import LabState
from beowire.places.mpi import installation

_RUN_S = 30.0
_LISTEN_S = 5.0
_POLL_S = 0.01

#: Of a socket in /proc/net/tcp.
_LISTEN = "0A"

#: What most of them print.
MEAN = "mean"

#: Repetitions of programs that count, so that a size takes some tenths of a second.
_COUNTS = ((4096, 20_000), (1 << 17, 5_000), (1 << 30, 600))


@dataclass(frozen=True)
class Anchor:
    """One of the programs."""

    program: str
    package: str
    """What brings it."""
    driver: str
    """Ours that does the same."""
    says: str
    """Which figure it prints."""
    measure: "Callable[[LabState, int], float]"
    """Half a round trip of a size, in seconds."""
    least_bytes: int = 1
    most_bytes: int = 1 << 30

    def obstacle(self) -> str:
        """Why it cannot be run here; empty if it can."""
        if self.driver.startswith("mpi:"):
            mpi = self.driver.removeprefix("mpi:").partition("/")[0]
            try:
                home = installation.find(mpi).prefix
            except BeowireError as error:
                return f"{self.program}: {error}"
            if (home / "bin" / self.program).is_file():
                return ""
        return "" if shutil.which(self.program) else f"{self.program} is missing: {self.package}"


def _count(size: int) -> int:
    return next(count for most, count in _COUNTS if size <= most)


def _pair(
    lab: LabState,
    server: Sequence[str],
    client: Sequence[str],
    port: int,
    variables: dict[str, str] | None = None,
) -> str:
    """What the client prints, in node0, when the server in node1 listens at its port."""
    environment = {**os.environ, **(variables or {})}
    here, there = lab.nodes[:2]
    serving = subprocess.Popen(
        cluster.command_in(there, server, pin=True, die_with=os.getpid()),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    try:
        _await_listening(serving, port)
        done = subprocess.run(
            cluster.command_in(here, client, pin=True, die_with=os.getpid()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            timeout=_RUN_S,
            check=False,
            text=True,
        )
    except subprocess.TimeoutExpired:
        raise BeowireError(f"{client[0]} does not end") from None
    finally:
        with suppress(ProcessLookupError):
            serving.kill()
        serving.wait()
    if done.returncode != 0:
        raise BeowireError(f"{client[0]} failed: {_last(done.stdout)}")
    return done.stdout


def _await_listening(serving: "subprocess.Popen[bytes]", port: int) -> None:
    """Returns when somebody in the server's node listens at the port."""
    wanted = f":{port:04X}"
    deadline = time.monotonic() + _LISTEN_S
    while time.monotonic() < deadline and serving.poll() is None:
        for name in ("tcp", "tcp6"):
            with suppress(OSError):
                lines = Path(f"/proc/{serving.pid}/net/{name}").read_text().splitlines()[1:]
                sockets = [line.split()[1:4] for line in lines]
                if any(local.endswith(wanted) and state == _LISTEN for local, _, state in sockets):
                    return
        time.sleep(_POLL_S)
    raise BeowireError(f"nobody listens at port {port}: the server did not start")


def _found(pattern: str, text: str, program: str) -> float:
    matches = re.findall(pattern, text, re.MULTILINE)
    if not matches:
        raise BeowireError(f"{program} printed no figure: {_last(text)}")
    return float(matches[-1])


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def _nptcp(lab: LabState, size: int) -> float:
    with tempfile.TemporaryDirectory() as directory:
        options = ["-l", str(size), "-u", str(size), "-p", "0"]
        out = f"{directory}/np.out"
        there = lab.nodes[1].address
        _pair(lab, ["NPtcp", *options], ["NPtcp", "-h", there, *options, "-o", out], 5002)
        return float(Path(out).read_text().split()[2])


def _sockperf(lab: LabState, size: int) -> float:
    where = ["-i", lab.nodes[1].address, "-p", "11111", "--tcp"]
    text = _pair(
        lab,
        ["sockperf", "server", *where],
        ["sockperf", "ping-pong", *where, "-m", str(size), "-t", "1", "--mps=max"],
        11111,
    )
    return _found(r"percentile 50\.000 =\s*([\d.]+)", text, "sockperf") / 1e6


def _qperf(lab: LabState, size: int) -> float:
    options = ["-m", str(size), "-t", "1", "-uu", "-e", "6", "tcp_lat"]
    text = _pair(lab, ["qperf"], ["qperf", lab.nodes[1].address, *options], 19765)
    # Units are unified: nanoseconds, whatever the time is.
    return _found(r"latency\s*=\s*([\d.,]+) ns", text.replace(",", ""), "qperf") / 1e9


def _fi_pingpong(lab: LabState, size: int) -> float:
    options = ["-p", "tcp;ofi_rxm", "-e", "rdm", "-m", "tagged", "-S", str(size)]
    options += ["-I", str(_count(size))]
    there = lab.nodes[1].address
    text = _pair(lab, ["fi_pingpong", *options], ["fi_pingpong", *options, there], 47592)
    # bytes, sent, acknowledged, total, time, MB/s, us a message, million messages a second
    return (
        _found(r"^\S+\s+\S+\s+\S+\s+\S+\s+\S+\s+\S+\s+([\d.]+)\s+\S+$", text, "fi_pingpong") / 1e6
    )


def _ucx_perftest(lab: LabState, size: int) -> float:
    options = ["-t", "tag_lat", "-s", str(size), "-n", str(_count(size)), "-w", "1000", "-f", "-v"]
    text = _pair(
        lab,
        ["ucx_perftest", *options],
        ["ucx_perftest", lab.nodes[1].address, *options],
        13337,
        {"UCX_TLS": "tcp", "UCX_NET_DEVICES": "eth0"},
    )
    # iterations, the median, the average of late, the average of all, in us
    return _found(r"^\s*\d+,([\d.]+),", text, "ucx_perftest") / 1e6


def _mpirun(lab: LabState, mpi: str, program: Sequence[str]) -> str:
    done = subprocess.run(
        [
            *(*isolated.command("beowire"), "lab", "mpirun", "--name", lab.name),
            *("--mpi", mpi, "--over", "tcp", "-n", "2", "--", *program),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_RUN_S,
        check=False,
        text=True,
    )
    if done.returncode != 0:
        raise BeowireError(f"{program[0]} failed: {_last(done.stdout)}")
    return done.stdout


def _imb(lab: LabState, size: int) -> float:
    home = installation.find("intel").prefix
    with tempfile.NamedTemporaryFile("w", suffix=".lengths") as lengths:
        lengths.write(f"{size}\n")
        lengths.flush()
        options = ["PingPong", "-msglen", lengths.name, "-iter_policy", "off"]
        options += ["-iter", str(_count(size))]
        text = _mpirun(lab, "intel", [str(home / "bin" / "IMB-MPI1"), *options])
    return _found(rf"^\s*{size}\s+\d+\s+([\d.]+)\s+[\d.]+\s*$", text, "IMB-MPI1") / 1e6


def _osu(lab: LabState, size: int) -> float:
    text = _mpirun(lab, "openmpi4", ["osu_latency", "-m", f"{size}:{size}"])
    return _found(rf"^{size}\s+([\d.]+)\s*$", text, "osu_latency") / 1e6


#: By the name of the row that they become.
ANCHORS = {
    "nptcp": Anchor(
        "NPtcp", "apt-get install netpipe-tcp", "tcp", "mean of its best trial", _nptcp
    ),
    "sockperf": Anchor(
        "sockperf", "apt-get install sockperf", "tcp", "median", _sockperf, 14, 65507
    ),
    "qperf": Anchor("qperf", "apt-get install qperf", "tcp", MEAN, _qperf),
    "fi-pingpong": Anchor(
        "fi_pingpong", "apt-get install libfabric-bin", "fi-tcp", MEAN, _fi_pingpong
    ),
    "ucx-perftest": Anchor(
        "ucx_perftest", "apt-get install ucx-utils", "ucx:tcp", "median", _ucx_perftest
    ),
    "imb-mpi1": Anchor("IMB-MPI1", "scripts/install-mpi intel", "mpi:intel/tcp", MEAN, _imb),
    "osu-latency": Anchor(
        "osu_latency",
        "no distribution has it: build the OSU Micro-Benchmarks with this MPI's mpicc",
        "mpi:openmpi4/tcp",
        MEAN,
        _osu,
    ),
}


def main(arguments: Sequence[str]) -> int:
    """Prints what one of them measures."""
    if len(arguments) != 1 or arguments[0] not in ANCHORS:
        print(f"usage: benchmarks.anchors {'|'.join(ANCHORS)}", file=sys.stderr)
        return 2
    anchor = ANCHORS[arguments[0]]
    try:
        lab = cluster.find(os.environ["BEOWIRE_LAB"])
        for size in map(int, os.environ["BEOWIRE_SIZES"].split()):
            if anchor.least_bytes <= size <= anchor.most_bytes:
                print(size, f"{anchor.measure(lab, size):.12f}", flush=True)
    except (BeowireError, KeyError, OSError) as error:
        print(f"{anchor.program}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
