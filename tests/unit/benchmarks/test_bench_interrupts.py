# SPDX-License-Identifier: BSD-3-Clause
"""What the benchmark reads of machines."""

from benchmarks.interrupts import vectors

SAID = """\
 28:       7465   PCI-MSI 65536-edge      eth0-rx-0
 29:       8974   PCI-MSI 65537-edge      eth0-tx-0
 11:         14   IO-APIC  11-fasteoi   eth0
"""


def test_vectors__names_and_counts() -> None:
    assert vectors(SAID) == {"eth0-rx-0": 7465, "eth0-tx-0": 8974, "eth0": 14}
    assert vectors("") == {}
