# SPDX-License-Identifier: BSD-3-Clause
"""What is so on a host: asked once, changed by nothing, judged elsewhere (`host_checks.py`,
`card_checks.py`).

Two witnesses. The engine's `environment` has what the kernel says through calls (the card, its
offloads, the machine); a script of POSIX sh prints files and what other programs say. Here the
script is run by `sh`, on other hosts by ssh: the same text, so that a test needs no host.
"""

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from beowire.errors import BeowireError

#: Of each answer so much is kept: rules of a firewall can be long.
_SECTION_BYTES = 6000

_SCRIPT_S = 60.0

#: Files that are printed whole, by the name that checks know them by.
_FILES = {
    "rmem_max": "/proc/sys/net/core/rmem_max",
    "wmem_max": "/proc/sys/net/core/wmem_max",
    "ptrace_scope": "/proc/sys/kernel/yama/ptrace_scope",
    "traffic": "/proc/net/dev",
}

#: Commands, likewise. INTERFACE stands for the card.
_COMMANDS = {
    "user": "id -un; id -u",
    "broker": "grep -o '/run/beowire/broker$' /proc/net/unix",
    "locked_kib": "ulimit -l",
    "governors": "cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor | sort | uniq -c",
    # One line a state: what leaving it takes (us), whether it is switched off, its name.
    "idle_states": (
        "for s in /sys/devices/system/cpu/cpu0/cpuidle/state*; do"
        ' echo "$(cat "$s/latency") $(cat "$s/disable") $(cat "$s/name")"; done'
    ),
    "addresses": "ip -o -4 addr show up",
    "cards": "ls -d /sys/class/net/*/device | cut -d/ -f5",
    "route": "ip -o -4 route show default",
    # The highest and the present number of entries of the card's rings.
    "rings": "ethtool -g INTERFACE",
    # Which CPUs the card's interrupts may go to.
    "affinity": (
        "for i in $(grep -w INTERFACE /proc/interrupts | cut -d: -f1); do"
        ' echo "$i $(cat "/proc/irq/$i/smp_affinity_list")"; done'
    ),
    # What a driver needs that interrupts for nothing while its queue is polled, one a line:
    # napi_defer_hard_irqs, gro_flush_timeout (ns), then napi_tx of virtio_net, and then a line for
    # each interrupt that e1000e has for what was sent.
    "polling": (
        "cat /sys/class/net/INTERFACE/napi_defer_hard_irqs"
        " /sys/class/net/INTERFACE/gro_flush_timeout;"
        " sed s/^/napi_tx=/ /sys/module/virtio_net/parameters/napi_tx;"
        " grep -ow INTERFACE-tx-0 /proc/interrupts"
    ),
    "nft": "nft list ruleset",
    "nft_status": "command -v nft >/dev/null || echo absent; nft list ruleset >/dev/null; echo $?",
    "iptables": "iptables-save",
    "libfabric": "ldconfig -p | grep libfabric.so; fi_info --version",
    "mpis": (
        "for m in mpirun.openmpi mpirun mpiexec.hydra mpiexec.mpich; do"
        ' p=$(command -v "$m") && echo "== $p" && "$p" --version </dev/null 2>&1 | head -n 8;'
        " done"
    ),
    "slurm": "srun --version",
    # The first line of the configuration that endpoints of this user read, after its name.
    "configuration": (
        'for f in "${XDG_CONFIG_HOME:-$HOME/.config}" /etc; do f=$f/beowire/beowire.conf;'
        ' [ -f "$f" ] && echo "$f: $(head -n 1 "$f")" && break; done'
    ),
    # What the kernel has counted since the host was started, by protocol.
    "checksums": "grep -E '^(Udp|Tcp):' /proc/net/snmp; grep Udp6In /proc/net/snmp6",
    # Who answers for which address of the network, `ADDRESS%DEVICE MAC`, within two seconds: nobody
    # remembers who did before.
    "neighbours": (
        "for i in 1 2 3 4 5; do ip -o neigh show | sed -n 's/^\\([^ ]*\\) dev \\([^ ]*\\) .*"
        "lladdr \\([^ ]*\\).*/\\1%\\2 \\3/p'; [ $i = 5 ] || sleep 0.5; done | sort -u"
    ),
    # Of each endpoint that this user may look at the names of links that damage frames: text in a
    # file of numbers (transport/endpoint/stats.h). Those of other network namespaces are not this
    # host's, such as those of a lab's nodes.
    "damage": (
        "find /proc/[0-9]*/fd -lname '/memfd:beowire-stats*' | while read -r f; do"
        ' [ "$(readlink "${f%/fd/*}/ns/net")" = "$(readlink /proc/self/ns/net)" ] || continue;'
        " head -c 200000 \"$f\" | tr -c ' -~' '\\n' | cut -c 1-96"
        " | grep -E '^[a-z]+(/[^ ]+)? from [^ ]'; done | sort -u"
    ),
}

#: A name that can stand in the script.
_INTERFACE = re.compile(r"[A-Za-z0-9][\w.@-]{0,14}", re.ASCII)

#: What joins programs of one host, or leads elsewhere than to the other nodes.
_INNER = re.compile(r"lo$|docker\d|br-|virbr|veth|tun\d|tap\d|wg\d|vnet|cni|flannel|podman")


@dataclass(frozen=True)
class Facts:
    """All that was asked of a host."""

    host: str
    interface: str
    """The card that is looked at; empty: there is none."""
    environment: Mapping[str, object] = field(default_factory=dict)
    """What the engine says (docs/ENGINE.md)."""
    sections: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Lines by the names of `_FILES` and `_COMMANDS`; no lines: it is not there."""
    drivers: Mapping[str, str] = field(default_factory=dict)
    """Why a driver cannot run there; empty: it can."""
    clock_ns: float | None = None
    """What reading the clock takes there."""

    def lines(self, name: str) -> Sequence[str]:
        """Of a section."""
        return self.sections.get(name, ())

    def number(self, name: str) -> int | None:
        """The first word of a section, or of the environment, as a number; None: it is none."""
        lines = self.lines(name)
        word = lines[0].split()[0] if lines and lines[0].split() else self.environment.get(name)
        if isinstance(word, bool) or word is None:
            return None
        try:
            return int(str(word))
        except ValueError:
            return None

    def flag(self, name: str) -> bool | None:
        """Of the environment: on, off, or not known."""
        value = self.environment.get(name)
        return value if isinstance(value, bool) else None

    def text(self, name: str) -> str:
        """Of the environment; empty: not known."""
        value = self.environment.get(name)
        return value if isinstance(value, str) else ""

    def may(self, capability: int) -> bool | None:
        """Has the process that looked this capability (its number)?"""
        try:
            return bool(int(self.text("capabilities"), 16) >> capability & 1)
        except ValueError:
            return None


#: What tells which interface is a card that leads somewhere.
OF_INTERFACES = ("addresses", "cards", "route")


def script(interface: str, only: Sequence[str] = ()) -> str:
    """POSIX sh that prints each section as `== NAME`, then its lines, each after a blank; `only`:
    these sections."""
    if interface and not _INTERFACE.fullmatch(interface):
        raise BeowireError(f"no interface can be called {interface!r}: `ip -br link` lists them")
    lines = [
        "PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export PATH; LC_ALL=C; export LC_ALL",
        f'say() {{ echo "== $1"; head -c {_SECTION_BYTES} | sed "s/^/ /"; echo; }}',
    ]
    commands = {name: f"cat {path}" for name, path in _FILES.items()} | _COMMANDS
    for name, command in commands.items():
        wanted = name in only or (not only and (interface or "INTERFACE" not in command))
        if wanted:
            command = command.replace("INTERFACE", interface)
            lines.append(f"{{ {command}; }} 2>/dev/null </dev/null | say {name}")
    return "\n".join(lines) + "\n"


def sections(said: str) -> dict[str, list[str]]:
    """What the script printed, taken apart. What is in front of the first section is not ours."""
    found: dict[str, list[str]] = {}
    lines: list[str] | None = None
    for line in said.splitlines():
        if line.startswith("== "):
            lines = found.setdefault(line[3:].strip(), [])
        elif line.startswith(" ") and lines is not None:
            lines.append(line[1:].rstrip())
    return {name: [line for line in each if line] for name, each in found.items()}


def ask_here(text: str) -> dict[str, list[str]]:
    """Runs such a script on this host."""
    try:
        done = subprocess.run(
            ["/bin/sh"],
            input=text.encode(),
            capture_output=True,
            check=False,
            timeout=_SCRIPT_S,
        )
    except subprocess.TimeoutExpired:
        raise BeowireError(
            f"this host takes more than {_SCRIPT_S:.0f} s to answer: is a file system or"
            " an MPI's launcher stuck?",
            exit_code=1,
        ) from None
    return sections(done.stdout.decode(errors="replace"))


def likely_interface(found: Mapping[str, Sequence[str]]) -> str:
    """The card that leads to other nodes, most likely: one that is a card, that has an IPv4
    address, and that the default route goes through; empty: there is none."""
    candidates = []
    routes = [line.split() for line in found.get("route", ())]
    routed = {words[words.index("dev") + 1] for words in routes if "dev" in words[:-1]}
    for line in found.get("addresses", ()):
        words = line.split()
        if len(words) < 4 or _INNER.match(words[1]) or words[3].startswith("169.254."):
            continue
        candidates.append(words[1])
    cards = set(found.get("cards", ()))
    ranked = sorted(candidates, key=lambda name: (name not in cards, name not in routed))
    return ranked[0] if ranked else ""


def network_of(facts: Facts) -> str:
    """The IPv4 network of the card, as `10.0.0.0/24`; empty: not known."""
    for line in facts.lines("addresses"):
        words = line.split()
        if len(words) > 3 and words[1] == facts.interface and "/" in words[3]:
            address, _, bits = words[3].partition("/")
            numbers = [int(one) for one in address.split(".")]
            whole = int.from_bytes(bytes(numbers), "big")
            mask = (0xFFFFFFFF << (32 - int(bits))) & 0xFFFFFFFF
            return ".".join(str(one) for one in (whole & mask).to_bytes(4, "big")) + f"/{bits}"
    return ""
