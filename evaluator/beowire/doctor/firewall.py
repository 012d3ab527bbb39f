# SPDX-License-Identifier: BSD-3-Clause
"""Whether a host's firewall lets in UDP of the other nodes, as far as its rules say so."""

import re
from collections.abc import Sequence

from beowire.doctor.facts import Facts, network_of
from beowire.doctor.finding import Finding, State, ok, unknown

#: What may stand in a rule of nft, whatever it is for.
_COUNTED = re.compile(r"counter packets \d+ bytes \d+ ?|(?: comment \".*\")$")


def firewall(facts: Facts) -> Finding:
    """Does the host let UDP of other nodes in?"""
    nft, iptables = facts.lines("nft"), facts.lines("iptables")
    if not nft and not iptables:
        return _without_rules(facts)
    network = network_of(facts) or "NETWORK"
    chain, rules = _closed_chain(nft)
    if chain and not _let_in(rules, network, facts.interface):
        return Finding(
            "firewall",
            State.BAD,
            f"chain {chain} drops what no rule lets in",
            "unless a rule lets UDP of the other nodes in, the lane udp is of no use, and with it"
            " whatever cannot go as Ethernet frames (which this firewall does not see)",
            f"nft insert rule {chain} ip saddr {network} meta l4proto '{{ udp, icmp }}' accept",
        )
    closed = _closed_iptables(iptables)
    if closed and not _lets_in_iptables(iptables, network, facts.interface):
        return Finding(
            "firewall",
            State.BAD,
            "iptables' INPUT drops what no rule lets in",
            "unless a rule lets UDP of the other nodes in, the lane udp is of no use",
            f"iptables -I INPUT -s {network} -p udp -j ACCEPT;"
            f" iptables -I INPUT -s {network} -p icmp -j ACCEPT",
        )
    if chain or closed:
        return ok("firewall", f"a rule lets in UDP of {network}")
    return ok("firewall", "it has rules, and lets in what they do not name")


def _without_rules(facts: Facts) -> Finding:
    status = facts.lines("nft_status")
    if status and status[0] == "0":
        return ok("firewall", "no rules (nft)")
    if status and status[0] == "absent" and facts.number("user_id") == 0:
        return ok("firewall", "none that is known: neither nft nor iptables has rules")
    return unknown("firewall", "its rules can be read by root only", "sudo nft list ruleset")


def _closed_chain(lines: Sequence[str]) -> tuple[str, list[str]]:
    """`FAMILY TABLE CHAIN` of a chain for what comes in that drops by default, or ends in a rule
    that drops or rejects all, with its rules; empty: there is none."""
    table, chain, hooked, drops = "", "", False, False
    rules: list[str] = []
    for line in lines:
        words = line.split()
        if words[:1] == ["table"] and len(words) > 2:
            table = f"{words[1]} {words[2]}"
        elif words[:1] == ["chain"] and len(words) > 1:
            chain, hooked, rules = words[1], False, []
        elif "hook input" in line:
            hooked, drops = True, "policy drop" in line
        elif words == ["}"]:
            last = rules[-1] if rules else ""
            if hooked and (drops or re.fullmatch(r"drop|reject.*", last)):
                return f"{table} {chain}", rules
            hooked = False
        elif hooked:
            rules.append(_COUNTED.sub("", line.strip()))
    if hooked and drops:  # the answer was cut off in its middle
        return f"{table} {chain}", rules
    return "", []


def _let_in(rules: Sequence[str], network: str, interface: str) -> bool:
    """Does a rule name UDP of this network, or all of it, and let that in?"""
    card = rf'(iif(name)? "{re.escape(interface)}" )?'
    source = rf"(ip saddr {re.escape(network)} )?"
    udp = r"((meta l4proto|ip protocol) (udp|\{[^}]*\budp\b[^}]*\}) )?"
    lets = re.compile(rf"{card}{source}{card}{udp}accept")
    return any(lets.fullmatch(rule) for rule in rules)


def _closed_iptables(lines: Sequence[str]) -> bool:
    """Does the chain INPUT drop by default, or end in a rule for all?"""
    if any(line.startswith(":INPUT DROP") for line in lines):
        return True
    own = [line for line in lines if line.startswith("-A INPUT ")]
    return bool(own) and re.fullmatch(r"-A INPUT -j (DROP|REJECT.*)", own[-1]) is not None


def _lets_in_iptables(lines: Sequence[str], network: str, interface: str) -> bool:
    """As _let_in()."""
    card = rf"(-i {re.escape(interface)} )?"
    lets = re.compile(rf"-A INPUT (-s {re.escape(network)} )?{card}(-p udp )?-j ACCEPT")
    return any(lets.fullmatch(line.strip()) for line in lines)
