# SPDX-License-Identifier: BSD-3-Clause
import re
from pathlib import Path

import pytest

from programs.compare import Wrong, difference, how_text, look
from programs.entry import Compare, Number

_ENERGY = Number(pattern=r"energy (\S+)", relative=1e-6)


def test_look__numbers__are_all_that_match__and_fortrans_are_read(tmp_path: Path) -> None:
    seen = look(Compare(numbers=[_ENERGY]), tmp_path, "energy 1.5\nenergy -2.5D+01\n", 0)
    assert seen.numbers == [[1.5, -25.0]]


@pytest.mark.parametrize(
    ("how", "output", "status", "said"),
    [
        (Compare(), "", 3, "it ended with status 3"),
        (Compare(says=["^PASS"]), "no PASS", 0, r"it does not say '\^PASS'"),
        (Compare(never=["FAIL"]), "a\n test 7 FAILED \n", 0, "it says 'test 7 FAILED'"),
        (Compare(numbers=[_ENERGY]), "", 0, "it gives no number"),
        (Compare(files=["out"]), "", 0, "it wrote no out"),
        (Compare(verdict_file="out", says=["x"]), "x", 0, "it wrote no out"),
        (Compare(same_lines="sum"), "", 0, "it prints no line with 'sum'"),
    ],
)
def test_look__what_is_wrong_by_itself__is_said(
    how: Compare, output: str, status: int, said: str, tmp_path: Path
) -> None:
    with pytest.raises(Wrong, match=said):
        look(how, tmp_path, output, status)


def test_look__status_that_does_not_count(tmp_path: Path) -> None:
    look(Compare(status=False, says=["PASS"]), tmp_path, "PASS", 3)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("energy 100.00001", ""),
        ("energy 100.001", "100.001 for 'energy .*', not 100"),
        ("energy 100 energy 100", "2 numbers for .*, not 1"),
        ("energy nan", "nan for .*, not 100"),
    ],
)
def test_difference__of_numbers__is_beyond_the_tolerance(
    other: str, said: str, tmp_path: Path
) -> None:
    how = Compare(numbers=[_ENERGY])
    first, second = (look(how, tmp_path, text, 0) for text in ("energy 100", other))
    assert re.fullmatch(said, difference(how, first, second))


def test_difference__of_files_and_lines(tmp_path: Path) -> None:
    how = Compare(files=["out"], same_lines="sum")
    seen = []
    for content, output in (("1", "sum 1\nsum 2"), ("1", "sum 2\nx\nsum 1"), ("2", "sum 1\nsum 2")):
        (tmp_path / "out").write_text(content)
        seen.append(look(how, tmp_path, output, 0))
    assert difference(how, seen[0], seen[1]) == ""
    assert difference(how, seen[0], seen[2]) == "another out"
    more = look(how, tmp_path, "sum 1\nsum 2\nsum 3", 0)
    assert difference(how, seen[2], more) == "'sum 3' only here"
    assert difference(how, more, seen[2]) == "'sum 3' not here"


def test_how_text__names_each_way_once() -> None:
    how = Compare(says=["a"], never=["b"], numbers=[_ENERGY, _ENERGY])
    assert how_text(how) == "its own verdict; numbers within 1e-06"
    assert how_text(Compare()) == "its exit status"
