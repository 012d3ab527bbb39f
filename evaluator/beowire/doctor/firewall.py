# SPDX-License-Identifier: BSD-3-Clause
"""Whether a host's firewall lets in UDP of the other nodes, and does not answer for the host by
TCP, as far as its rules say so."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from beowire.analysis.finding import Finding, State, ok, unknown
from beowire.doctor.facts import Facts, network_of

#: What may stand in a rule of nft, whatever it is for.
_ASIDE = re.compile(
    r"\bcounter packets \d+ bytes \d+"
    r'|\blog (?:prefix "[^"]*" |level \w+ |group \d+ |flags \S+ )*'
    r'|(?: comment ".*")$'
)

#: The same of iptables.
_COMMENT = re.compile(r'-m comment --comment (?:"(?:[^"\\]|\\.)*"|\S+) ')

#: How a rule answers as a host on which nobody listens.
_RESET = re.compile(r"with tcp[ -]reset$")

#: The families of nft's tables that UDP over IPv4 passes.
_FAMILIES = ("ip", "inet")


@dataclass
class _Chain:
    """A chain that all that comes in passes: each of them has to let it in."""

    name: str
    """For people."""
    do: str
    """The command that lets UDP of NETWORK in, before all its rules."""
    drops: bool
    """It drops what no rule of it lets in."""
    rules: list[str] = field(default_factory=list)
    """In their order, without what says nothing of what they are for."""

    def decides(self, named: str) -> str:
        """The first rule for all UDP of the network, or for more, that lets it in or drops it;
        empty: none does. `named`: what such rules may name."""
        whole = re.compile(rf"(?:{named})*(?:-j )?(?i:accept|drop|reject\b.*)")
        return next((rule for rule in self.rules if whole.fullmatch(rule)), "")


def firewall(facts: Facts) -> Finding:
    """Does the host let UDP of other nodes in?"""
    nft, iptables = facts.lines("nft"), facts.lines("iptables")
    if not nft and not iptables:
        return _without_rules(facts)
    network = network_of(facts) or "NETWORK"
    let_in = False
    resets = None
    for chains, named_by in (
        (_nft_chains(nft), _named_by_nft),
        (_iptables_chains(iptables), _named_by_iptables),
    ):
        for chain in chains:
            rule = chain.decides(named_by("udp", network, facts.interface))
            if rule.lower().endswith("accept"):
                let_in = True
            elif rule or chain.drops:
                return _closed(chain, rule, network)
            rule = chain.decides(named_by("tcp", network, facts.interface))
            if _RESET.search(rule):
                resets = _resets(chain, rule, network)
    if resets is not None:
        return resets
    if let_in:
        return ok("firewall", f"a rule lets in UDP of {network}")
    return ok("firewall", "it has rules, and accepts by default")


def _closed(chain: _Chain, rule: str, network: str) -> Finding:
    of_all = re.match(r"(?:-j )?(?:drop|reject)", rule, re.IGNORECASE)
    what = f"UDP: {rule}" if rule and not of_all else "what no rule lets in"
    return Finding(
        "firewall",
        State.BAD,
        f"{chain.name} drops {what}",
        "unless a rule accepts UDP from the other nodes, the lane udp does not work, nor"
        " anything that cannot use Ethernet frames (which this firewall does not see)",
        chain.do.replace("NETWORK", network),
    )


def _resets(chain: _Chain, rule: str, network: str) -> Finding:
    return Finding(
        "firewall",
        State.NOTE,
        f"{chain.name} answers TCP with resets: {rule}",
        "a process that is stopped for longer than the peer timeout then looks like one whose port"
        " another user has taken, and its peers give it up",
        chain.do.replace("NETWORK", network).replace("udp", "tcp"),
    )


def _without_rules(facts: Facts) -> Finding:
    status = facts.lines("nft_status")
    if status and status[0] == "0":
        return ok("firewall", "no rules (nft)")
    if status and status[0] == "absent" and facts.number("user_id") == 0:
        return ok("firewall", "none found: neither nft nor iptables has rules")
    return unknown("firewall", "only root can read its rules", "sudo nft list ruleset")


def _nft_chains(lines: Sequence[str]) -> list[_Chain]:
    """Those of the hook input. One whose end was cut off is there as far as it goes."""
    chains: list[_Chain] = []
    family, table, name, hooked = "", "", "", False
    for line in lines:
        words = line.split()
        if words[:1] == ["table"] and len(words) > 2:
            family, table = words[1:3]
        elif words[:1] == ["chain"] and len(words) > 1:
            name, hooked = words[1], False
        elif "hook input" in line:
            hooked = family in _FAMILIES
            if hooked:
                where = f"{family} {table} {name}"
                do = (
                    f"nft insert rule {where} ip saddr NETWORK meta l4proto '{{ udp, icmp }}'"
                    " accept"
                )
                chains.append(_Chain(f"chain {where}", do, "policy drop" in line))
        elif words == ["}"]:
            hooked = False
        elif hooked:
            chains[-1].rules.append(" ".join(_ASIDE.sub(" ", line.strip()).split()))
    return chains


def _named_by_nft(protocol: str, network: str, interface: str) -> str:
    """What a rule for this protocol of this network that comes by this card may name."""
    card = rf'iif(?:name)? "{re.escape(interface)}" '
    source = rf"ip saddr {re.escape(network)} "
    names = rf"(?:{protocol}|\{{[^}}]*\b{protocol}\b[^}}]*\}})"
    named = f"(?:meta l4proto|ip protocol) {names} "
    return f"{card}|{source}|{named}|meta nfproto ipv4 "


def _iptables_chains(lines: Sequence[str]) -> list[_Chain]:
    """The chain INPUT of each table."""
    chains: list[_Chain] = []
    table = "filter"
    for line in map(str.strip, lines):
        if line.startswith("*"):
            table = line[1:]
        elif line.startswith(":INPUT "):
            of_table = "" if table == "filter" else f" of the table {table}"
            insert = f"iptables {'' if table == 'filter' else f'-t {table} '}-I INPUT -s NETWORK"
            do = f"{insert} -p udp -j ACCEPT; {insert} -p icmp -j ACCEPT"
            chains.append(_Chain(f"iptables' INPUT{of_table}", do, line.startswith(":INPUT DROP")))
        elif line.startswith("-A INPUT ") and chains:
            chains[-1].rules.append(_COMMENT.sub("", line.removeprefix("-A INPUT ")))
    return chains


def _named_by_iptables(protocol: str, network: str, interface: str) -> str:
    """As _named_by_nft()."""
    return rf"-s {re.escape(network)} |-i {re.escape(interface)} |-p (?:{protocol}|all) "
