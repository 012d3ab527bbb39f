# SPDX-License-Identifier: BSD-3-Clause
"""The first files of a machine: enough to reach the host's, and to become its agent.

A static busybox, the modules for 9p over virtio and for an overlay, and a script. The host's root
is mounted read-only, with an overlay in the machine's memory: what is written there goes with it.
"""

import gzip
import lzma
import os
import shlex
import stat
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from beowire.errors import BeowireError
from beowire.places.lab.machines.parts import Kernel

TAG = "host"
"""What the host's root is called by 9p."""

NEEDED = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_console")

_SCRIPT = """#!/bin/busybox sh
# Becomes the agent of a machine of a lab.
b=/bin/busybox
fail() {{ echo "beowire: $1"; $b poweroff -f; $b sleep 60; }}
$b mkdir -p /host /rw /root
for module in $($b cat /modules); do
    $b insmod "/$module" || fail "the module $module cannot be loaded"
done
$b mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=262144,{cache} {tag} /host ||
    fail "the host's files cannot be mounted"
$b mount -t tmpfs -o mode=755 tmpfs /rw && $b mkdir /rw/upper /rw/work &&
    $b mount -t overlay -o lowerdir=/host,upperdir=/rw/upper,workdir=/rw/work overlay /root ||
    fail "the root cannot be mounted"
exec $b switch_root /root {agent} || fail "the agent cannot be started"
"""


def make(kernel: Kernel, busybox: Path, agent: Sequence[str]) -> bytes:
    """An archive that the kernel unpacks: `agent` is the command that takes over."""
    modules = [_read(kernel.modules / path) for path in load_order(kernel)]
    names = [f"{number}.ko" for number in range(len(modules))]
    script = _SCRIPT.format(tag=TAG, cache="cache=loose", agent=shlex.join(agent))
    files = [
        ("bin", stat.S_IFDIR | 0o755, b""),
        ("bin/busybox", stat.S_IFREG | 0o755, busybox.read_bytes()),
        ("init", stat.S_IFREG | 0o755, script.encode()),
        ("modules", stat.S_IFREG | 0o644, "\n".join(names).encode()),
        *((name, stat.S_IFREG | 0o644, data) for name, data in zip(names, modules, strict=True)),
    ]
    return b"".join(_packed(files))


def load_order(kernel: Kernel, needed: Sequence[str] = NEEDED) -> list[str]:
    """Files of the modules, below the kernel's directory, each after those that it needs."""
    lines = (kernel.modules / "modules.dep").read_text(encoding="utf-8").splitlines()
    needs = {path: others.split() for path, _, others in (line.partition(":") for line in lines)}
    by_name = {_name(path): path for path in needs}
    builtin = kernel.modules / "modules.builtin"
    have = builtin.read_text(encoding="utf-8").splitlines() if builtin.is_file() else []
    inside = {_name(path) for path in have}
    order: list[str] = []
    for name in needed:
        if name in inside:
            continue
        path = by_name.get(name)
        if path is None:
            raise BeowireError(f"the kernel {kernel.version} has no module {name}: use another")
        # modules.dep has all that a module needs, the one to load first at the end.
        order += [one for one in (*reversed(needs[path]), path) if one not in order]
    return order


def _name(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0].replace("-", "_")


def _read(path: Path) -> bytes:
    data = path.read_bytes()
    match path.suffix:
        case ".gz":
            return gzip.decompress(data)
        case ".xz":
            return lzma.decompress(data)
        case ".zst":
            try:
                return subprocess.run(
                    ["zstd", "-dcq"], input=data, stdout=subprocess.PIPE, check=True
                ).stdout
            except (OSError, subprocess.SubprocessError):
                raise BeowireError(
                    f"{path.name} cannot be unpacked: install the package zstd"
                ) from None
    return data


def _packed(files: Sequence[tuple[str, int, bytes]]) -> Iterator[bytes]:
    """An archive in the format `newc` of cpio."""
    trailer = ("TRAILER!!!", 0, b"")
    for number, (name, mode, data) in enumerate([*files, trailer], 1):
        path = name.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + path
        yield head + bytes(-len(head) % 4)
        yield data + bytes(-len(data) % 4)


def in_memory(archive: bytes) -> int:
    """A descriptor of a file that has no name."""
    descriptor = os.memfd_create("initramfs", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(descriptor), "wb") as stream:
        stream.write(archive)
    return descriptor
