# SPDX-License-Identifier: BSD-3-Clause
"""Engines over a real sshd in each of two lab nodes, with keys made for the test."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from beowire import paths
from beowire.apps.record import read_apps_record
from beowire.places.lab import cluster
from beowire.places.lab.options import LabOptions
from beowire.places.lab.state import LabState
from beowire.record.reader import read_record
from system.conftest import ROOT, assert_refused, processes_of, wait_until
from system.mpi_jobs import OPEN_MPI

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="sshd lets only root log in others, and wants to be root"
)

HOSTS = ("root@10.77.0.1", "root@10.77.0.2")
PORT = 2222

HELLO = """
import json, sys
from beowire.errors import BeowireError
from beowire.places.launch.ssh import SshLauncher
try:
    with SshLauncher(sys.argv[1], options=sys.argv[2:]) as launcher:
        answers = []
        for node in launcher.nodes:
            process = launcher.start(node)
            process.stdin.write(b"hello\\n")
            process.stdin.flush()
            while not process.stdout.readline().endswith(launcher.marker + b"\\n"):
                pass
            hello = json.loads(process.stdout.readline())
            process.stdin.close()
            answers.append([node.name, node.reach, hello["hostname"], process.wait()])
        print(json.dumps(answers))
except BeowireError as error:
    print(f"beowire: {error}", file=sys.stderr)
    sys.exit(error.exit_code)
"""

STAY = """
import sys, time
from beowire.places.launch.ssh import SshLauncher
with SshLauncher(sys.argv[1], options=sys.argv[2:]) as launcher:
    process = launcher.start(launcher.nodes[1])
    process.stdin.write(b"hello\\n")
    process.stdin.flush()
    while not process.stdout.readline().startswith(b"{"):
        pass
    print("ready", flush=True)
    time.sleep(600)
"""


@dataclass
class Hosts:
    """Two hosts that run sshd, and what is needed to reach them."""

    lab: LabState
    directory: Path

    def home(self, index: int) -> Path:
        return self.directory / f"home{index}"

    def options(self, **changes: str) -> list[str]:
        chosen = {
            "Port": str(PORT),
            "IdentityFile": str(self.directory / "key"),
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "UserKnownHostsFile": str(self.directory / "known_hosts"),
            "GlobalKnownHostsFile": "none",
            "StrictHostKeyChecking": "yes",
        }
        return [f"{name}={value}" for name, value in (chosen | changes).items()]

    def command(self, *words: str) -> list[str]:
        """A command line that runs in node0, where the user of these hosts sits."""
        return cluster.command_in(self.lab.nodes[0], words, pin=False)

    def names(self) -> list[str]:
        """As a user says them."""
        return [f"root@{node.address}" for node in self.lab.nodes]

    def type_beowire(
        self,
        command: str,
        *words: str,
        among: int | None = None,
        timeout: float = 60,
        environment: Mapping[str, str] | None = None,
        changes: Mapping[str, str] | None = None,
    ) -> "subprocess.CompletedProcess[str]":
        """A command such as `apps run`, with the first so many hosts or all, as their user types
        it."""
        asked = self.options(**(changes or {}))
        options = [word for option in asked for word in ("--ssh-option", option)]
        chosen = [*command.split(), "--hosts", ",".join(self.names()[:among]), *options, *words]
        return subprocess.run(
            self.command(str(ROOT / "beowire"), *chosen),
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )

    def in_node(self, index: int, *words: str) -> None:
        """Runs there what has to succeed."""
        subprocess.run(cluster.command_in(self.lab.nodes[index], words, pin=False), check=True)

    def run(
        self, script: str, hosts: str, options: list[str], **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(sys.executable, "-c", script, hosts, *options),
            env={**os.environ, "PYTHONPATH": str(ROOT / "evaluator"), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )


@pytest.fixture(name="hosts")
def make_hosts(tmp_path: Path) -> Iterator[Hosts]:
    with running(tmp_path, LabOptions()) as hosts:
        yield hosts


@contextmanager
def running(
    tmp_path: Path, options: LabOptions, tools: Path | None = None, command: str = ""
) -> Iterator[Hosts]:
    """Each node of a lab of its own is a host, which finds its programs in `tools`, and runs this
    command with each that is asked for."""
    lab = cluster.up_ephemeral(options, "hosts")
    servers = []
    try:
        hosts = Hosts(lab.state, tmp_path)
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "beowire test", "-f"]
        for name in ("key", "host_key", "stranger"):
            subprocess.run([*keygen, str(tmp_path / name)], check=True)
        shutil.copy(tmp_path / "key.pub", tmp_path / "authorized_keys")
        host_key = (tmp_path / "host_key.pub").read_text(encoding="ascii")
        known = [f"[{node.address}]:{PORT} {host_key}" for node in lab.state.nodes]
        (tmp_path / "known_hosts").write_text("".join(known), encoding="ascii")
        servers = [start_server(hosts, index, tools, command) for index in range(options.nodes)]
        yield hosts
    finally:
        for server in servers:
            server.terminate()
            server.wait()
        lab.close()


def start_server(
    hosts: Hosts, index: int, tools: Path | None, command: str
) -> "subprocess.Popen[bytes]":
    """sshd in a node, in the foreground; its users' home is a directory of the test."""
    hosts.home(index).mkdir()
    config = hosts.directory / f"sshd_config{index}"
    config.write_text(
        f"Port {PORT}\n"
        f"HostKey {hosts.directory}/host_key\n"
        f"AuthorizedKeysFile {hosts.directory}/authorized_keys\n"
        f"SetEnv HOME={hosts.home(index)} BEOWIRE_TEST_MARK={os.environ['BEOWIRE_TEST_MARK']}"
        f"{'' if tools is None else f' PATH={tools}'}\n"
        f"{f'ForceCommand {command}' if command else ''}\n"
        "PermitRootLogin prohibit-password\n"
        "PasswordAuthentication no\n"
        "StrictModes no\n"
        "UsePAM no\n"
        "PidFile none\n",
        encoding="ascii",
    )
    Path("/run/sshd").mkdir(exist_ok=True)  # sshd refuses to start without it
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program is not None, "install the package openssh-server"
    node = hosts.lab.nodes[index]
    server = subprocess.Popen(
        cluster.command_in(node, [program, "-D", "-e", "-f", str(config)], pin=False),
        stderr=(hosts.directory / f"sshd{index}.log").open("wb"),
    )
    log = hosts.directory / f"sshd{index}.log"
    assert wait_until(lambda: "Server listening" in log.read_text() or server.poll() is not None)
    assert server.poll() is None, log.read_text()
    return server


def copies(hosts: Hosts, index: int) -> dict[str, int]:
    """Inode numbers of what is in a host's cache."""
    cache = hosts.home(index) / ".cache" / "beowire"
    return {str(path.relative_to(cache)): path.stat().st_ino for path in cache.rglob("*")}


def test_start__brings_the_engine_once(hosts: Hosts) -> None:
    done = hosts.run(HELLO, ",".join(HOSTS), hosts.options())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        ["10.77.0.1", "10.77.0.1", "node0", 3],
        ["10.77.0.2", "10.77.0.2", "node1", 3],
    ]
    first = copies(hosts, 1)
    engines = [name for name in first if name.endswith("/beowire-engine")]
    assert len(engines) == 1
    assert hosts.run(HELLO, ",".join(HOSTS), hosts.options()).returncode == 0
    assert copies(hosts, 1) == first


#: What may have happened to a copy.
DAMAGES = (
    ': >"$engine"',
    'printf x >>"$engine"',
    ': >"$drivers/beowire-driver-tcp.so"',
    'cp "$drivers/beowire-driver-tcp.so" "$drivers/beowire-driver-zzz.so"',
    'rm -r "$drivers"',
    'chmod a-x "$engine"',
    'rm -r "$copy"; touch "$copy"',
    'rm "$engine"; mkdir "$engine"',
    'ln -sf /bin/true "$engine"',
)


@pytest.mark.timeout(300)
def test_start__a_copy_that_is_not_what_it_should_be_is_replaced(hosts: Hosts) -> None:
    """A damage on each of the two hosts at a time."""
    assert hosts.run(HELLO, ",".join(HOSTS), hosts.options()).returncode == 0
    good = contents(hosts, 0)
    assert "beowire-engine" in good
    for damages in zip_longest(DAMAGES[::2], DAMAGES[1::2], fillvalue=":"):
        for index, damage in enumerate(damages):
            (copy,) = cache_of(hosts, index).iterdir()
            names = {"copy": copy, "engine": copy / "beowire-engine", "drivers": copy / "drivers"}
            environment = os.environ | {name: str(path) for name, path in names.items()}
            subprocess.run(["sh", "-c", damage], env=environment, check=True)
        done = hosts.run(HELLO, ",".join(HOSTS), hosts.options())
        assert done.returncode == 0, (damages, done.stderr)
        for index, damage in enumerate(damages):
            assert contents(hosts, index) == good, damage


def cache_of(hosts: Hosts, index: int) -> Path:
    return hosts.home(index) / ".cache" / "beowire"


def contents(hosts: Hosts, index: int) -> dict[str, bytes]:
    (copy,) = cache_of(hosts, index).iterdir()
    return {str(path.relative_to(copy)): path.read_bytes() for path in copy.rglob("*.*")} | {
        "beowire-engine": (copy / "beowire-engine").read_bytes()
    }


def test_enter__a_cache_that_somebody_else_has_a_hand_in(hosts: Hosts, tmp_path: Path) -> None:
    assert hosts.run(HELLO, ",".join(HOSTS), hosts.options()).returncode == 0
    cache = cache_of(hosts, 1)
    (copy,) = cache.iterdir()
    good = tmp_path / "good"
    shutil.copytree(cache, good)
    said = "belongs to another user, or others can write to it"
    for change in (f"chown 1 {cache}", f"chmod g+w,o+w {cache}", f"chown -R 1 {copy}"):
        subprocess.run(change.split(), check=True)
        done = hosts.run(HELLO, ",".join(HOSTS), hosts.options())
        assert_refused(done, HOSTS[1], str(cache), said)
        shutil.rmtree(cache)
        shutil.copytree(good, cache)
    assert hosts.run(HELLO, ",".join(HOSTS), hosts.options()).returncode == 0
    subprocess.run(["chmod", "o+w", str(copy)], check=True)
    done = hosts.run(HELLO, ",".join(HOSTS), hosts.options())
    assert_refused(done, HOSTS[1], str(cache), said)


def test_enter__a_login_that_prints(hosts: Hosts, tmp_path: Path) -> None:
    """bash reads ~/.bashrc for a command over ssh, too."""
    noise = "echo hi; echo '{\"event\":\"hello\"}'; printf 'no end of line'; echo warning >&2\n"
    for index in range(2):
        (hosts.home(index) / ".bashrc").write_text(noise, encoding="ascii")
    done = hosts.run(HELLO, ",".join(HOSTS), hosts.options())
    assert done.returncode == 0, done.stderr
    assert [answer[2] for answer in json.loads(done.stdout)] == ["node0", "node1"]
    done = compare(hosts, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "out" / "record.jsonl").read_text(encoding="utf-8").splitlines()
    meta: dict[str, Any] = json.loads(lines[0])
    assert meta["link"]["kind"] == "hosts"
    assert [end["environment"]["hostname"] for end in meta["ends"]] == ["node0", "node1"]


#: What a login of the remote host may set, and sshd and shells hand on: other words of tools, other
#: characters between words, functions in the place of commands, files that shells and interpreters
#: read. What is planted would leave a file `run` in the home.
HOSTILE = """
export IFS=/abc CDPATH=/:/usr POSIXLY_CORRECT=1 LC_ALL=de_DE.UTF-8 LANGUAGE=de
export TMPDIR=$HOME/no/such BLOCKSIZE=1 LS_COLORS=x GREP_OPTIONS=--color=always TAR_OPTIONS=-v
export TIME_STYLE=+x QUOTING_STYLE=c COLUMNS=1
export ENV=$HOME/planted BASH_ENV=$HOME/planted PYTHONPATH=$HOME PYTHONSTARTUP=$HOME/planted
export PERL5OPT=-Mplanted GCONV_PATH=$HOME
cd "$HOME"
set -o noclobber
umask 0
cd() { builtin cd "$@" && pwd; }; export -f cd
alias cat='touch run;cat' stat='touch run;stat'
printf '#!/bin/sh\\ntouch "%s/run"\\n' "$HOME" >"$HOME/planted"
"""


def test_enter__a_login_whose_environment_is_hostile(hosts: Hosts, tmp_path: Path) -> None:
    for index in range(2):
        (hosts.home(index) / ".bashrc").write_text(HOSTILE, encoding="ascii")
        for name in ("beowire.py", "sitecustomize.py", "stat", "sha256sum", "mktemp", "tar"):
            file = hosts.home(index) / name
            file.write_text("#!/bin/sh\ntouch run # import os\n", encoding="ascii")
            file.chmod(0o755)
    done = compare(hosts, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    for index in range(2):
        assert not (hosts.home(index) / "run").exists()
        (copy,) = cache_of(hosts, index).iterdir()
        assert [path.stat().st_mode & 0o022 for path in (copy, *copy.rglob("*"))].count(0) > 3
        assert not any(path.stat().st_mode & 0o022 for path in (copy, *copy.rglob("*")))


def test_enter__a_login_that_runs_nothing(hosts: Hosts) -> None:
    for login, said in (
        ("exit 0\n", "its login runs no command"),
        ("yes\n", "print without end"),
        ("echo 'This account is closed.'; exit 1\n", "This account is closed."),
    ):
        (hosts.home(1) / ".bashrc").write_text(login, encoding="ascii")
        assert_refused(hosts.run(HELLO, ",".join(HOSTS), hosts.options()), HOSTS[1], said)


def test_engine__ends_when_its_user_is_killed(hosts: Hosts, leftovers: str) -> None:
    with subprocess.Popen(
        hosts.command(sys.executable, "-c", STAY, ",".join(HOSTS), *hosts.options()),
        env={**os.environ, "PYTHONPATH": str(ROOT / "evaluator")},
        stdout=subprocess.PIPE,
    ) as user:
        assert user.stdout is not None
        assert user.stdout.readline() == b"ready\n"
        assert remote_engines(leftovers)
        user.kill()
    assert wait_until(lambda: not remote_engines(leftovers))


def remote_engines(mark: str) -> list[str]:
    return [line for line in processes_of(mark) if "/.cache/beowire/" in line and "ssh" not in line]


def test_enter__a_host_that_cannot_be_had(hosts: Hosts) -> None:
    changes: dict[str, str]
    for target, changes, words in (
        (HOSTS[1], {"UserKnownHostsFile": "none"}, ["host key is not known"]),
        (HOSTS[1], {"IdentityFile": f"{hosts.directory}/stranger"}, ["refuses the key"]),
        (HOSTS[1], {"Port": "2223"}, ["no ssh server answers"]),
        ("no-such-host.invalid", {}, ["no host has this name"]),
        (HOSTS[1], {"Frobnicate": "yes"}, ["ssh refuses its options", "frobnicate"]),
    ):
        done = hosts.run(HELLO, f"{HOSTS[0]},{target}", hosts.options(**changes))
        assert_refused(done, *words)


def engine_directory_with(path: Path, engine: bytes) -> str:
    (path / "drivers").mkdir(parents=True)
    (path / "beowire-engine").write_bytes(engine)
    return str(path)


def test_enter__an_engine_that_cannot_run_there(hosts: Hosts, tmp_path: Path) -> None:
    real = bytearray((paths.engine_directory() / "beowire-engine").read_bytes())
    real[18:20] = (0xF3 if real[18] != 0xF3 else 0x3E, 0)  # e_machine: RISC-V
    old_libc = b"#!/bin/sh\necho 'libc.so.6: version `GLIBC_9.99'\\'' not found' >&2; exit 1\n"
    for name, engine, words in (
        ("foreign", bytes(real), ["another kind of processor"]),
        ("newer", old_libc, ["C library is too old", "GLIBC_9.99"]),
    ):
        directory = engine_directory_with(tmp_path / name, engine)
        done = hosts.run(HELLO, ",".join(HOSTS), hosts.options(), BEOWIRE_ENGINE_DIR=directory)
        assert_refused(done, *words)


def test_enter__a_home_that_cannot_be_written(hosts: Hosts) -> None:
    (hosts.home(1) / ".cache").write_text("in the way", encoding="ascii")
    done = hosts.run(HELLO, ",".join(HOSTS), hosts.options())
    assert_refused(done, HOSTS[1], "/.cache")


def compare(hosts: Hosts, out: Path, drivers: str = "tcp") -> "subprocess.CompletedProcess[str]":
    few = ("--drivers", drivers, "--sizes", "8", "--time", "2", "--out", str(out))
    return hosts.type_beowire("compare", *few)


def test_compare__over_ssh__between_three_hosts(tmp_path: Path) -> None:
    """Their clocks are looked at over the control channel, as if they were three."""
    out = tmp_path / "out"
    with running(tmp_path, LabOptions(nodes=3, link="switch")) as hosts:
        words = ("--drivers", "tcp", "--sizes", "1024", "--time", "12", "--out", str(out))
        more = ("--pattern", "incast,all-pairs,open-loop")
        done = hosts.type_beowire("compare", *words, *more, timeout=120)
    assert done.returncode == 0, done.stderr
    record = read_record(out / "record.jsonl")
    results = {one.pattern: one for one in record.results}
    assert set(results) == {"incast", "all-pairs", "open-loop"}
    assert [step.senders for step in results["incast"].senders] == [1, 2]
    assert len(results["all-pairs"].pairs) == 3
    assert len(results["open-loop"].levels) == 3
    assert [end.environment["hostname"] for end in record.meta.others] == ["node2"]


def test_compare__an_mpi_over_ssh(hosts: Hosts, tmp_path: Path) -> None:
    """Its drivers are compiled on each host, once."""
    done = compare(hosts, tmp_path / "out", f"mpi:{OPEN_MPI}/tcp,mpi:{OPEN_MPI}/beowire")
    assert done.returncode == 0, done.stderr
    record = read_record(tmp_path / "out" / "record.jsonl")
    assert [one.status for one in record.results] == ["ok"] * 2
    for index in range(2):
        assert any(path.endswith("beowire-driver-mpi.so") for path in copies(hosts, index))


def run_job(hosts: Hosts, *words: str, **changes: str) -> "subprocess.CompletedProcess[str]":
    """`beowire run --launcher ssh` as the user of these hosts types it."""
    return hosts.type_beowire("run", "--launcher", "ssh", *words, changes=changes)


def job_files() -> set[Path]:
    """Here and, as they have the same file system, on the hosts."""
    places = (Path("/tmp"), Path(os.environ["TMPDIR"]))
    return {found for place in places for found in place.glob("beowire-job-*")}


def test_run__over_ssh(hosts: Hosts) -> None:
    before = job_files()
    done = run_job(hosts, "-n", "4", str(ROOT / "build" / "release" / "examples" / "heat"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("4 processes, 4000 cells")
    done = run_job(hosts, "-n", "2", "--label", "hostname")
    assert sorted(done.stdout.splitlines()) == ["[0] node0", "[1] node1"]
    assert wait_until(lambda: job_files() <= before)


def test_run__over_ssh__rank_that_fails_ends_the_others(hosts: Hosts, tmp_path: Path) -> None:
    before = job_files()
    up = tmp_path / "up"
    script = (
        f"[ $PMI_RANK = 0 ] && touch {up} && exec sleep 600;"
        f" until [ -e {up} ]; do sleep 0.01; done; exit 5"
    )
    done = run_job(hosts, "-n", "2", "--", "sh", "-c", script)
    assert_refused(done, "rank 1 on root@10.77.0.2 ended with status 5", code=5)
    assert wait_until(lambda: job_files() <= before)  # what was ended there tidies up itself


def test_run__over_ssh__host_that_cannot_be_had(hosts: Hosts) -> None:
    assert_refused(run_job(hosts, "-n", "2", "true", Port="2223"), "no ssh server answers")


@pytest.mark.long  # test_cluster_document.py has `beowire speedup` run programs between hosts
def test_programs_are_compared_between_hosts(hosts: Hosts, tmp_path: Path) -> None:
    out = tmp_path / "apps"
    words = ["ep", "--mpi", OPEN_MPI, "--over", "tcp,beowire", "--launches", "1"]
    words += ["--no-profile", "--interface", "eth0", "--out", str(out)]
    done = hosts.type_beowire("apps run", *words, timeout=100)
    assert done.returncode == 0, (done.stdout, done.stderr)
    record = read_apps_record(out / "record.jsonl")
    assert record.meta.link.kind == "hosts"
    assert all(one.verified for one in record.launches)
    assert len(record.launches) == 4
