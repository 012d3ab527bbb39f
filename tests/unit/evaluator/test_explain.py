# SPDX-License-Identifier: BSD-3-Clause
"""Where the time goes: layers against each other, and samples of perf divided among parts."""

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from beowire.analysis.layer_tax import taxes
from beowire.explain import perf, show
from beowire.explain.perf import NoPerf, Sample, idle_ns, parse, recording
from beowire.explain.run import Explanation
from beowire.explain.split import Split, split
from beowire.explain.symbols import FUNCTIONS, is_looking, is_serving, part_of
from beowire.record.lines import PARTS, Explained, Summary
from unit.evaluator.test_curves import record as record_of

#: Samples of two engines that perf has taken, a line each: process, kernel's and own functions.
RECORDED = Path(__file__).with_name("perf_stacks.txt")


def _time(median: float, reach: float | None = None) -> Summary:
    ci95 = None if reach is None else (median - reach, median + reach)
    return Summary(median=median, ci95=ci95, p90=None, p99=None, min=median, max=median)


# Functions


@pytest.mark.parametrize(
    ("stack", "part"),
    [
        (("copy_user_enhanced_fast_string", "_copy_to_iter", "tcp_recvmsg"), "copy"),
        (("rep_movs_alternative", "_copy_from_iter", "packet_sendmsg"), "copy"),
        (("__kmalloc", "__alloc_skb", "tcp_stream_alloc_skb", "tcp_sendmsg"), "protocol"),
        (("tpacket_rcv", "__netif_receive_skb_core.constprop.0", "net_rx_action"), "protocol"),
        (("_raw_spin_lock", "net_rx_action", "__do_softirq"), "softirq"),
        (("veth_xmit", "dev_hard_start_xmit"), "driver"),
        (("_raw_spin_unlock_irqrestore", "try_to_wake_up", "sock_def_readable"), "wake-up"),
        (("native_write_msr", "asm_sysvec_apic_timer_interrupt"), "interrupt"),
        (("entry_SYSCALL_64_after_hwframe",), "system call"),
        (("fput", "__sys_sendto", "do_syscall_64"), "system call"),
        (("pv_native_safe_halt", "default_idle", "do_idle"), "waiting"),
        (("what_nobody_knows",), "other kernel"),
    ],
)
def test_part_of__the_innermost_function_that_is_known(stack: tuple[str, ...], part: str) -> None:
    assert part_of(stack) == part


def test_part_of__the_program() -> None:
    assert part_of((), ("driver_receive", "main")) == "own code"
    assert part_of((), ("__memmove_avx_unaligned_erms", "main")) == "copy"
    assert part_of(()) == "own code"


def test_functions__are_of_parts_that_there_are() -> None:
    assert set(FUNCTIONS) <= set(PARTS)


def test_looking_and_serving() -> None:
    poll = ("tcp_recvmsg", "__sys_recvfrom", "do_syscall_64")
    assert is_looking(poll) and not is_serving(poll)
    served = ("tpacket_rcv", "__do_softirq", "__sys_sendto", "do_syscall_64")
    assert is_serving(served) and not is_looking(served)


# perf's text


_TEXT = (
    "beowire-engine 4711 [000] 100000: \n"
    "\tffffffff81a00f30 copy_user_generic_string+0x20\n"
    "\tffffffff819b1111 __sys_sendto\n"
    "\t    7f0011223344 send\n"
    "\n"
    "swapper     0 [001]     100000: \n"
    "\tffffffff81b5a2ab pv_native_safe_halt\n"
    "\n"
    "Web Content 9 [001] 100000: \n"
    "\t    55d000000001 [unknown]\n"
    "\n"
    "# what else it may say\n"
)


def test_parse__samples_and_their_stacks() -> None:
    first, second, third = parse(_TEXT.splitlines())
    assert first == Sample(
        "beowire-engine",
        4711,
        0,
        100_000,
        ("copy_user_generic_string", "__sys_sendto"),
        ("send",),
    )
    assert (second.comm, second.cpu, second.kernel) == ("swapper", 1, ("pv_native_safe_halt",))
    assert (third.comm, third.kernel, third.user) == ("Web Content", (), ("[unknown]",))


def test_parse__of_nothing_is_nothing() -> None:
    assert parse([]) == []


# Division


_PIDS = {"beowire-engine": 4711, "swapper": 0}


def _samples(count: int, *kernel: str, comm: str = "beowire-engine", cpu: int = 0) -> list[Sample]:
    return [Sample(comm, _PIDS.get(comm, 1), cpu, 1000, kernel, ("main",))] * count


def test_split__of_a_program_that_sleeps__adds_up() -> None:
    """100 half round trips of 10 us: 4 us at work in them, and the rest of both ends is idle."""
    samples = [
        *_samples(100, "__sys_sendto"),
        *_samples(100, "tcp_sendmsg", "__sys_sendto"),
        *_samples(50, "veth_xmit"),
        *_samples(50, "net_rx_action", "__do_softirq", comm="swapper", cpu=1),
        *_samples(100),
        *_samples(1600, "pv_native_safe_halt", comm="swapper", cpu=1),
    ]
    found = split(samples, window_ns=1e6, cpus=2, pids={4711}, halves=100, half_ns=1e4, spins=False)
    assert found.parts == {
        "own code": 1000.0,
        "system call": 1000.0,
        "protocol": 1000.0,
        "driver": 500.0,
        "softirq": 500.0,
    }
    assert found.rest_ns == pytest.approx(6000.0)
    assert found.seen == pytest.approx(1.0)
    assert found.adds_up


def test_split__of_a_program_that_spins__looks_are_no_work() -> None:
    looking = ("tcp_recvmsg", "__sys_recvfrom")
    samples = [
        *_samples(700, *looking),
        *_samples(900, "__x64_sys_recvfrom"),
        *_samples(200),
        *_samples(100, "_copy_to_iter", *looking),
        *_samples(100, "tcp_v4_rcv", "__do_softirq", *looking),
    ]
    found = split(samples, window_ns=1e6, cpus=2, pids={4711}, halves=100, half_ns=1e4, spins=True)
    assert found.parts == {"copy": 1000.0, "protocol": 1000.0}
    assert found.rest_ns == pytest.approx(8000.0)
    assert found.adds_up


def test_split__both_ends_at_work_at_once__says_by_how_much() -> None:
    samples = _samples(2000, "tcp_sendmsg")
    found = split(samples, window_ns=1e6, cpus=2, pids={4711}, halves=100, half_ns=1e4, spins=False)
    assert found.rest_ns == pytest.approx(-1e4)
    assert not found.adds_up
    assert "100% more than the half round trip" in show.render(_explanation(found))


def test_split__samples_are_missing__says_of_what_there_are_some() -> None:
    found = split(
        _samples(1000, "tcp_sendmsg"),
        window_ns=1e6,
        cpus=2,
        pids={4711},
        halves=100,
        half_ns=1e4,
        spins=False,
    )
    assert found.seen == pytest.approx(0.5)
    assert not found.adds_up
    assert "50% of the processors' time is known" in show.render(_explanation(found))


def test_split__of_a_halted_processor_samples_are_missing__the_kernel_knows_how_long() -> None:
    """2 ms of two processors: 0.4 ms at work, 1.6 ms idle, of which there are few samples."""
    samples = [
        *_samples(400, "tcp_sendmsg", "__sys_sendto"),
        *_samples(300, "pv_native_safe_halt", comm="swapper", cpu=1),
    ]
    for idle, seen in ((1.6e6, 1.0), (None, 0.35), (0.6e6, 0.5)):
        found = split(
            samples,
            window_ns=1e6,
            cpus=2,
            pids={4711},
            halves=100,
            half_ns=1e4,
            spins=False,
            idle_ns=idle,
        )
        assert found.seen == pytest.approx(seen)
        assert found.parts == {"protocol": 4000.0}
        assert found.adds_up == (seen == 1.0)


def test_idle__of_the_cpus_that_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "stat"
    file.write_text(
        "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 1 1 700 50 0 0 0 0 0\ncpu1 1 1 1 20 1 0 0 0 0 0\n"
        "intr 1 2 3\nctxt 77\n"
    )
    tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    assert idle_ns([0], file) == 750 * tick_ns
    assert idle_ns([0, 1], file) == 771 * tick_ns
    assert idle_ns([2], file) is None
    assert idle_ns([0], tmp_path / "none") is None
    real = idle_ns([0])
    assert real is not None
    assert real > 0


def test_split__other_programs__are_none_of_the_message() -> None:
    samples = [*_samples(500, "vfs_read", comm="python3"), *_samples(1500, "tcp_sendmsg")]
    found = split(samples, window_ns=1e6, cpus=2, pids={4711}, halves=100, half_ns=2e4, spins=False)
    assert found.parts == {"protocol": 15000.0}
    assert found.others == pytest.approx(0.25)
    assert not found.adds_up
    assert "other programs had 25% of the processors" in show.render(_explanation(found))


def test_split__of_what_perf_has_recorded__has_all_parts() -> None:
    """One sample of each stack of a ping-pong over TCP that sleeps, as perf wrote them."""
    samples = []
    for line in RECORDED.read_text(encoding="ascii").splitlines():
        pid, inside, own = ([] if word == "-" else word.split(";") for word in line.split())
        cpu = int(pid == ["7055"])
        samples.append(
            Sample("beowire-engine", int(pid[0]), cpu, 100_000, tuple(inside), tuple(own))
        )
    assert len(samples) > 30
    window_ns = sum(sample.period_ns for sample in samples) / 2
    pids = {sample.pid for sample in samples if sample.comm == "beowire-engine"}
    found = split(
        samples, window_ns=window_ns, cpus=2, pids=pids, halves=100, half_ns=1e4, spins=False
    )
    assert {"system call", "copy", "protocol", "softirq", "wake-up"} <= found.parts.keys()
    # What the table does not know is little.
    kernel = [sample for sample in samples if sample.kernel]
    unknown = [sample for sample in kernel if part_of(sample.kernel) == "other kernel"]
    assert len(unknown) <= 0.05 * len(kernel)


# What is said


def _explanation(found: Split | None, why_not: str = "") -> Explanation:
    layers = taxes(
        ["beowire", "packet"], {"beowire": _time(2000.0, 10.0), "packet": _time(1500.0, 10.0)}
    )
    return Explanation("beowire", 64, layers, found, why_not, record_of())


def test_render__layers_and_parts() -> None:
    found = Split(2000.0, {"system call": 900.0, "copy": 100.0}, True, 1.0, 0.0, 20000)
    text = show.render(_explanation(found))
    assert text.splitlines()[0] == "beowire, messages of 64 B"
    row = next(line for line in text.splitlines() if line.startswith("beowire  "))
    assert row.split()[1:5] == ["2.00", "µs", "+500", "ns"]
    assert row.endswith("packet")
    assert "  own code, polling   1.00 µs    50%" in text
    assert "It adds up: by 20000 samples, and as idle, 100% of the processors' time" in text


def test_render__without_perf__says_why() -> None:
    text = show.render(_explanation(None, "perf is not installed"))
    assert text.endswith("How the time is spent inside is not known: perf is not installed")


def test_json__has_all_of_it() -> None:
    found = Split(2000.0, {"system call": 900.0}, False, 1.0, 0.0, 10)
    said = json.loads(json.dumps(show.as_json(_explanation(found)), allow_nan=False))
    assert said["layers"][0]["tax_ns"] == 500.0
    assert said["layers"][1]["below"] is None
    assert said["split"]["parts_ns"] == {"system call": 900.0}
    assert said["split"]["rest_ns"] == 1100.0
    assert said["split"]["adds_up"] is True


def test_record__keeps_it() -> None:
    one = Explained(
        half_rtt_ns=2000.0, parts_ns={"copy": 1.0}, rest_ns=-3.0, spins=True, seen=1.0, samples=1
    )
    assert Explained.model_validate_json(one.model_dump_json()) == one


# perf itself


def test_recording__without_perf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NoPerf, match="perf is not installed"), recording([0]):
        pytest.fail("it has begun")


def _program(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "perf"
    program.write_text(f"#!{sys.executable} -S\nimport os, sys\n{text}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr("shutil.which", lambda _: str(program))


def test_recording__that_is_not_allowed__says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(tmp_path, "sys.exit('Error:\\nno permission')", monkeypatch)
    with pytest.raises(NoPerf, match="does not work here: Error: no permission"), recording([0]):
        pytest.fail("it has begun")


def test_recording__that_does_not_answer__is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the pipe of its answers, and is silent until it is to stop."""
    _program(
        tmp_path,
        """
(fds,) = (word.partition("fd:")[2] for word in sys.argv if word.startswith("--control=fd:"))
orders, _ = map(int, fds.split(","))
while not os.read(orders, 64).endswith(b"stop\\n"):
    pass
""",
        monkeypatch,
    )
    monkeypatch.setattr(perf, "_PATIENCE_S", 0.2)
    with pytest.raises(NoPerf, match=r"does not answer in 0\.2 s: enable"), recording([0]):
        pytest.fail("it has begun")


def test_recording__gives_what_perf_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that answers as perf does."""
    (tmp_path / "text").write_text(_TEXT)
    _program(
        tmp_path,
        f"""
if sys.argv[1] == "script":
    print(open({str(tmp_path / "text")!r}).read())
    sys.exit()
(fds,) = (word.partition("fd:")[2] for word in sys.argv if word.startswith("--control=fd:"))
orders, answers = map(int, fds.split(","))
while os.read(orders, 64) != b"stop\\n":
    os.write(answers, b"ack\\n")
""",
        monkeypatch,
    )
    with recording([0, 1]) as samples:
        assert samples == []
    assert [sample.comm for sample in samples] == ["beowire-engine", "swapper", "Web Content"]
