# SPDX-License-Identifier: BSD-3-Clause
"""Each check of `beowire doctor` on hosts that are made up: as they should be, and as they are."""

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from beowire.analysis.finding import Finding, State, ok, ordered
from beowire.doctor import card_checks, facts, host_checks, show, ways
from beowire.doctor.facts import Facts
from beowire.doctor.look import Diagnosis, diagnose
from beowire.errors import BeowireError
from beowire.show import findings

#: A host and a card on which nothing costs time, as engine and script say so.
GOOD: Mapping[str, Any] = {
    "capabilities": "0000000000003000",
    "clocksource": "tsc",
    "clocksources_available": "tsc hpet",
    "cpus_online": 4,
    "load_1min": 0.1,
    "transparent_huge_pages": "madvise",
    "user_id": 1000,
    "kernel": "6.1.0-28-amd64",
    "interface_carrier": True,
    "interface_duplex": "full",
    "interface_speed_mbit_per_s": 2500,
    "interface_mtu": 9000,
    "interface_coalesce_receive_us": 3,
    "interface_coalesce_adaptive_receive": False,
    "interface_ring_receive": 1024,
    "interface_offload_rx_gro": True,
    "interface_offload_tx_scatter_gather": True,
    "interface_offload_tx_generic_segmentation": True,
    "interface_offload_tx_tcp_segmentation": True,
    "interface_offload_tx_udp_segmentation": True,
}
SECTIONS = {
    "user": ["mpi", "1000"],
    "rmem_max": ["4194304"],
    "wmem_max": ["8388608"],
    "ptrace_scope": ["0"],
    "governors": ["      4 performance"],
    "idle_states": ["0 0 POLL", "2 0 C1", "80 1 C6"],
    "addresses": ["2: enp1s0    inet 192.168.7.11/24 brd 192.168.7.255 scope global enp1s0"],
    "polling": ["100", "200000"],
    "affinity": ["121 0", "122 1", "123 2-3"],
    "traffic": [
        "Inter-|   Receive                |  Transmit",
        "enp1s0: 9000 100 0 0 0 0 0 0 8000 90 0 0 0 0 0 0",
    ],
    "nft_status": ["0"],
    "libfabric": ["libfabric.so.1 (libc6,x86-64) => /lib/libfabric.so.1", "libfabric: 1.17.0"],
    "mpis": ["== /usr/bin/mpirun.openmpi", "mpirun.openmpi (OpenRTE) 4.1.4"],
    "checksums": [
        "Tcp: RtoAlgorithm InErrs OutRsts InCsumErrors",
        "Tcp: 1 0 77 0",
        "Udp: InDatagrams InErrors InCsumErrors IgnoredMulti",
        "Udp: 1000 3 0 5",
        "Udp6InCsumErrors                \t0",
    ],
    "locked_kib": ["unlimited"],
    "configuration": [
        "/etc/beowire/beowire.conf: # Written by beowire tune. Measured between n1,n2. What each"
        " means: docs/CONFIGURATION.md."
    ],
    "neighbours": ["192.168.7.12 02:be:00:00:00:02"],
}


def host(
    environment: Mapping[str, Any] | None = None,
    drivers: Mapping[str, str] | None = None,
    clock_ns: float | None = 25.0,
    **sections: list[str],
) -> Facts:
    return Facts(
        "n1",
        "enp1s0",
        {**GOOD, **(environment or {})},
        {**SECTIONS, **sections},
        drivers if drivers is not None else {"beowire-packet": ""},
        clock_ns,
    )


ALL = [*host_checks.CHECKS, *card_checks.CHECKS]


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.__name__)
def test_check__a_host_that_is_as_it_should_be(check: Callable[[Facts], Finding]) -> None:
    found = check(host())
    assert (found.state, found.do) == (State.OK, ""), found


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.__name__)
def test_check__a_host_of_which_nothing_is_known(check: Callable[[Facts], Finding]) -> None:
    """Nothing fails, and nothing is made of it."""
    found = check(Facts("n1", "enp1s0"))
    assert found.state in (State.UNKNOWN, State.OK, State.NOTE), found
    assert found.text


def judged(check: Callable[[Facts], Finding], found: Facts, state: State, *words: str) -> None:
    one = check(found)
    assert one.state is state, one
    whole = f"{one.text} | {one.costs} | {one.do}"
    for word in words:
        assert word in whole, whole


def test_frames__without_the_privilege() -> None:
    reason = {"beowire-packet": "needs CAP_NET_RAW: run as root"}
    judged(
        host_checks.frames,
        host({"capabilities": "0"}, drivers=reason),
        State.WORSE,
        "mpi may not send them",
        "1.4 µs longer",
        "beowire setup",
        "--broker",
    )
    refused = {"beowire-packet": "packet/eth0: user 1000 is in no group to which the broker grants"}
    judged(
        host_checks.frames,
        host({"capabilities": "0"}, drivers=refused, broker=["/run/beowire/broker"]),
        State.WORSE,
        "the broker (beowired) gives mpi none",
        "user 1000 is in no group",
        "/etc/beowire/broker.toml",
    )
    judged(host_checks.frames, host({"capabilities": "0"}), State.OK, "the broker (beowired) gives")
    others = host(broker=["/run/beowire/broker"])
    judged(host_checks.frames, others, State.OK, "may send them; the broker (beowired) listens")
    judged(
        host_checks.frames,
        host(drivers={"beowire-packet": "the interface is down"}),
        State.BAD,
        "the interface is down",
    )


def test_buffers__by_who_asks() -> None:
    judged(
        host_checks.buffers,
        host({"capabilities": "2000"}, rmem_max=["212992"], wmem_max=["212992"]),
        State.NOTE,
        "at most 208 KiB",
        "104 KiB can be in flight",
        "4.3 Gbit/s",
        "net.core.rmem_max=4194304",
    )
    tiny = host({"capabilities": "0"}, rmem_max=["65536"], wmem_max=["65536"])
    judged(host_checks.buffers, tiny, State.WORSE, "1.3 Gbit/s")
    # CAP_NET_ADMIN: the limits do not count.
    root = host({"capabilities": "1000"}, rmem_max=["65536"], wmem_max=["65536"])
    judged(host_checks.buffers, root, State.OK)


def test_clock__that_is_dear() -> None:
    judged(
        host_checks.clock,
        host({"clocksource": "hpet"}, clock_ns=900.0),
        State.WORSE,
        "hpet, 900 ns",
        "echo tsc >",
    )
    judged(
        host_checks.clock,
        host({"clocksource": "hpet", "clocksources_available": "hpet acpi_pm"}, clock_ns=900.0),
        State.WORSE,
        "tsc=reliable",
    )


@pytest.mark.parametrize(
    ("driver", "kind", "state"),
    [
        ("acpi-cpufreq", "powersave", State.WORSE),
        ("intel_pstate", "powersave", State.NOTE),
        ("acpi-cpufreq", "schedutil", State.NOTE),
        ("acpi-cpufreq", "performance", State.OK),
    ],
)
def test_governor(driver: str, kind: str, state: State) -> None:
    found = host({"cpu_frequency_driver": driver}, governors=[f"      4 {kind}"])
    judged(host_checks.governor, found, state, kind)


def test_idle__the_deepest_state_that_is_not_switched_off() -> None:
    states = ["0 0 POLL", "2 0 C1", "400 0 C8", "900 1 C10"]
    judged(
        host_checks.idle,
        host(idle_states=states),
        State.WORSE,
        "as deep as C8",
        "400 µs",
        "cpupower idle-set -D 10",
    )
    judged(host_checks.idle, host(idle_states=["0 0 POLL"]), State.OK)


def test_reading__where_yama_forbids_it() -> None:
    judged(host_checks.reading, host(ptrace_scope=["1"]), State.NOTE, "ptrace_scope=0")


@pytest.mark.parametrize(
    ("driver", "lines", "state", "words"),
    [
        ("igc", ["0", "0"], State.NOTE, ["echo 200000 > /sys/class/net/enp1s0/gro_flush_timeout"]),
        ("igc", ["100", "0"], State.NOTE, ["napi_defer_hard_irqs"]),
        ("virtio_net", ["100", "200000", "napi_tx=N"], State.OK, []),
        ("virtio_net", ["100", "200000", "napi_tx=Y"], State.NOTE, ["-C enp1s0 tx-frames 0"]),
        ("e1000e", ["100", "200000", "enp1s0-tx-0"], State.NOTE, ["e1000e IntMode=1"]),
        ("e1000e", ["100", "200000"], State.OK, []),
        ("igc", ["100", "200000", "enp1s0-tx-0", "napi_tx=Y"], State.OK, []),
        ("vmxnet3", ["0", "0"], State.NOTE, ["of no use: vmxnet3 lets the card interrupt"]),
        ("veth", ["0", "0"], State.UNKNOWN, ["no queue that can be polled"]),
        ("igc", [], State.UNKNOWN, []),
    ],
)
def test_polling__by_driver(driver: str, lines: list[str], state: State, words: list[str]) -> None:
    found = host({"interface_driver": driver}, polling=lines)
    judged(card_checks.polling, found, state, *words)
    if lines[:2] == ["100", "200000"]:
        assert "napi_defer" not in card_checks.polling(found).do


def test_load__by_the_number_of_cores() -> None:
    judged(host_checks.load, host({"load_1min": 3.5}), State.WORSE, "3.5 on 4 CPUs")
    judged(host_checks.load, host({"load_1min": 1.0}), State.NOTE)


def test_mpis__each_by_what_it_says() -> None:
    said = [
        "== /usr/bin/mpirun.openmpi",
        "mpirun.openmpi (OpenRTE) 4.1.4",
        "== /opt/intel/bin/mpiexec.hydra",
        "Intel(R) MPI Library for Linux* OS, Version 2021.13 Build 20240701",
        "== /usr/bin/mpiexec.mpich",
        "HYDRA build details:",
        "    Version:                                 4.0.2",
    ]
    found = host_checks.mpis(host(mpis=said, slurm=["slurm-wlm 22.05.8"]))
    assert found.text == (
        "Open MPI 4.1.4 (/usr/bin/mpirun.openmpi), Intel MPI 2021.13"
        " (/opt/intel/bin/mpiexec.hydra), MPICH 4.0.2 (/usr/bin/mpiexec.mpich), slurm-wlm 22.05.8"
    )
    judged(host_checks.mpis, host(mpis=[]), State.NOTE, "--prefix")


def test_libraries__without_a_libfabric_of_the_system() -> None:
    judged(host_checks.libraries, host(libfabric=[]), State.NOTE, "libfabric1")


def test_locked_memory_and_pages() -> None:
    judged(host_checks.locked_memory, host(locked_kib=["64"]), State.NOTE, "64 KiB")
    judged(
        host_checks.pages, host({"transparent_huge_pages": "never"}), State.NOTE, "never", "madvise"
    )


def test_thresholds__measured_where_somebody_has() -> None:
    judged(host_checks.thresholds, host(configuration=[]), State.NOTE, "beowire tune --hosts A,B")
    assert host_checks.thresholds(host()).text == (
        "/etc/beowire/beowire.conf: # Written by beowire tune. Measured between n1,n2."
    )


def test_script__which_configuration_endpoints_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = tmp_path / "beowire" / "beowire.conf"
    path.parent.mkdir()
    path.write_text("spin_ns = 9000\nread_bytes = 0\n", encoding="utf-8")
    found = facts.ask_here(facts.script("", ["configuration"]))
    assert found["configuration"] == [f"{path}: spin_ns = 9000"]


def test_link__that_is_slow_or_not_there() -> None:
    slow = {"interface_speed_mbit_per_s": 100}
    judged(card_checks.link, host(slow), State.WORSE, "10 times as long")
    judged(card_checks.link, host({"interface_carrier": False}), State.BAD, "no link")
    judged(card_checks.link, host({**slow, "interface_duplex": "half"}), State.BAD, "half duplex")


def test_mtu__what_longer_frames_would_bring() -> None:
    judged(
        card_checks.mtu,
        host({"interface_mtu": 1500}),
        State.NOTE,
        "3.0% more data",
        "6 times fewer frames",
        "ip link set enp1s0 mtu 9000",
    )
    judged(card_checks.mtu, host({"interface_mtu": 1400}), State.WORSE, "less than Ethernet's 1500")


def test_coalescing__says_what_waits() -> None:
    judged(
        card_checks.coalescing,
        host({"interface_coalesce_receive_us": 100}),
        State.WORSE,
        "up to 100 µs are added",
        "ethtool -C enp1s0 adaptive-rx off rx-usecs",
    )
    adaptive = {"interface_coalesce_adaptive_receive": True}
    judged(card_checks.coalescing, host(adaptive), State.NOTE, "adapted by the driver")


def test_offloads__those_that_are_off() -> None:
    off = {"interface_offload_rx_gro": False, "interface_offload_tx_udp_segmentation": False}
    judged(
        card_checks.offloads,
        host(off),
        State.WORSE,
        "off: gro, tx-udp-segmentation",
        "ethtool -K enp1s0 gro on tx-udp-segmentation on",
    )
    lacks = {"interface_offload_tx_udp_segmentation": False}
    judged(card_checks.offloads, host(lacks), State.NOTE)


def test_rings__smaller_than_they_could_be() -> None:
    said = ["Ring parameters for enp1s0:", "Pre-set maximums:", "RX:   4096", "RX Mini: n/a"]
    small = {"interface_ring_receive": 128}
    judged(card_checks.rings, host(small, rings=said), State.WORSE, "128", "4096", "rx 4096")
    # A card that can have no more is up to date.
    judged(card_checks.rings, host(small, rings=["RX: 128"]), State.OK)


def test_losses__by_what_was_counted() -> None:
    line = "enp1s0: 9000 100000 {} {} {} 0 0 0 8000 90 {} 0 0 0 0 0"
    judged(card_checks.losses, host(traffic=[line.format(0, 5, 0, 0)]), State.OK)
    judged(card_checks.losses, host(traffic=[line.format(0, 500, 0, 0)]), State.NOTE, "500 of")
    judged(
        card_checks.losses,
        host(traffic=[line.format(3, 0, 2, 1)]),
        State.WORSE,
        "3 damaged, 2 overrun, 1 not sent",
    )


def test_interrupts__all_on_one_core() -> None:
    judged(
        card_checks.interrupts,
        host(affinity=["121 0", "122 0"]),
        State.NOTE,
        "all 2 of its interrupts go to CPU 0 of 4",
    )
    judged(card_checks.interrupts, host(affinity=["121 0-3", "122 0-3"]), State.OK)


# ---- facts ---------------------------------------------------------------------------------------


def test_script__every_section_is_there(tmp_path: Any) -> None:
    """By the shell of this host, whatever it has of all this."""
    found = facts.ask_here(facts.script("lo"))
    assert set(found) == {*facts._FILES, *facts._COMMANDS}
    assert found["user"]
    assert any(line.strip().startswith("lo:") for line in found["traffic"])
    assert set(facts.ask_here(facts.script("", facts.OF_INTERFACES))) == set(facts.OF_INTERFACES)


def test_script__is_posix() -> None:
    done = subprocess.run(
        ["sh", "-n"], input=facts.script("eth0"), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["eth0; reboot", "$(x)", "-x", "a" * 16])
def test_script__an_interface_that_the_shell_would_take_for_something_else(name: str) -> None:
    with pytest.raises(BeowireError, match="no interface can be called"):
        facts.script(name)


def test_sections__what_is_not_ours_is_left_out() -> None:
    said = "Welcome!\n== user\n mpi\n\n== mpis\n == /usr/bin/mpirun\n  Version: 4\nrubbish\n"
    assert facts.sections(said) == {
        "user": ["mpi"],
        "mpis": ["== /usr/bin/mpirun", " Version: 4"],
    }


def test_likely_interface__a_card_that_leads_somewhere() -> None:
    line = "{}: {}    inet {}/24 scope global {}"
    addresses = [
        line.format(1, "lo", "127.0.0.1", "lo"),
        line.format(2, "docker0", "172.17.0.1", "docker0"),
        line.format(3, "enp2s0", "169.254.1.1", "enp2s0"),
        line.format(4, "bond0", "10.0.0.1", "bond0"),
        line.format(5, "enp1s0", "10.1.0.1", "enp1s0"),
        line.format(6, "enp3s0", "10.2.0.1", "enp3s0"),
    ]
    found = {"addresses": addresses, "cards": ["enp1s0", "enp2s0", "enp3s0"]}
    assert facts.likely_interface(found) == "enp1s0"
    route = ["default via 10.2.0.254 dev enp3s0"]
    assert facts.likely_interface({**found, "route": route}) == "enp3s0"
    assert facts.likely_interface({**found, "cards": []}) == "bond0"
    assert facts.likely_interface({"addresses": addresses[:3]}) == ""


def test_network_of__its_card() -> None:
    assert facts.network_of(host()) == "192.168.7.0/24"
    odd = "2: enp1s0    inet 10.9.200.7/18 scope global enp1s0"
    assert facts.network_of(host(addresses=[odd])) == "10.9.192.0/18"
    assert facts.network_of(Facts("n1", "enp1s0")) == ""


# ---- what is shown -------------------------------------------------------------------------------


def test_diagnose__the_worst_first_and_a_host_without_a_card() -> None:
    one = diagnose(host({"interface_carrier": False}, ptrace_scope=["1"]))
    states = [finding.state for finding in one.findings]
    assert states[0] is State.BAD
    assert states == [finding.state for finding in ordered(list(one.findings))]
    none = diagnose(Facts("n1", ""))
    assert any(finding.check == "card" for finding in none.findings)


def test_render__costs_and_what_to_type_below_each() -> None:
    long = Finding("MTU", State.WORSE, "text " * 30, "costs much", "ip link set eth0 mtu 9000 " * 6)
    lines = show.render([Diagnosis(host(), [long, ok("load", "0.1")])], [], 60)
    assert lines[0].startswith("n1: card enp1s0, Linux 6.1.0")
    assert any(line.strip() == long.do.strip() for line in lines)  # a command is never broken
    assert all(len(line) <= 60 for line in lines[1:] if "ip link" not in line)
    assert lines[-1] == "0 bad, 1 that costs time, 0 to note; nothing was changed"


def at(name: str, *findings: Finding) -> Diagnosis:
    return Diagnosis(replace(host(), host=name), list(findings))


def test_render__what_is_alike_on_several_hosts__is_said_once_and_names_them() -> None:
    mtu = Finding("MTU", State.NOTE, "1500", "9000 would carry more", "ip link set eth0 mtu 9000")
    rings = Finding(
        "rings", State.WORSE, "room for 64", "frames are lost", "ethtool -G eth0 rx 1024"
    )

    def load(value: str) -> Finding:
        return Finding("load", State.WORSE, value, "it takes cores", "top")

    lines = show.render(
        [
            at("n0", load("2.0"), mtu, ok("losses", "none of 7")),
            at("n1", rings, load("2.0"), mtu, ok("losses", "none of 8")),
            at("n2", rings, load("1.5"), mtu, ok("losses", "none of 7")),
        ],
        [],
        80,
    )
    assert lines[0].startswith("n0, n1, n2: card enp1s0, Linux 6.1.0")
    assert lines[1:] == [
        "",
        "on all hosts, unless some are named",
        "  slower   load: n0, n1: 2.0; n2: 1.5",
        "           it takes cores",
        "             top",
        "  slower   rings at n1, n2: room for 64",
        "           frames are lost",
        "             ethtool -G eth0 rx 1024",
        "  note     MTU: 1500",
        "           9000 would carry more",
        "             ip link set eth0 mtu 9000",
        "  ok       losses: n0, n2: none of 7; n1: none of 8",
        "",
        "0 bad, 2 that cost time, 1 to note; nothing was changed",
    ]


def test_render__hosts_that_differ__have_a_line_each() -> None:
    other = Diagnosis(replace(host({"kernel": "5.10"}), host="n1"), [ok("load", "0")])
    lines = show.render([at("n0", ok("load", "0")), other], [], 80)
    assert [line.split(",")[0] for line in lines[:2]] == ["n0: card enp1s0", "n1: card enp1s0"]
    assert lines.count("  ok       load: 0") == 1


def test_lines__advice_in_words__ends_between_them_and_no_command_is_broken() -> None:
    words = {"network": "192.168.7.0/24", "interface": "enp1s0f0np0"}
    advice = [do.format(**words) for _, _, do in ways.STOPPED.values()]
    advice += [
        check(bad).do for bad in (host({"interface_speed_mbit_per_s": 100}),) for check in ALL
    ]
    assert any(do.startswith("# ") and len(do) > 67 for do in advice)
    for do in filter(None, advice):
        lines = [
            line[13:] for line in findings.lines_of([Finding("x", State.BAD, "y", "", do)], 80)[1:]
        ]
        typed = [line for line in lines if not line.startswith("# ")]
        assert " ".join(line.removeprefix("# ") for line in lines) == " ".join(
            do.removeprefix("# ").replace("   # ", " ").split()
        )
        assert all(len(line) <= 67 for line in lines if line.startswith("# "))
        assert typed == [do.partition("   # ")[0]][: len(typed)]


def test_lines__each_of_many_commands_has_one() -> None:
    def typed(do: str) -> list[str]:
        return [
            line[13:] for line in findings.lines_of([Finding("x", State.NOTE, "y", "", do)], 60)[1:]
        ]

    many = "ip link set eth0 down; ethtool -C eth0 tx-frames 0; ip link set eth0 up"
    assert typed(many) == many.split("; ")
    assert typed("echo 1; echo 2   # both") == ["echo 1; echo 2   # both"]
    off = "ethtool -K eth0 tx-udp-segmentation on gro on"
    assert typed(f"{off}   # what it refuses, the card does not have") == [
        off,
        "# what it refuses, the card does not have",
    ]
    loop = "for one in a b c d e f; do echo $one; done; echo that is all of it"
    quoted = "echo 'one of two; and the other of them' in a line that is long"
    assert typed(loop) == [loop] and typed(quoted) == [quoted]


def test_as_data__all_that_is_said() -> None:
    data = show.as_data([Diagnosis(host(), [ok("load", "0.1")])], [], [])
    assert data["hosts"] == [
        {
            "host": "n1",
            "interface": "enp1s0",
            "checks": [
                {"check": "load", "state": "ok", "text": "0.1", "costs": "", "do": ""},
            ],
        }
    ]
