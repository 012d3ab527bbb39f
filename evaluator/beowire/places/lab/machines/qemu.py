# SPDX-License-Identifier: BSD-3-Clause
"""How a machine of QEMU is started. Nothing here runs anything."""

from beowire.places.lab import network
from beowire.places.lab.cards import Card
from beowire.places.lab.machines.initramfs import TAG
from beowire.places.lab.machines.parts import QemuParts

MEMORY_BYTES = 512 << 20

PORT = "/dev/vport0p1"
"""Of the agent, to the keeper. virtio-serial has a port 0 of its own only with a console."""

_KERNEL = (
    "console=ttyS0 quiet panic=-1 net.ifnames=0 rdinit=/init"
    # What takes long under emulation, and guards nothing here.
    " mitigations=off nokaslr audit=0 apparmor=0 selinux=0 cryptomgr.notests nowatchdog"
    " no_timer_check tsc=reliable random.trust_cpu=on"
)


def command(
    parts: QemuParts,
    card: Card,
    index: int,
    *,
    initramfs: int,
    console: int,
    control: int,
    wire: int,
) -> list[str]:
    """The command line of a node's machine. The numbers are those of descriptors that it inherits:
    a file, two sockets of streams, one of datagrams, each of which is a frame of the network."""
    accelerate = ["kvm", "-cpu", "host"] if parts.kvm else ["tcg,tb-size=256", "-cpu", "max"]
    return [
        str(parts.qemu),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-name", network.node_name(index), "-machine", "pc,usb=off,vmport=off"),
        *("-accel", *accelerate),
        *("-m", f"{MEMORY_BYTES >> 20}M", "-smp", "1"),
        *("-kernel", str(parts.kernel.image), "-initrd", f"/proc/self/fd/{initramfs}"),
        *("-append", _KERNEL),
        *("-chardev", f"socket,id=console,fd={console}", "-serial", "chardev:console"),
        *("-device", "virtio-serial-pci", "-chardev", f"socket,id=control,fd={control}"),
        *("-device", "virtserialport,chardev=control,nr=1,name=beowire"),
        *("-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap"),
        *("-device", f"virtio-9p-pci,fsdev=root,mount_tag={TAG}"),
        *("-netdev", f"socket,id=wire,fd={wire}"),
        *("-device", f"{card.device},netdev=wire,mac={network.node_mac(index)},romfile="),
    ]
