# SPDX-License-Identifier: BSD-3-Clause
"""What is to be done on a host, from what `scripts.look()` printed there."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from beowire.setup.pieces import BROKER, FRAMES, SOCKET, Piece
from beowire.setup.scripts import POLICY


@dataclass(frozen=True)
class Plan:
    """Of one host."""

    host: str
    steps: Sequence[str] = field(default_factory=list)
    """What would be done, a line each; none: it is as it should be."""
    obstacles: Sequence[str] = field(default_factory=list)
    """What stands in the way, and what to do, a line each."""
    may_frames: bool = False
    """The program that lets others send frames is there, has what it needs, and is for us."""
    notes: Sequence[str] = field(default_factory=list)
    """What is left to do by hand, a line each."""


def parse(said: str) -> dict[str, list[str]]:
    """The values by their names, in order."""
    found: dict[str, list[str]] = {}
    for line in said.splitlines():
        name, _, value = line.strip().partition(" ")
        if name:
            found.setdefault(name, []).append(value.strip())
    return found


def plan(
    host: str, said: str, prefix: str, files: Sequence[Piece], group: str, *, broker: bool = False
) -> Plan:
    """What is to be done there. `broker`: the group gets frames by it, not by a capability."""
    found = parse(said)
    with_broker = group if broker else ""
    obstacles = _obstacles(found, prefix, group, broker=broker)
    group = "" if broker else group
    absent, other = found.get("absent", []), found.get("other", [])
    steps = []
    if absent:
        size = sum(len(one.data) for one in files if one.path in absent)
        steps.append(f"copy to {prefix}: {', '.join(absent)} ({size / 1e6:.1f} MB)")
    if other:
        steps.append(f"replace in {prefix}: {', '.join(other)} (of another version)")
    if "interrupted" in found:
        steps.append(f"complete the interrupted installation in {prefix}")
    capable = "cap_net_raw" in _first(found, "capability")
    allowed = capable and _first(found, "frames") == f"750 {group}"
    if group and not (allowed and FRAMES in found.get("same", [])):
        steps.append(
            f"let the group {group} send Ethernet frames: chgrp {group}, chmod 750 and"
            f" setcap cap_net_raw=ep of {prefix}/{FRAMES}"
        )
    if not group and capable:
        why = "the broker gives frames" if broker else "no --group is named"
        steps.append(f"take cap_net_raw from {prefix}/{FRAMES}: {why}")
    if with_broker:
        steps += _steps_of_broker(found, prefix, with_broker)
    # Root runs nothing that only lies where ours should be.
    ours = FRAMES in found.get("same", []) or _first(found, "uid") != "0"
    may_frames = capable and ours and "usable" in found
    notes = [_by_hand(prefix)] if broker and _first(found, "broker") == "by-hand" else []
    return Plan(host, steps, obstacles, may_frames, notes)


def _steps_of_broker(found: dict[str, list[str]], prefix: str, group: str) -> list[str]:
    steps = []
    if _first(found, "policy") == "absent":
        steps.append(f'write {POLICY}: groups = ["{group}"]')
    if _first(found, "broker") == "disabled":
        steps.append(f"have systemd start the broker: systemctl enable --now {prefix}/{SOCKET}")
    return steps


def _by_hand(prefix: str) -> str:
    return (
        "there is no systemd, so start the broker at each boot, as root:"
        f" setpriv --inh-caps=-all --bounding-set=-all,+net_admin,+bpf {prefix}/{BROKER} &"
    )


def _first(found: dict[str, list[str]], name: str) -> str:
    return found.get(name, [""])[0]


def _obstacles(found: dict[str, list[str]], prefix: str, group: str, *, broker: bool) -> list[str]:
    is_root = _first(found, "uid") == "0"
    lacks = found.get("lacks", [])
    obstacles = []
    if "closed" in found:
        obstacles.append(
            f"{_first(found, 'closed')} cannot be written by {'root' if is_root else 'this user'}:"
            f" {'' if is_root else '--sudo, root@HOST, or '}another directory"
            " (--prefix '~/beowire')"
        )
    if "sha256sum" in lacks:
        obstacles.append("sha256sum is missing: install coreutils")
    if group and not is_root:
        obstacles.append(
            "only root can let a group send Ethernet frames: --sudo, root@HOST, or leave out"
            " --group (everything then goes over UDP)"
        )
    if _first(found, "policy") == "other":
        obstacles.append(f"{POLICY} does not name the group {group}: add it there to `groups`")
    capability = group and not broker
    if capability and "setcap" in lacks:
        obstacles.append("setcap is missing: install the package libcap2-bin")
    if "no_group" in found:
        obstacles.append(f"there is no group {group}: type there `groupadd --system {group}`")
    if "shared" in found:
        alone = "root's alone" if is_root else "yours alone"
        obstacles.append(
            f"{_first(found, 'shared')} is not {alone}, so others could replace the files: use"
            f" another --prefix, or chown it and `chmod go-w`"
        )
    if "odd" in found:
        obstacles.append(f"{_first(found, 'odd')} is not a directory: use another --prefix")
    if "foreign" in found:
        obstacles.append(
            f"{prefix}/{_first(found, 'foreign')} was not installed by `beowire setup`: move it"
            f" away, or use another --prefix"
        )
    kind, _, options = _first(found, "mounted").partition(" ")
    if capability and kind.startswith("nfs"):
        obstacles.append(
            f"{prefix} is on NFS, which keeps no file capabilities: use a --prefix on a local disk"
        )
    elif capability and "nosuid" in options.strip().split(","):
        obstacles.append(
            f"{prefix} is mounted nosuid, so file capabilities have no effect: use another --prefix"
        )
    return obstacles
