# SPDX-License-Identifier: BSD-3-Clause
"""What a comparison costs its figures: the checks of `beowire doctor` on the ends that `compare`
measures between, as far as their facts can be had at once, without privilege and without harm. It
is said in the record, before anything is measured; the words are those of the checks.

An engine's word is there for every end. The script's is that of this host, for a lab of namespaces
and for this host alone, and over ssh that of each host; a batch system is not asked for more steps.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from beowire.analysis.finding import Finding, ordered
from beowire.conduct.survey import Survey
from beowire.doctor import card_checks, facts, host_checks, ways
from beowire.doctor.facts import Facts
from beowire.errors import BeowireError
from beowire.places.launch.base import Launcher, Node, one_machine
from beowire.places.launch.ssh import SshLauncher
from beowire.record.lines import NodeEnd
from beowire.record.parts import Found

Check = Callable[[Facts], Finding]
Sections = Mapping[str, Sequence[str]]

#: What the engine alone knows enough of.
_OF_ENGINE: Sequence[Check] = (host_checks.frames, host_checks.buffers, host_checks.clock)
_OF_CARD: Sequence[Check] = (
    card_checks.link,
    card_checks.mtu,
    card_checks.coalescing,
    card_checks.offloads,
    card_checks.rings,
)

#: What takes a section of the script: without it nothing is said.
_OF_HOST_SCRIPT: Sequence[tuple[str, Check]] = (
    ("governors", host_checks.governor),
    ("idle_states", host_checks.idle),
)
_OF_CARD_SCRIPT: Sequence[tuple[str, Check]] = (
    ("traffic", card_checks.losses),
    ("affinity", card_checks.interrupts),
)

#: Sections that are asked for: of files and of one short command each.
_HOST_SECTIONS = ("user", "rmem_max", "wmem_max", "governors", "idle_states")
_CARD_SECTIONS = ("addresses", "rings", "affinity", "traffic")

#: What the engine calls what sections have.
_OF_ENVIRONMENT = {
    "rmem_max": "net_core_rmem_max",
    "wmem_max": "net_core_wmem_max",
    "governors": "cpu_governor",
}

#: No card, so nothing to be said of one.
_LOOPBACK = "lo"

#: A lab's cable, whose offloads are the lab's to choose; it has nothing else of a card.
_CABLE = "veth"

#: What to type where the card is a lab's, which is gone when the run is over.
_IN_LAB = {"MTU": f"beowire compare --lab --mtu {card_checks.LARGE_MTU}"}


def found_at(launcher: Launcher, survey: Survey) -> list[Found]:
    """What the checks say of each end, alike at several in one; the worst first. A host that does
    not answer the script has no findings that need it: the run is what matters."""
    in_lab = launcher.describe_link().get("kind") == "lab"
    nodes = list(launcher.nodes)[: len(survey.nodes)]
    here = _asked_here() if one_machine(launcher) else {}
    ends = [
        facts_of(end, here or _asked(launcher, node, end), survey.reasons.get(end.node, {}))
        for end, node in zip(survey.nodes, nodes, strict=True)
    ]
    findings = [(one.host, finding) for one in ends for finding in judged(one, in_lab=in_lab)]
    together = [one.host for one in ends]
    merged: dict[Finding, list[str]] = {}
    for name, finding in findings:
        merged.setdefault(finding, []).append(name)
    for finding in ways.differences(ends):
        merged[finding] = together
    return [Found(nodes=merged[finding], **finding.as_data()) for finding in ordered(list(merged))]


def facts_of(end: NodeEnd, sections: Sections, reasons: Mapping[str, str]) -> Facts:
    """What is known of an end. `reasons`: why a driver cannot run there; empty: it can."""
    known = dict(sections)
    for name, of_engine in _OF_ENVIRONMENT.items():
        value = end.environment.get(of_engine)
        if not known.get(name) and value is not None:
            known[name] = [str(value)]
    clock_ns = end.clock.overhead_ns if end.clock is not None else None
    return Facts(end.node, end.interface or "", end.environment, known, reasons, clock_ns)


def judged(one: Facts, *, in_lab: bool) -> list[Finding]:
    """What the checks say of an end whose facts are these."""
    asked = list(_OF_ENGINE)
    asked += [check for name, check in _OF_HOST_SCRIPT if name in one.sections]
    findings = [check(one) for check in asked]
    if one.interface in ("", _LOOPBACK):
        return findings
    if in_lab and one.text("interface_driver") == _CABLE:
        return [*findings, replace(card_checks.mtu(one), do=_IN_LAB["MTU"])]
    of_card = [*_OF_CARD, *(check for name, check in _OF_CARD_SCRIPT if name in one.sections)]
    for check in of_card:
        finding = check(one)
        findings.append(replace(finding, do=_IN_LAB.get(finding.check, "")) if in_lab else finding)
    return findings


def _asked_here() -> Sections:
    """Sections of the script that are the same for all ends on this host."""
    try:
        return facts.ask_here(facts.script("", _HOST_SECTIONS))
    except (BeowireError, OSError):
        return {}


def _asked(launcher: Launcher, node: Node, end: NodeEnd) -> Sections:
    """Sections of the script, where they can be had."""
    if not isinstance(launcher, SshLauncher):
        return {}
    try:
        text = facts.script(end.interface or "", (*_HOST_SECTIONS, *_CARD_SECTIONS))
        return facts.sections(launcher.run(node, "exec sh", text.encode()))
    except (BeowireError, OSError):
        return {}
