# SPDX-License-Identifier: BSD-3-Clause
"""System calls that Python 3.11 does not have: namespaces, prctl, mount, modules, ethtool features.

Each function raises OSError with the kernel's errno. Sources: unshare(2), setns(2), prctl(2),
mount(2), and <linux/ethtool.h> for the ethtool requests.
"""

import ctypes
import errno
import fcntl
import os
import re
import socket
import struct
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15

_MS_NOSUID = 2
_MS_NODEV = 4
_MS_NOEXEC = 8
_MS_REC = 0x4000
_MS_SLAVE = 0x80000

_SYS_FINIT_MODULE = 313
"""On x86_64, which is what machines of labs are."""

_RB_POWER_OFF = 0x4321FEDC

_SIOCETHTOOL = 0x8946
_ETHTOOL_GSTRINGS = 0x1B
_ETHTOOL_GSSET_INFO = 0x37
_ETHTOOL_SFEATURES = 0x3B
_ETH_SS_FEATURES = 4
_ETH_GSTRING_LEN = 32

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def unshare(flags: int) -> None:
    """Gives this process namespaces of its own. CLONE_NEWUSER needs a process of one thread."""
    _check(_libc.unshare(ctypes.c_int(flags)))


def set_hostname(name: str) -> None:
    """Sets the hostname of this process's UTS namespace."""
    socket.sethostname(name)


def set_parent_death_signal(signal_number: int) -> None:
    """Has the kernel send a signal to this process when its parent ends.

    A change of credentials clears it (a user namespace entered later), so call it after that.
    """
    _check(_libc.prctl(ctypes.c_int(_PR_SET_PDEATHSIG), ctypes.c_ulong(signal_number), 0, 0, 0))


def set_dumpable() -> None:
    """Lets the owner of this process look into its /proc entries again.

    Making a user namespace takes that away, and with it the right to write one's own uid_map and
    to be entered by setns().
    """
    _check(_libc.prctl(ctypes.c_int(_PR_SET_DUMPABLE), ctypes.c_ulong(1), 0, 0, 0))


def set_process_name(name: str) -> None:
    """Sets the name that ps and top show (15 bytes of it)."""
    _check(_libc.prctl(ctypes.c_int(_PR_SET_NAME), ctypes.c_char_p(name.encode()), 0, 0, 0))


def become_root_of_user_namespace() -> None:
    """Makes a user namespace in which this user is root; needs a process of one thread."""
    uid, gid = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER)
    set_dumpable()
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1", encoding="ascii")


def mount_own_sysfs() -> None:
    """Mounts a /sys that shows the interfaces of this process's network namespace.

    /sys/class/net belongs to the namespace of whoever mounted it, so a program in a node would
    otherwise read the host's interfaces there. Needs a mount namespace of one's own.
    """
    _check(_libc.mount(b"none", b"/", None, ctypes.c_ulong(_MS_REC | _MS_SLAVE), None))
    flags = ctypes.c_ulong(_MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    _check(_libc.mount(b"sysfs", b"/sys", b"sysfs", flags, None))


def mount(source: str, target: str, kind: str, data: str = "") -> None:
    """Mounts a file system of this kind."""
    words = (source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(0), data.encode())
    _check(_libc.mount(*words))


def load_module(path: Path) -> None:
    """Loads a module of the kernel, without those that it needs. It may be there already."""
    with path.open("rb") as module:
        call = ctypes.c_long(_SYS_FINIT_MODULE)
        result = _libc.syscall(call, ctypes.c_int(module.fileno()), b"", ctypes.c_int(0))
    if result < 0 and ctypes.get_errno() != errno.EEXIST:
        _check(result)


def power_off() -> None:
    """Switches this machine off."""
    _check(_libc.reboot(ctypes.c_int(_RB_POWER_OFF)))


def disable_features(interface: str, wanted: re.Pattern[str]) -> None:
    """Switches off offloads of an interface in this network namespace.

    `wanted` matches the kernel's whole feature names (the ones that `ethtool -k` is built on,
    such as "tx-tcp-segmentation"). A feature that cannot be switched off stays on.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        count = _feature_count(control, interface)
        names = _feature_names(control, interface, count)
        blocks = (count + 31) // 32
        valid = [0] * blocks
        for index, name in enumerate(names):
            if wanted.fullmatch(name):
                valid[index // 32] |= 1 << (index % 32)
        request = struct.pack("=II", _ETHTOOL_SFEATURES, blocks)
        request += b"".join(struct.pack("=II", mask, 0) for mask in valid)
        _ethtool(control, interface, request)


def _feature_count(control: socket.socket, interface: str) -> int:
    request = struct.pack("=IIQI", _ETHTOOL_GSSET_INFO, 0, 1 << _ETH_SS_FEATURES, 0)
    answer = _ethtool(control, interface, request)
    return int(struct.unpack_from("=I", answer, 16)[0])


def _feature_names(control: socket.socket, interface: str, count: int) -> list[str]:
    header = struct.pack("=III", _ETHTOOL_GSTRINGS, _ETH_SS_FEATURES, count)
    answer = _ethtool(control, interface, header + bytes(count * _ETH_GSTRING_LEN))
    texts = answer[len(header) :]
    return [
        texts[at : at + _ETH_GSTRING_LEN].split(b"\0", 1)[0].decode("ascii", "replace")
        for at in range(0, count * _ETH_GSTRING_LEN, _ETH_GSTRING_LEN)
    ]


def _ethtool(control: socket.socket, interface: str, request: bytes) -> bytes:
    buffer = ctypes.create_string_buffer(request, len(request))
    ifreq = struct.pack("16sP16x", interface.encode(), ctypes.addressof(buffer))
    fcntl.ioctl(control, _SIOCETHTOOL, ifreq)
    return buffer.raw
