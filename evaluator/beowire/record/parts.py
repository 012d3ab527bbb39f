# SPDX-License-Identifier: BSD-3-Clause
"""What every line of a record is, and what joined the two ends: see record.py."""

from pydantic import BaseModel, ConfigDict


class RecordPart(BaseModel):
    """A line of a record, or a part of one."""

    model_config = ConfigDict(
        strict=True, frozen=True, extra="allow", allow_inf_nan=False, populate_by_name=True
    )


class RecordLine(RecordPart):
    """A line of a record."""

    type: str

    def cell(self) -> object:
        """What it is a result of; None for a line that is none."""
        return None


class Found(RecordPart):
    """What `beowire doctor` says of nodes, as they were before anything was measured."""

    nodes: list[str]
    """At which it is so."""
    check: str
    """Which check: a word or two."""
    state: str
    """`bad`, `worse` (it costs time that can be named), `note`, `unknown` or `ok`."""
    text: str
    """What is so."""
    costs: str = ""
    """By how much it matters."""
    do: str = ""
    """The line to type; empty: nothing can be done, or need be."""


class Link(RecordPart):
    """What joined the two ends. All but `kind` are known only for a lab."""

    kind: str
    """`lab`, `hosts` or `local`."""
    topology: str | None = None
    """`direct` (one cable) or `switch`."""
    mtu: int | None = None
    """Bytes, as the interface has it."""
    rate_bits_per_s: float | None = None
    delay_ns: float | None = None
    """One way."""
    loss: float | None = None
    """Share of the frames that are dropped, 0 to 1."""
    burst_bytes: int | None = None
    """What a shaped port may send at once after a pause, faster than its rate."""
    delay_by: str | None = None
    """`netem` or `relay`."""
    congestion_control: str | None = None
    """TCP's in every node of the lab. (What other hosts have is in the environment of each end.)"""
    backend: str | None = None
    """What nodes of the lab are: `vm` (machines of QEMU) or `uml` (in user-mode Linux); None:
    namespaces."""
    nic: str | None = None
    """The card that QEMU emulates."""
    accelerator: str | None = None
    """What runs the machines: `kvm`, `tcg` (emulation) or `uml`."""
    kernel: str | None = None
    """The version of the machines' kernel."""
