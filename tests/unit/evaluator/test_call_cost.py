# SPDX-License-Identifier: BSD-3-Clause
import pytest

from beowire.errors import BeowireError
from beowire.plan.call_cost import described, parse
from beowire.record.lines import CallCost, NodeEnd


@pytest.mark.parametrize(("text", "cost_ns"), [("300ns", 300), ("1us", 1000), (" 10us ", 10_000)])
def test_parse__a_time(text: str, cost_ns: int) -> None:
    assert parse(text) == cost_ns


@pytest.mark.parametrize(
    "text", ["", "300", "0ns", "11us", "-1ns", "3.5us", "300 ns", "1ms", "٣ns"]
)
def test_parse__what_is_none__gets_one_line(text: str) -> None:
    with pytest.raises(
        BeowireError, match=r"^cannot add --system-call-cost .*: write 1ns to 10us$"
    ):
        parse(text)


def _end(node: str, added_ns: float | None) -> NodeEnd:
    cost = None if added_ns is None else CallCost(steps=1, before_ns=100.0, added_ns=added_ns)
    return NodeEnd(node=node, call_cost=cost)


def test_described__what_was_really_added() -> None:
    assert described([_end("a", None), _end("b", None)]) == ""
    assert described([_end("a", 299.6), _end("b", 300.1)]) == "each system call costs 300 ns more"
    assert described([_end("a", 300.0), _end("b", 281.0)]) == (
        "each system call costs 300 ns more (b: 281 ns)"
    )
