# SPDX-License-Identifier: BSD-3-Clause
"""What `beowire doctor` says of a host's firewall, by its rules."""

import pytest

from beowire.analysis.finding import State, ok
from beowire.doctor.firewall import firewall
from beowire.doctor.look import diagnose
from unit.evaluator.test_doctor import host, judged

RULES = """
table inet filter {
        chain input {
                type filter hook input priority filter; policy drop;
                ct state established accept
        }
        chain forward {
                type filter hook forward priority filter; policy accept;
        }
}
"""


def test_firewall__that_lets_in_only_what_is_named() -> None:
    judged(
        firewall,
        host(nft=RULES.splitlines()),
        State.BAD,
        "chain inet filter input",
        "ip saddr 192.168.7.0/24",
        "nft insert rule inet filter input",
    )
    last = RULES.replace("policy drop", "policy accept").replace(
        "established accept", "established accept\n counter packets 0 bytes 0 drop"
    )
    judged(firewall, host(nft=last.splitlines()), State.BAD)
    opened = RULES.replace("policy drop", "policy accept")
    judged(firewall, host(nft=opened.splitlines()), State.OK)


#: What the chain may have besides, and whether UDP of 192.168.7.0/24 comes in by it.
LET_IN = (
    ("ip saddr 192.168.7.0/24 meta l4proto { icmp, udp } accept", True),
    ("ip saddr 192.168.7.0/24 accept", True),
    ('iifname "enp1s0" counter packets 7 bytes 400 accept comment "the cluster"', True),
    # As what iptables-nft has made is shown.
    (
        'iifname "enp1s0" meta l4proto udp ip saddr 192.168.7.0/24  counter packets 0 bytes 0'
        " accept",
        True,
    ),
    ("meta l4proto udp accept", True),
    ("ip saddr 192.168.8.0/24 meta l4proto { icmp, udp } accept", False),
    ("ip saddr 192.168.7.0/24 udp dport 53 accept", False),
    ("ip saddr 192.168.7.0/24 meta l4proto icmp accept", False),
    ('iif "lo" accept', False),
)


@pytest.mark.parametrize(("rule", "open_"), LET_IN)
def test_firewall__that_has_a_rule_for_the_others(*, rule: str, open_: bool) -> None:
    rules = RULES.replace("ct state", f"{rule}\n ct state")
    judged(firewall, host(nft=rules.splitlines()), State.OK if open_ else State.BAD)


#: A second table whose chain lets in ssh only.
SITE = """
table {} site {{
        chain input {{
                type filter hook input priority 10; policy drop;
                tcp dport 22 accept
        }}
}}
"""
OPEN = RULES.replace("ct state", "ip saddr 192.168.7.0/24 accept\n ct state")


def test_firewall__that_answers_tcp_as_hosts_do() -> None:
    accepting = RULES.replace("policy drop", "policy accept")
    reset = "counter packets 0 bytes 0 reject with tcp reset"
    nft = accepting.replace("ct state", f"meta l4proto tcp {reset}\n ct state")
    judged(
        firewall,
        host(nft=nft.splitlines()),
        State.NOTE,
        "chain inet filter input answers TCP with resets",
        "ip saddr 192.168.7.0/24 meta l4proto '{ tcp, icmp }' accept",
    )
    tcp = "meta l4proto { tcp, udp } accept\n meta l4proto tcp"
    judged(firewall, host(nft=nft.replace("meta l4proto tcp", tcp).splitlines()), State.OK)
    judged(firewall, host(nft=nft.replace(reset, "reject").splitlines()), State.OK)
    iptables = ("*filter", ":INPUT ACCEPT", "-A INPUT -p tcp -j REJECT --reject-with tcp-reset")
    judged(firewall, host(iptables=list(iptables)), State.NOTE, "-I INPUT -s 192.168.7.0/24 -p tcp")


def test_firewall__that_has_several_chains__all_have_to_let_it_in() -> None:
    site = SITE.format("inet")
    for rules in (OPEN + site, site + OPEN):
        judged(
            firewall,
            host(nft=rules.splitlines()),
            State.BAD,
            "chain inet site input drops",
            "nft insert rule inet site input",
        )
    judged(
        firewall, host(nft=(RULES + site).splitlines()), State.BAD, "chain inet filter input drops"
    )
    both = OPEN + site.replace("tcp dport", "meta l4proto udp accept\n tcp dport")
    judged(firewall, host(nft=both.splitlines()), State.OK, "UDP of 192.168.7.0/24")


def test_firewall__whose_answer_was_cut_off_in_a_chain() -> None:
    cut = [*OPEN.splitlines(), *SITE.format("inet").splitlines()[:5]]
    judged(firewall, host(nft=cut), State.BAD, "chain inet site input")


@pytest.mark.parametrize(
    ("family", "open_"),
    [("ip", False), ("inet", False), ("ip6", True), ("arp", True), ("bridge", True)],
)
def test_firewall__only_tables_that_ipv4_passes(*, family: str, open_: bool) -> None:
    state = State.OK if open_ else State.BAD
    judged(firewall, host(nft=SITE.format(family).splitlines()), state)
    judged(firewall, host(nft=(SITE.format(family) + OPEN).splitlines()), state)


#: What the chain may have before a rule that lets all of 192.168.7.0/24 in, and whether UDP comes
#: in nevertheless.
BEFORE = (
    ("meta l4proto udp counter packets 1 bytes 30 drop", False),
    ("meta l4proto { tcp, udp } reject with icmpx admin-prohibited", False),
    ("ip protocol udp ip saddr 192.168.7.0/24 drop", False),
    ("ip saddr 192.168.7.0/24 drop", False),
    ('meta l4proto udp log prefix "no: " level info drop comment "none"', False),
    ("reject", False),
    ("meta l4proto udp", True),
    ("meta l4proto tcp drop", True),
    ("ct state invalid drop", True),
    ("udp dport 111 drop", True),
    ("ip saddr 192.168.8.0/24 drop", True),
    ('iifname "enp2s0" drop', True),
)


@pytest.mark.parametrize("policy", ["drop", "accept"])
@pytest.mark.parametrize(("rule", "open_"), BEFORE)
def test_firewall__that_has_a_rule_before(*, rule: str, open_: bool, policy: str) -> None:
    rules = OPEN.replace("ip saddr", f"{rule}\n ip saddr").replace(
        "policy drop", f"policy {policy}"
    )
    judged(firewall, host(nft=rules.splitlines()), State.OK if open_ else State.BAD)


def test_firewall__that_drops_by_a_rule__says_which() -> None:
    dropped = OPEN.replace("ip saddr", "meta l4proto udp drop\n ip saddr")
    judged(
        firewall,
        host(nft=dropped.splitlines()),
        State.BAD,
        "chain inet filter input drops UDP: meta l4proto udp drop",
    )
    after = OPEN.replace("ct state", "meta l4proto udp drop\n ct state")
    judged(firewall, host(nft=after.splitlines()), State.OK)


def test_firewall__that_was_seen_to_let_udp_in() -> None:
    closed = host(nft=RULES.splitlines())
    (one,) = [one for one in diagnose(closed).findings if one.check == "firewall"]
    assert one.state is State.BAD
    found = diagnose(closed, udp_passes=True).findings
    (one,) = [one for one in found if one.check == "firewall"]
    assert one == ok(
        "firewall",
        "chain inet filter input drops what no rule lets in, but UDP from the other hosts arrives"
        " (tried)",
    )


def test_firewall__iptables() -> None:
    rules = ["*filter", ":INPUT ACCEPT [0:0]", "-A INPUT -i lo -j ACCEPT"]
    last = "-A INPUT -j REJECT --reject-with icmp-host-prohibited"
    judged(firewall, host(iptables=rules), State.OK)
    judged(firewall, host(iptables=[*rules, last]), State.BAD, "iptables -I INPUT")
    closed = ["*filter", ":INPUT DROP [0:0]"]
    judged(firewall, host(iptables=closed), State.BAD, "192.168.7.0/24")
    typed = [*closed, "-A INPUT -s 192.168.7.0/24 -p udp -j ACCEPT"]
    judged(firewall, host(iptables=typed), State.OK, "UDP of 192.168.7.0/24")


#: Rules of iptables after one another, and whether UDP of 192.168.7.0/24 comes in by them.
IPTABLES = (
    (["-p udp -j DROP", "-s 192.168.7.0/24 -j ACCEPT"], False),
    (["-s 192.168.7.0/24 -j ACCEPT", "-p udp -j DROP"], True),
    (["-s 192.168.7.0/24 -i enp1s0 -j REJECT --reject-with x", "-p udp -j ACCEPT"], False),
    (["-p tcp -j DROP", "-p udp -m udp --dport 111 -j DROP", "-p udp -j ACCEPT"], True),
    (["! -s 192.168.7.0/24 -j DROP", "-p udp -j ACCEPT"], True),
    (["-s 192.168.7.0/24 -p udp -m comment --comment cluster -j ACCEPT"], True),
    (['-s 192.168.7.0/24 -m comment --comment "the \\"old\\" cluster" -j ACCEPT'], True),
    (['-p udp -m comment --comment "no udp" -j DROP', "-s 192.168.7.0/24 -j ACCEPT"], False),
)


@pytest.mark.parametrize(("rules", "open_"), IPTABLES)
def test_firewall__iptables_by_the_order_of_rules(*, rules: list[str], open_: bool) -> None:
    lines = ["*filter", ":INPUT DROP [0:0]", *(f"-A INPUT {rule}" for rule in rules), "COMMIT"]
    judged(firewall, host(iptables=lines), State.OK if open_ else State.BAD)


def test_firewall__iptables_has_several_tables() -> None:
    mangle = ["*mangle", ":INPUT ACCEPT [0:0]", "-A INPUT -p udp -j ACCEPT", "COMMIT"]
    closed = ["*filter", ":INPUT DROP [0:0]", "COMMIT"]
    for lines in ([*mangle, *closed], [*closed, *mangle]):
        judged(firewall, host(iptables=lines), State.BAD, "iptables' INPUT", "iptables -I INPUT")
    dropped = [mangle[0], mangle[1], "-A INPUT -p udp -j DROP", "COMMIT"]
    judged(
        firewall, host(iptables=dropped), State.BAD, "table mangle", "iptables -t mangle -I INPUT"
    )


def test_firewall__that_only_root_may_read() -> None:
    judged(firewall, host(nft_status=["1"]), State.UNKNOWN, "sudo nft list ruleset")
