# SPDX-License-Identifier: BSD-3-Clause
"""What a lab of machines is made of, and what to install where a part of it is missing.

Nothing of this is needed before somebody asks for such a lab.
"""

import contextlib
import fcntl
import os
import platform
import re
import shutil
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from beowire.errors import BeowireError

_T = TypeVar("_T")

_BOOT = Path("/boot")
_MODULES = Path("/lib/modules")
_PROCESSORS = Path("/proc/cpuinfo")
_UML_MODULES = Path("/usr/lib/uml/modules")

_KVM_GET_API_VERSION = 0xAE00
_KVM_CREATE_VM = 0xAE01
_KVM_API_VERSION = 12

_PT_INTERP = 3


@dataclass(frozen=True)
class Kernel:
    """A kernel that can be booted."""

    image: Path
    version: str
    modules: Path
    """The directory that has modules.dep."""


@dataclass(frozen=True)
class QemuParts:
    """What boots a machine of QEMU."""

    qemu: Path
    kernel: Kernel
    busybox: Path
    kvm: bool
    """Whether it can run on the processor itself; it is emulated otherwise."""


@dataclass(frozen=True)
class UmlParts:
    """What boots user-mode Linux."""

    kernel: Kernel


def qemu_parts() -> QemuParts:
    """Finds them; BeowireError with the line to type where that fails."""
    if platform.machine() != "x86_64":
        raise BeowireError(
            f"--backend vm is absent: its machines are x86_64, this host is {platform.machine()}"
        )
    missing = _Missing("vm")
    qemu = missing.unless(_program("qemu-system-x86_64"), "no QEMU", "qemu-system-x86")
    kernel = missing.unless(find_kernel(), "no kernel image that can be read", "linux-image-amd64")
    busybox = missing.unless(find_busybox(), "no busybox linked statically", "busybox-static")
    missing.unless(_program("modprobe"), "no modprobe", "kmod")
    missing.check()
    assert qemu is not None and kernel is not None and busybox is not None
    return QemuParts(qemu, kernel, busybox, kvm_works())


def uml_parts(processors: Path = _PROCESSORS) -> UmlParts:
    """Finds them; BeowireError with the line to type where that fails."""
    missing = _Missing("uml")
    linux = missing.unless(_program("linux.uml"), "no user-mode Linux", "user-mode-linux")
    modules = newest(_UML_MODULES)
    missing.unless(modules or (None if linux else linux), "no modules of it", "user-mode-linux")
    missing.unless(_program("modprobe"), "no modprobe", "kmod")
    missing.check()
    if has_flag(processors, "amx_tile"):
        raise BeowireError(
            "--backend uml is absent: this processor has AMX, whose registers user-mode Linux"
            " cannot keep: use --backend vm"
        )
    assert linux is not None and modules is not None
    return UmlParts(Kernel(linux, modules.name, modules))


class _Missing:
    """Collects what is missing."""

    def __init__(self, backend: str) -> None:
        self._backend = backend
        self._why: list[str] = []
        self._packages: list[str] = []

    def unless(self, found: _T | None, why: str, package: str) -> _T | None:
        """Notes why something is not there."""
        if found is None and package not in self._packages:
            self._why.append(why)
            self._packages.append(package)
        return found

    def check(self) -> None:
        """Raises the one line."""
        if self._why:
            raise BeowireError(
                f"--backend {self._backend} is absent: {', '.join(self._why)}: apt-get install"
                f" --no-install-recommends {' '.join(self._packages)}"
            )


def find_kernel(boot: Path = _BOOT, modules: Path = _MODULES) -> Kernel | None:
    """The newest kernel of this host that has its modules."""
    images = {path.name.removeprefix("vmlinuz-"): path for path in boot.glob("vmlinuz-*")}
    for version in sorted(images, key=_by_number, reverse=True):
        directory = modules / version
        if (directory / "modules.dep").is_file() and os.access(images[version], os.R_OK):
            return Kernel(images[version], version, directory)
    return None


def newest(directory: Path) -> Path | None:
    """The modules of the newest kernel in there."""
    found = [path.parent for path in directory.glob("*/modules.dep")]
    return max(found, key=lambda path: _by_number(path.name), default=None)


def find_busybox() -> Path | None:
    """One that runs where there is no library."""
    for name in ("busybox", "busybox.static"):
        path = _program(name)
        if path is not None and is_static(path):
            return path
    return None


def is_static(program: Path) -> bool:
    """Whether a program of ELF, 64 bits, names no interpreter that loads libraries (elf(5))."""
    data = program.read_bytes()
    if data[:5] != b"\x7fELF\x02":
        return False
    (table,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    kinds = [struct.unpack_from("<I", data, table + size * index)[0] for index in range(count)]
    return _PT_INTERP not in kinds


def has_flag(processors: Path, flag: str) -> bool:
    """Whether the processors have a feature, by Linux's name."""
    text = processors.read_text(encoding="ascii", errors="replace")
    return re.search(rf"^flags\s*:.*\b{flag}\b", text, re.MULTILINE) is not None


def kvm_works(device: Path = Path("/dev/kvm"), processors: Path = _PROCESSORS) -> bool:
    """Whether this user can make machines that run on the processor itself.

    There is KVM without the processor's help, which boots only kernels that were made for it.
    """
    with contextlib.suppress(OSError):
        if not has_flag(processors, "vmx") and not has_flag(processors, "svm"):
            return False
        handle = os.open(device, os.O_RDWR | os.O_CLOEXEC)
        try:
            if fcntl.ioctl(handle, _KVM_GET_API_VERSION, 0) == _KVM_API_VERSION:
                os.close(fcntl.ioctl(handle, _KVM_CREATE_VM, 0))
                return True
        finally:
            os.close(handle)
    return False


def check_memory(machines: int, each_bytes: int, available_bytes: int | None = None) -> None:
    """Raises BeowireError when the host has not enough memory for them."""
    available = available_memory_bytes() if available_bytes is None else available_bytes
    if available < machines * each_bytes:
        raise BeowireError(
            f"this host has too little memory for {machines} machines of {each_bytes >> 20} MiB:"
            f" {available >> 20} MiB are available: end other programs, or ask for fewer --nodes"
        )


def available_memory_bytes(path: Path = Path("/proc/meminfo")) -> int:
    """What programs can still get without swapping."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", path.read_text(encoding="ascii"), re.MULTILINE)
    return int(found[1]) << 10 if found else 1 << 60


def _program(name: str) -> Path | None:
    parts = [part for part in os.environ.get("PATH", "").split(os.pathsep) if part.startswith("/")]
    found = shutil.which(name, path=os.pathsep.join([*parts, "/usr/sbin", "/sbin"]))
    return None if found is None else Path(found)


def _by_number(name: str) -> list[tuple[int, str]]:
    """For sorting: 6.10 is newer than 6.9."""
    return [(int(number or 0), text) for number, text in re.findall(r"(\d+)|(\D+)", name)]
