# SPDX-License-Identifier: BSD-3-Clause
"""Comparisons that go on until the verdict is in: how often they find what is there, and what is
not, and that they look only when they may."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from beowire.diff import sequential
from beowire.diff.sequential import Sequential, looks
from beowire.diff.sides import Key, read_side
from beowire.diff.verdict import DEFAULT_THRESHOLD, Measured, judge
from beowire.errors import BeowireError
from unit.evaluator.launch_records import flat, write

Floats = npt.NDArray[np.float64]

FIRST, MOST, SIZES = 10, 20, 4
KEYS = (Key("pingpong", "tcp", ""), Key("pingpong", "tcp", "", is_tail=True))


def test_looks__share_the_5_percent() -> None:
    found, alpha = looks(FIRST, MOST)
    assert found == [4, 6, 8, 10, 14, 20]
    assert alpha * len(found) == pytest.approx(0.05)
    assert looks(10, 5)[0] == [4, 5]
    assert len(looks(10, 1000)[0]) == 8
    assert looks(10, 1000)[0][-1] == 1000


def test_looks__where_nothing_could_be_told__are_left_out() -> None:
    """Of 4 and 4 launches the strongest case there is has p = 2 / 70."""
    found, alpha = looks(4, MOST)
    assert found[0] > 4
    assert alpha == pytest.approx(0.05 / len(found))


@pytest.mark.parametrize(("first", "most"), [(1, 10), (3, 3), (0, 20), (10, 1)])
def test_looks__too_few_launches(first: int, most: int) -> None:
    with pytest.raises(BeowireError, match="too few for a verdict: measure"):
        looks(first, most)


def _ended(random: np.random.Generator, shift: float, threshold: float) -> tuple[str, int]:
    """What a comparison says at its end, and after how many launches. Launches differ by 1 % as a
    whole and by 0.7 % at each size; their 99th percentiles by three times that."""
    total = FIRST + MOST
    whole = 0.01 * random.normal(size=(total, 1))
    costs: dict[Key, Floats] = {}
    for key, factor in zip(KEYS, (1.0, 3.0), strict=True):
        costs[key] = factor * (whole + 0.007 * random.normal(size=(total, SIZES)))
        costs[key][FIRST:] += np.log1p(shift)
    found, alpha = looks(FIRST, MOST)
    for count in found:
        measured = {
            key: Measured([1 << at for at in range(SIZES)], one[: FIRST + count])
            for key, one in costs.items()
        }
        groups = judge(measured, FIRST, count, threshold, alpha)
        verdicts = {one.verdict for group in groups for one in group.ranges}
        medians = {one.verdict for one in groups[0].ranges}
        if verdicts & {"worse", "better"}:
            return "different", count
        if "unsure" not in medians:
            return "same", count
    return "unsure", MOST


def _share(trials: int, seed: int, *, shift: float, threshold: float, wanted: str) -> float:
    random = np.random.default_rng(seed)
    ends = [_ended(random, shift, threshold)[0] for _ in range(trials)]
    return ends.count(wanted) / trials


def test_sequential__nothing_differs__is_seldom_called_different() -> None:
    assert _share(100, 1, shift=0, threshold=DEFAULT_THRESHOLD, wanted="different") <= 0.05


@pytest.mark.long
def test_sequential__nothing_differs__alarms_are_rarer_than_promised_without_a_threshold() -> None:
    """Where nothing but the sharing of the 5 % keeps them down: no verdict is reached before the
    last look, so all looks are taken."""
    assert _share(1000, 2, shift=0, threshold=0.0, wanted="different") <= 0.05


def test_sequential__slower_by_3_percent__is_found() -> None:
    found = _share(60, 3, shift=0.03, threshold=DEFAULT_THRESHOLD, wanted="different")
    assert found >= 0.8


def test_sequential__what_is_plain_takes_few_launches() -> None:
    random = np.random.default_rng(4)
    assert _ended(random, 0.3, DEFAULT_THRESHOLD) == ("different", 4)
    assert _ended(random, 0.0, 0.15) == ("same", 4)


@pytest.fixture
def grown(tmp_path: Path) -> Callable[[float, int], Sequential]:
    """Decides with a record of B in which so many launches are by so much slower."""

    def make(factor: float, launches: int) -> Sequential:
        first = write(tmp_path / "a", {"tcp": flat(30_000, 10, 1)})
        second = write(tmp_path / "b", {"tcp": flat(30_000 * factor, launches, 2)}, minutes=1)
        return Sequential(read_side("A", str(first)), str(second), MOST, DEFAULT_THRESHOLD)

    return make


def test_sequential__decides_at_a_look_only(grown: Callable[[float, int], Sequential]) -> None:
    decide = grown(1.3, 5)
    assert not decide(5)
    assert decide.comparison is None
    assert decide(4)
    assert decide.comparison is not None and decide.comparison.verdict == "worse"
    assert decide.in_words(4).startswith(
        "4 of at most 20 launches; looked at after 4, 6, 8, 10, 14, 20, each look at 0.83%"
    )


def test_sequential__the_same_again__is_no_worse(
    grown: Callable[[float, int], Sequential],
) -> None:
    decide = grown(1.0, 8)
    assert decide(8)
    assert decide.comparison is not None and decide.comparison.verdict == "no worse"


def test_sequential__a_record_that_says_nothing__goes_on_and_says_why(
    grown: Callable[[float, int], Sequential], monkeypatch: pytest.MonkeyPatch
) -> None:
    decide = grown(1.0, 4)

    def refuse(*_: object) -> None:
        raise BeowireError("B has no result to compare")

    monkeypatch.setattr(sequential, "compare", refuse)
    assert not decide(4)
    assert decide.refusal == "B has no result to compare"
