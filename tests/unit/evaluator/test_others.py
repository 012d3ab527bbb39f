# SPDX-License-Identifier: BSD-3-Clause
"""What others used: all that was used, less what we and our children did."""

import os
from pathlib import Path

import pytest

from beowire import others

HZ = os.sysconf("SC_CLK_TCK")


class Clock:
    """Time, and what we have used of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.own = 100.0, 0.0
        monkeypatch.setattr("beowire.others.time.monotonic", lambda: self.now)
        monkeypatch.setattr(
            "beowire.others.os.times", lambda: os.times_result((0, 0, self.own, 0, 0))
        )


def write(path: Path, used_s: float, idle_s: float = 0.0) -> Path:
    user, idle = round(used_s * HZ / 2), round(idle_s * HZ)
    path.write_text(f"cpu  {user} 0 {user} {idle} 7 5 9 0 0 0\ncpu0 1 2 3\n", encoding="ascii")
    return path


def test_cpus__what_is_neither_idle_nor_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    looking = others.Others(write(tmp_path / "stat", 1000))
    clock.now, clock.own = 110.0, 6.0
    write(tmp_path / "stat", 1021, idle_s=50)
    assert looking.cpus() == pytest.approx(1.5)
    clock.own = 25.0  # the kernel's clocks differ: never less than nothing
    assert looking.cpus() == 0.0


def test_cpus__not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    assert others.Others(tmp_path / "nothing").cpus() is None
    looking = others.Others(write(tmp_path / "stat", 1000))
    clock.now = 100.5
    assert looking.cpus() is None
    (tmp_path / "stat").write_text("cpu  nonsense\n", encoding="ascii")
    assert others.Others(tmp_path / "stat").cpus() is None


def test_cpus__of_this_machine() -> None:
    assert others.Others()._begun is not None
