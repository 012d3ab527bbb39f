# SPDX-License-Identifier: BSD-3-Clause
"""A comparison that goes on until its verdict is in: when it is looked at, and what a look may say.

Whoever looks again and again at 5 % each time is wrong far more often than in 5 % of cases: sooner
or later chance is strong enough. So there are few looks, at numbers of launches that are fixed
before the first, and they share the 5 % evenly (Bonferroni): whatever the looks have to do with one
another, all of them together call something different that is not in at most 5 % of comparisons
(cf. Lan and DeMets, Biometrika 70 (1983), 659-663, who spend a little less by assuming more). The
intervals that call something no worse are of the same level, so being looked at often makes no
verdict cheaper.
"""

import math

from beowire.diff.sides import Side, read_side
from beowire.diff.verdict import ALPHA, Comparison, compare
from beowire.errors import BeowireError

#: Launches after which it is looked, besides the last.
_LOOKS = (4, 6, 8, 10, 14, 20, 30, 50, 100, 200, 500)

#: Looks at most: each has so much less to say.
_MOST_LOOKS = 8


def looks(first: int, most: int) -> tuple[list[int], float]:
    """After how many launches of B it is looked, if A has `first` and B is to have `most` at most;
    and how often each look may call something different that is not.

    A look at so few launches that it could call nothing different whatever they found is none.
    BeowireError if that is so of all.
    """
    found = [*(count for count in _LOOKS if count < most), most][-_MOST_LOOKS:]
    while found and math.comb(first + found[0], first) * ALPHA / len(found) < 2:
        found.pop(0)
    if not found or first < 1:
        raise BeowireError(
            f"{first} launch{'' if first == 1 else 'es'} to compare with and {most} new ones are"
            " too few for a verdict: measure the first run again with `beowire compare --launches"
            " 10`, or take more new ones (--launches)"
        )
    return found, ALPHA / len(found)


class Sequential:
    """Decides after each launch of B whether the verdict is in."""

    def __init__(self, first: Side, path: str, most: int, threshold: float) -> None:
        """`path`: where B's record grows. BeowireError as looks()."""
        self._first = first
        self._path = path
        self._threshold = threshold
        self.looks, self.alpha = looks(len(first.launches), most)
        self.comparison: Comparison | None = None
        """What the last look saw."""
        self.refusal = ""
        """Why it saw nothing."""

    def __call__(self, launch: int) -> bool:
        """Whether no more launches are needed, so many being in the record."""
        if launch not in self.looks:
            return False
        try:
            self.comparison = compare(
                self._first, read_side("B", self._path), self._threshold, self.alpha
            )
        except BeowireError as error:
            self.refusal = str(error)
            return False
        return self.comparison.verdict != "cannot tell"

    def in_words(self, launches: int) -> str:
        """After how many launches it ended, and by which rule."""
        most = self.looks[-1]
        at = ", ".join(map(str, self.looks))
        return (
            f"{launches} of at most {most} launches; looked at after {at}, each look at"
            f" {self.alpha:.2%}, so that all together call something different that is not in at"
            f" most {ALPHA:.0%} of comparisons"
        )
