# SPDX-License-Identifier: BSD-3-Clause
"""The transport on a lossy wire: every byte arrives, once, in order, intact."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from beowire.lab import cluster
from beowire.lab.options import LabOptions
from beowire.lab.state import LabState
from system.exchanges import exchange

MESSAGES = 10_000
PATIENCE_S = 200


@contextlib.contextmanager
def lab_of(**options: Any) -> Iterator[LabState]:
    lab = cluster.up_ephemeral(LabOptions(**options), "loss")
    try:
        yield lab.state
    finally:
        lab.close()


@pytest.mark.timeout(PATIENCE_S + 20)
def test_loss__every_message_arrives_once_in_order_and_intact() -> None:
    with lab_of(loss=0.01) as lab:
        for counters in exchange(lab, MESSAGES, PATIENCE_S):
            assert counters["message_received"] == MESSAGES
            assert counters["message_protocol_errors"] == 0
            assert counters["message_announced"] > 0
            # The wire did lose frames, and this is how they came all the same.
            assert counters["flow_retransmitted_frames"] > 0
            assert counters["flow_gaps_reported"] > 0


@pytest.mark.timeout(PATIENCE_S + 20)
def test_no_loss__hardly_anything_is_sent_twice() -> None:
    with lab_of() as lab:
        for counters in exchange(lab, MESSAGES, PATIENCE_S):
            assert counters["message_received"] == MESSAGES
            # Where other work takes the cores away for long, queues of the kernel may run over,
            # and a few frames go again.
            assert counters["flow_retransmitted_frames"] <= MESSAGES // 1000, counters
