# SPDX-License-Identifier: BSD-3-Clause
from pathlib import Path

import pytest

from beowire.errors import BeowireError
from programs import entry


def test_load__each_entry_can_be_read_and_says_how_it_is_compared() -> None:
    entries = entry.load()
    assert len(entries) == len(list(entry.ENTRIES.glob("*.toml"))) > 0
    for one in entries:
        how = one.compare
        assert one.run, one.name
        assert how.numbers or how.files or how.says or how.same_lines, one.name


def test_load__one_that_is_not_there__is_named_with_those_that_are() -> None:
    with pytest.raises(BeowireError, match=r"no program is called 'lampps': .*lammps-lj"):
        entry.load(["lampps"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('titel = "x"', "titel"),
        ("ranks = 0", "ranks"),
        ("[[compare.numbers]]\npattern = 'no group'", "has one group"),
        ("[compare]\nsays = ['(']", "compare.says"),
        ("= 1", "Invalid"),
    ],
)
def test_load__what_cannot_be_read__is_said_with_its_file(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.toml").write_text(text)
    monkeypatch.setattr(entry, "ENTRIES", tmp_path)
    with pytest.raises(BeowireError, match=rf"(?s)bad\.toml.*{said}"):
        entry.load()
