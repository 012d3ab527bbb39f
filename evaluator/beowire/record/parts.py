# SPDX-License-Identifier: BSD-3-Clause
"""The base of every line of a record, findings, and the link between the two ends."""

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
        """The cell of a result; None for other lines."""
        return None


class Found(RecordPart):
    """A finding of `beowire doctor` before the measurement."""

    nodes: list[str]
    """The nodes concerned."""
    check: str
    """The check, in a word or two."""
    state: str
    """`bad`, `worse` (with a known cost), `note`, `unknown` or `ok`."""
    text: str
    """The finding."""
    costs: str = ""
    """Its cost."""
    do: str = ""
    """The command to type; empty: none."""


class Link(RecordPart):
    """The link between the two ends. All but `kind` are known only for a lab."""

    kind: str
    """`lab`, `hosts` or `local`."""
    topology: str | None = None
    """`direct` (one cable) or `switch`."""
    mtu: int | None = None
    """Of the interface, in bytes."""
    rate_bits_per_s: float | None = None
    delay_ns: float | None = None
    """One way."""
    loss: float | None = None
    """Share of the frames that are dropped, 0 to 1."""
    burst_bytes: int | None = None
    """Bytes that a shaped port may send after a pause without delay by its rate."""
    delay_by: str | None = None
    """`netem` or `relay`."""
    congestion_control: str | None = None
    """TCP's on all nodes of a lab. (Other hosts have theirs in the environment of each end.)"""
    backend: str | None = None
    """Of the lab's nodes: `vm` (virtual machines of QEMU), `uml` (user-mode Linux), or None
    (namespaces)."""
    nic: str | None = None
    """The network card that QEMU emulates."""
    accelerator: str | None = None
    """What runs the machines: `kvm`, `tcg` (emulation) or `uml`."""
    kernel: str | None = None
    """The version of the machines' kernel."""
