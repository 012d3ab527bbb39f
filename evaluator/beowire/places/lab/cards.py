# SPDX-License-Identifier: BSD-3-Clause
"""The network cards that a machine of the lab can have. A card is a row."""

from dataclasses import dataclass

USUAL = "e1000"


@dataclass(frozen=True)
class Card:
    """A card that QEMU emulates."""

    device: str
    """What QEMU calls it."""

    driver: str
    """Linux's module for it."""

    what: str
    """As its maker calls it."""


CARDS = {
    "e1000": Card("e1000", "e1000", "Intel 82540EM"),
    "e1000e": Card("e1000e", "e1000e", "Intel 82574L"),
    "virtio": Card("virtio-net-pci", "virtio_net", "virtio"),
    "rtl8139": Card("rtl8139", "8139cp", "RealTek RTL8139C+"),
    "ne2k_pci": Card("ne2k_pci", "ne2k-pci", "RealTek RTL8029, an NE2000"),
    "pcnet": Card("pcnet", "pcnet32", "AMD Am79C970A"),
    "vmxnet3": Card("vmxnet3", "vmxnet3", "VMware VMXNET3"),
    "igb": Card("igb", "igb", "Intel 82576"),
    "i82559er": Card("i82559er", "e100", "Intel 82559ER"),
    "tulip": Card("tulip", "tulip", "DEC 21143"),
}
