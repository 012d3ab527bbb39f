# SPDX-License-Identifier: BSD-3-Clause
"""What the engine adds to a message: of a driver that does nothing, by the real engine."""

import pytest

from benchmarks import instrument


def test_cost__of_the_engine_against_a_driver_that_does_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(instrument, "_TURNS", 3)
    monkeypatch.setattr(instrument, "_MESSAGES", 20_000)
    added, shared = instrument.cost()
    # Two looks at the clock are in the one and not in the other; what they take is the machine's.
    assert added.ratio.value > 0
    assert shared.ratio.value > 0
    assert added.unit == shared.unit == " ns"
    assert "reading the clock takes" in added.detail
