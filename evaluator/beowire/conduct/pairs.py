# SPDX-License-Identifier: BSD-3-Clause
"""Pairs: node i and node i + N/2, for all i, stream at the same time."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from beowire.conduct.base import Conductor, Stage, Turn
from beowire.conduct.fleet import Fleet, names
from beowire.conduct.incast import ends_of
from beowire.conduct.session import Round, RoundShape
from beowire.record.histogram import Histogram


class Pairs(Conductor):
    """Rounds of all pairs."""

    def __init__(self, stage: Stage) -> None:
        """Starts nothing yet."""
        super().__init__(stage)
        half = len(stage.launcher.nodes) // 2
        self._pairs = [(node, node + half) for node in range(half)]
        self._fleet = Fleet(stage, self._pairs)

    def round(self, turn: Turn) -> Round | None:
        """A stream of each; the round's own rate is the sum of theirs."""
        together = self._fleet.run(turn, RoundShape(turn.shape.count, 1))
        done = [one for one in together.rounds if one is not None]
        if len(done) < len(self._pairs) or not all(one.messages for one in done):
            return None
        rates = [one.moved_bytes * 1e9 / one.elapsed_ns for one in done]
        elapsed_ns = max(one.elapsed_ns for one in done)
        known = names(self.stage)
        pairs = [(known[a], known[b]) for a, b in self._pairs]
        return Round(
            # For planning: what one of them sends in the time of the slowest.
            turn.shape.count,
            sum(one.messages for one in done),
            sum(one.lost for one in done),
            elapsed_ns,
            round(sum(rates) * elapsed_ns / 1e9),
            Histogram(),
            ends_of(done),
            detail=(dict(zip(pairs, rates, strict=True)), together.skew_ns),
        )

    def request_end(self) -> None:
        """Asks the engines to exit, without waiting."""
        self._fleet.request_end()

    def end(self) -> None:
        """Ends the engines, bounded in time."""
        self._fleet.end()

    @staticmethod
    def details(rounds: Sequence[Round]) -> dict[str, Any]:
        """Each pair's rate."""
        return {
            "pairs": [
                {"a": a, "b": b, "rate_bytes_per_s": median(one.detail[0][a, b] for one in rounds)}
                for a, b in rounds[-1].detail[0]
            ],
            "start_skew_ns": median(one.detail[1] for one in rounds),
        }
