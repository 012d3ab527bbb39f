# SPDX-License-Identifier: BSD-3-Clause
"""The cluster of docs/CLUSTER.md in three nodes of a lab: n0, n1 and n2, each with a name, an sshd,
and `/etc`, `/opt` and `/tmp` of its own; one Slurm; and the user alice."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from beowire.places.lab import cluster
from beowire.places.lab.options import LabOptions
from beowire.places.lab.state import LabState
from system import slurm_nodes
from system.conftest import ROOT, wait_until

NAMES = ("n0", "n1", "n2")
NETWORK = "10.77.0.0/24"

#: Of the test's user; nobody else here has it.
_USER = 47110

#: `private DIRECTORY`: what is in it stays, what is made in it is the node's alone. `/home/alice`
#: is one for all nodes, as over NFS, and has the checkout in it.
_NODE = """
set -e
own={own}; shared={shared}
private() {{
    mkdir "$own/was" && mount --rbind "$1" "$own/was" && mount -t tmpfs -o mode=755 none "$1"
    for path in "$own/was"/*; do
        if [ -d "$path" ] && [ ! -L "$path" ]; then
            mkdir "$1/${{path##*/}}" && mount --rbind "$path" "$1/${{path##*/}}"
        fi
    done
    umount -l "$own/was" && rmdir "$own/was"
}}
mount --make-rprivate /
hostname {name}
cp -a /etc "$own/etc" && mount --bind "$own/etc" /etc
private /opt
private /home
mount -t tmpfs -o mode=755 none /run && mkdir /run/sshd
mkdir -p /home/alice && mount --bind "$shared/alice" /home/alice
mount --rbind {root} /home/alice/beowire
mkdir -m 1777 "$own/tmp" && chmod 1777 "$own/tmp" && mount --bind "$own/tmp" /tmp
[ -e {root}/beowire ] || {{ mkdir -p {root} && mount --rbind /home/alice/beowire {root}; }}
sed -i "s,^root:\\(.*\\):[^:]*:,root:\\1:$own/root:," /etc/passwd
echo "alice:x:{user}:{user}::/home/alice:/bin/bash" >>/etc/passwd
echo "alice:x:{user}:" >>/etc/group
echo "alice:*:20000:0:99999:7:::" >>/etc/shadow
echo "alice:!::" >>/etc/gshadow
echo "alice ALL=(root) NOPASSWD: ALL" >/etc/sudoers.d/alice
cat "$shared/hosts" >/etc/hosts
cp "$shared/ssh_known_hosts" /etc/ssh/ssh_known_hosts
cp "$shared/sshd_config" /etc/ssh/sshd_config
mkdir -p /etc/slurm
for name in slurm.conf cgroup.conf; do cp "$shared/$name" /etc/slurm/; done
mkdir -m 700 "$own/root" "$own/root/.ssh"
cp "$shared"/alice/.ssh/* "$own/root/.ssh"
"""

#: Lets in ssh, and what launchers and Slurm speak.
FIREWALL = (
    "add table inet filter; add chain inet filter input"
    " { type filter hook input priority 0; policy drop; };"
    " add rule inet filter input iif lo accept; add rule inet filter input ip protocol tcp accept;"
    # Open MPI 5 prefers IPv6, which needs ICMPv6 to find neighbours.
    " add rule inet filter input ip6 nexthdr { tcp, icmpv6 } accept"
)

_SSHD = """
HostKey {here}/host_key
PermitRootLogin prohibit-password
PasswordAuthentication no
SetEnv BEOWIRE_TEST_MARK={mark}
UsePAM no
PidFile none
"""


@dataclass
class Cluster:
    """Who types is in n0."""

    lab: LabState
    directory: Path
    servers: list["subprocess.Popen[bytes]"]

    @property
    def home(self) -> Path:
        """alice's, on all nodes: `/home/alice` there."""
        return self.directory / "alice"

    def in_node(self, index: int, *words: str) -> list[str]:
        """A command line that runs as root in a node."""
        return cluster.command_in(self.lab.nodes[index], words, pin=False)

    def login(self, user: str, directory: str, *words: str) -> list[str]:
        """A command line that runs in n0 as if that user had logged in there."""
        home = "/home/alice" if user == "alice" else str(self.directory / NAMES[0] / "root")
        variables = {
            "HOME": home,
            "USER": user,
            "LOGNAME": user,
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
            "BEOWIRE_TEST_MARK": os.environ["BEOWIRE_TEST_MARK"],
        }
        environment = [f"{name}={value}" for name, value in variables.items()]
        identity = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        there = ["env", "-i", "-C", directory, *environment]
        return self.in_node(0, *identity, *there, *words)

    def said(self) -> str:
        """What daemons have said, for whoever looks for the cause."""
        logs = [*self.directory.glob("*.log"), *self.directory.glob("slurm/*.log")]
        return "\n".join(
            f"{path.name}: {path.read_text(errors='replace')[-2000:]}" for path in logs
        )


@contextmanager
def running(directory: Path) -> Iterator[Cluster]:
    """Hosts as their owner has them before he has heard of Beowire. `directory`: an empty one that
    everybody may enter, not below /tmp."""
    lab = cluster.up_ephemeral(LabOptions(nodes=len(NAMES), link="switch"), "cluster")
    made = Cluster(lab.state, directory, [])
    try:
        _prepare(made)
        _start_all(made)
        yield made
    finally:
        for server in reversed(made.servers):
            server.terminate()
        for server in made.servers:
            server.wait()
        lab.close()


def _prepare(made: Cluster) -> None:
    here, nodes = made.directory, made.lab.nodes
    for path in ("alice", "alice/beowire", "alice/.ssh", "slurm", "slurm/state", "munge"):
        (here / path).mkdir()
    keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "beowire test", "-f"]
    for name in ("host_key", "alice/.ssh/id_ed25519"):
        subprocess.run([*keygen, str(here / name)], check=True)
    public = (here / "alice/.ssh/id_ed25519.pub").read_text(encoding="ascii")
    (here / "alice/.ssh/authorized_keys").write_text(public, encoding="ascii")
    for own in (here / "alice", *(here / "alice").rglob("*")):
        os.chown(own, _USER, _USER)
    hosts = [f"{node.address} {name}" for node, name in zip(nodes, NAMES, strict=True)]
    _write(here / "hosts", "127.0.0.1 localhost\n" + "\n".join(hosts) + "\n")
    host_key = (here / "host_key.pub").read_text(encoding="ascii")
    _write(here / "ssh_known_hosts", f"{','.join(NAMES)} {host_key}")
    mark = os.environ["BEOWIRE_TEST_MARK"]
    _write(here / "sshd_config", _SSHD.format(here=here, mark=mark))
    slurm = slurm_nodes.configuration(here / "slurm", here / "munge/socket", NAMES[0], NAMES)
    _write(here / "slurm.conf", slurm)
    # It looks for control groups even where nothing is to be kept in them.
    _write(here / "cgroup.conf", "CgroupPlugin=cgroup/v1\n")
    (here / "munge.key").write_bytes(os.urandom(128))
    (here / "munge.key").chmod(0o600)
    for index, name in enumerate(NAMES):
        (here / name).mkdir()
        values = {"own": here / name, "shared": here, "name": name, "root": ROOT, "user": _USER}
        script = _NODE.format(**values)
        subprocess.run(made.in_node(index, "sh", "-c", script), check=True, cwd="/")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="ascii")


def _start_all(made: Cluster) -> None:
    """All three nodes answer, and are idle."""
    here = made.directory
    for index, name in enumerate(NAMES):
        _start(made, index, f"sshd-{name}", [slurm_nodes.daemon("sshd"), "-D", "-e"])
    files = [f"--{name}-file={here}/munge/{name}" for name in ("pid", "log", "seed")]
    files += [f"--key-file={here}/munge.key", f"--socket={here}/munge/socket"]
    _start(made, 0, "munged", [slurm_nodes.daemon("munged"), "--foreground", "--force", *files])
    assert wait_until((here / "munge" / "socket").exists), made.said()
    _start(made, 0, "slurmctld", [slurm_nodes.daemon("slurmctld"), "-D"])
    for index, name in enumerate(NAMES):
        _start(made, index, f"slurmd-{name}", [slurm_nodes.daemon("slurmd"), "-D"])
    asked = made.login("alice", "/", "sinfo", "--noheader", "--Node", "--format=%T")

    def are_idle() -> bool:
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        return done.stdout == "idle\n" * len(NAMES)

    assert wait_until(are_idle), made.said()


def _start(made: Cluster, index: int, name: str, words: Sequence[str]) -> None:
    """A daemon, in the foreground."""
    log = made.directory / f"{name}.log"
    made.servers.append(
        subprocess.Popen(
            made.in_node(index, *words),
            stdin=subprocess.DEVNULL,
            stdout=log.open("wb"),
            stderr=subprocess.STDOUT,
            cwd="/",
        )
    )
