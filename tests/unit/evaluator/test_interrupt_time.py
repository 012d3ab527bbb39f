# SPDX-License-Identifier: BSD-3-Clause
"""Whether processes have the time of interrupts: tried, with a clock that says so or does not."""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from beowire.conduct import interrupt_time

CONFIGURATIONS = [Path("/proc/config.gz"), Path(f"/boot/config-{os.uname().release}")]


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    interrupt_time.is_apart.cache_clear()
    yield
    interrupt_time.is_apart.cache_clear()


class Clocks:
    """Each look at the time takes 10 us, of which the process has a part; every 3 ms another has
    the processor for 5 ms."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, own: float, alone: bool = True) -> None:
        self.looks, self.now_ns, self.used_ns, self.switches = 0, 0, 0.0, 0
        self.own, self.alone = own, alone
        monkeypatch.setattr("beowire.conduct.interrupt_time.time.monotonic_ns", self.look)
        monkeypatch.setattr(
            "beowire.conduct.interrupt_time.time.thread_time_ns", lambda: round(self.used_ns)
        )
        monkeypatch.setattr("beowire.conduct.interrupt_time._switches", lambda: self.switches)

    def look(self) -> int:
        self.looks += 1
        self.now_ns += 10_000
        self.used_ns += 10_000 * self.own
        if not self.alone or self.looks % 300 == 0:
            self.now_ns += 5_000_000
            self.switches += 1
        return self.now_ns


def test_is_apart__time_that_the_process_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    Clocks(monkeypatch, own=0.6)
    assert interrupt_time.is_apart() is True


def test_is_apart__the_process_has_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    Clocks(monkeypatch, own=0.99)
    assert interrupt_time.is_apart() is False


def test_is_apart__never_let_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    Clocks(monkeypatch, own=0.99, alone=False)
    assert interrupt_time.is_apart() is None


def test_is_apart__no_loopback_device(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError

    monkeypatch.setattr("beowire.conduct.interrupt_time.socket.socket.bind", refuse, raising=False)
    assert interrupt_time.is_apart() is None


def test_is_apart__as_this_kernel_was_configured() -> None:
    configurations = [path.read_bytes() for path in CONFIGURATIONS if path.exists()]
    if not configurations:
        pytest.skip("this kernel's configuration is not to be read")
    found = interrupt_time.is_apart()
    text = configurations[0]
    lines = (gzip.decompress(text) if text.startswith(b"\x1f\x8b") else text).splitlines()
    if b"CONFIG_IRQ_TIME_ACCOUNTING=y" in lines:
        assert found is not False
    else:
        assert found is not True
