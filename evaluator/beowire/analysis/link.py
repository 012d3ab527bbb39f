# SPDX-License-Identifier: BSD-3-Clause
"""What joined the two ends of a record, in words: `virtual cluster (direct link), MTU 1500`."""

from collections.abc import Sequence

from beowire.plan import call_cost
from beowire.record.lines import Meta, NodeEnd
from beowire.record.parts import Link
from beowire.units import bit_rate_text, time_text

_CONGESTION_CONTROL = "net_ipv4_tcp_congestion_control"
"""The engine's name for it in an end's environment."""


def link_text(meta: Meta) -> str:
    """The link's facts, and the congestion control that TCP had over it."""
    return link_facts(meta.link, meta.ends)


def link_facts(link: Link, ends: Sequence[NodeEnd]) -> str:
    """The same of what a record has of them."""
    if link.kind == "lab":
        facts = [f"{_cluster(link)} ({link.topology or 'lab'} link)", *_caution(link)]
    else:
        kinds = {"hosts": "real hosts", "local": "one host, loopback"}
        facts = [kinds.get(link.kind, link.kind)]
    facts += [f"MTU {link.mtu}"] if link.mtu else []
    facts += [bit_rate_text(link.rate_bits_per_s)] if link.rate_bits_per_s else []
    facts += [f"delay {time_text(link.delay_ns)}"] if link.delay_ns else []
    facts += [f"loss {link.loss:.3g}"] if link.loss else []
    facts += [cost] if (cost := call_cost.described(ends)) else []
    facts += [f"congestion control {used}"] if (used := _congestion_control(link, ends)) else []
    return ", ".join(facts)


def _cluster(link: Link) -> str:
    if link.backend == "vm":
        return f"virtual machines with cards {link.nic or 'of an unknown kind'}"
    return "namespaces of user-mode Linux" if link.backend == "uml" else "virtual cluster"


def _caution(link: Link) -> list[str]:
    """How far figures can be trusted that come from no processor of this kind."""
    ways = {"tcg": "emulated", "uml": "on a kernel that is a program", "kvm": "under KVM"}
    if link.accelerator is None:
        return []
    how = ways.get(link.accelerator, link.accelerator)
    return [f"{how}: figures compare only with one another"]


def _congestion_control(link: Link, ends: Sequence[NodeEnd]) -> str:
    """Its name; each end's where they differ; empty if nobody knows."""
    if link.congestion_control:
        return link.congestion_control
    names = [str(end.environment.get(_CONGESTION_CONTROL) or "") for end in ends]
    if not any(names):
        return ""
    if len(set(names)) == 1:
        return names[0]
    return " and ".join(
        f"{name or 'unknown'} on {end.node}" for name, end in zip(names, ends, strict=True)
    )
