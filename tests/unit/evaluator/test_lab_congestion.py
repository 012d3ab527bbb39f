# SPDX-License-Identifier: BSD-3-Clause
"""Which congestion control a lab's nodes get, on kernels and in containers of all kinds."""

from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.places.lab.congestion import choose, set_default


@pytest.fixture(name="sysctls")
def make_sysctls(tmp_path: Path) -> Path:
    """A node on a host whose default is bbr."""
    (tmp_path / "tcp_allowed_congestion_control").write_text("reno bbr cubic\n", encoding="ascii")
    (tmp_path / "tcp_congestion_control").write_text("bbr\n", encoding="ascii")
    return tmp_path


def forbid_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *_: object, **__: object) -> int:
        raise OSError(30, "Read-only file system", str(self))

    monkeypatch.setattr(Path, "write_text", refuse)


@pytest.mark.parametrize(
    ("allowed", "chosen"),
    [
        ("reno bbr cubic", "cubic"),
        ("cubic reno", "cubic"),
        ("bbr reno", "reno"),
        ("bbr", None),
        ("", None),
    ],
)
def test_choose__nobody_asked(allowed: str, chosen: str | None) -> None:
    assert choose(None, allowed.split()) == chosen


def test_choose__what_is_asked() -> None:
    assert choose("bbr", ["reno", "bbr", "cubic"]) == "bbr"


@pytest.mark.parametrize("asked", ["vegas", "", "cub", "cubic reno", "cubic\n"])
def test_choose__what_the_kernel_does_not_allow(asked: str) -> None:
    with pytest.raises(BeowireError, match="this kernel allows cubic, reno ") as refused:
        choose(asked, ["reno", "cubic"])
    assert "\n" not in str(refused.value)


def test_set_default__nobody_asked(sysctls: Path) -> None:
    assert set_default(None, sysctls) == "cubic"
    assert (sysctls / "tcp_congestion_control").read_text(encoding="ascii") == "cubic"


def test_set_default__what_is_asked(sysctls: Path) -> None:
    assert set_default("reno", sysctls) == "reno"


def test_set_default__nobody_asked_where_nothing_can_be_set(
    sysctls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_writing(monkeypatch)
    assert set_default(None, sysctls) == "bbr"


def test_set_default__what_is_asked_cannot_be_set(
    sysctls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_writing(monkeypatch)
    with pytest.raises(BeowireError, match=r"Read-only file system\): leave out --congestion reno"):
        set_default("reno", sysctls)


def test_set_default__what_is_asked_is_there_already(
    sysctls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_writing(monkeypatch)
    assert set_default("bbr", sysctls) == "bbr"


def test_set_default__a_kernel_that_says_nothing(tmp_path: Path) -> None:
    assert set_default(None, tmp_path / "nowhere") == ""
    with pytest.raises(BeowireError, match="allows none to be set"):
        set_default("cubic", tmp_path / "nowhere")
