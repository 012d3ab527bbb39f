# SPDX-License-Identifier: BSD-3-Clause
"""Starts engines in a lab whose nodes are machines; chooses the launcher of a lab."""

from beowire.places.lab.options import LabOptions
from beowire.places.launch.lab import LabLauncher


class MachinesLauncher(LabLauncher):
    """Engines in machines, each with a kernel, and so with a clock and processors, of its own.

    They are started as in any lab: how a node is entered is the lab's business.
    """

    kind = "machines"


_LAUNCHERS = {"namespaces": LabLauncher, "vm": MachinesLauncher, "uml": LabLauncher}


def lab_launcher(options: LabOptions) -> LabLauncher:
    """The launcher for a lab of this kind."""
    return _LAUNCHERS[options.backend](options)
