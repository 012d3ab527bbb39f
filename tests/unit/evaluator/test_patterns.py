# SPDX-License-Identifier: BSD-3-Clause
import pytest

from beowire.errors import BeowireError
from beowire.plan.patterns import DEFAULT, NEEDS, PATTERNS, Pattern, check_nodes, parse_patterns
from beowire.record.lines import DriverInfo, Result


def _driver(**changes: object) -> DriverInfo:
    members: dict[str, object] = {
        "name": "any",
        "summary": "",
        "placement": "pair",
        "reliable": True,
        "spins": False,
        "posts": True,
        "collective": True,
        "min_size": 1,
        "max_size": 1 << 20,
        "ready": True,
    }
    return DriverInfo.model_validate({**members, **changes})


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS.keys())
def test_row__is_whole(pattern: Pattern) -> None:
    assert pattern.field in Result.model_fields
    assert pattern.is_times == (pattern.field != "rate_bytes_per_s") == bool(pattern.rate)
    assert set(pattern.needs) <= NEEDS.keys()
    texts = (pattern.noun, pattern.quantity, pattern.each, pattern.summary)
    assert all(text and "\n" not in text and not text.endswith(".") for text in texts)
    assert pattern.caption.endswith(".")
    assert 0 < pattern.share <= 1
    assert pattern.batch >= 0
    assert pattern.obstacle(_driver()) == ""


def test_row__default_is_the_first() -> None:
    assert next(iter(PATTERNS.values())) is DEFAULT
    assert DEFAULT.title == "Half round trip"


def test_row__what_crosses_for_a_message_that_is_counted() -> None:
    """There and back, or one way; where an end waits for a time, CPU time says nothing of it."""
    crossings = {name: row.crossings for name, row in PATTERNS.items()}
    assert {crossings[name] for name in ("pingpong", "oneway", "all-pairs", "pingping")} == {2}
    assert {crossings[name] for name in ("stream", "pairs", "request")} == {1}
    assert {crossings[name] for name in ("open-loop", "incast", "overlap", "pipeline")} == {0}


def test_obstacle__first_need_that_is_not_met() -> None:
    needy = Pattern(
        name="any",
        noun="one",
        summary="any",
        reports="rates",
        quantity="any",
        field="rate_bytes_per_s",
        each="exchange",
        caption="Any.",
        needs=("posting", "reliable", "peer"),
    )
    assert needy.obstacle(_driver(posts=False)) == NEEDS["posting"]
    assert needy.obstacle(_driver(posts=False, reliable=False)) == NEEDS["reliable"]
    assert needy.obstacle(_driver(placement="process", reliable=False)) == NEEDS["peer"]
    assert needy.obstacle(_driver(placement="host")) == ""


def test_obstacle__memory_and_what_all_ends_do_together() -> None:
    assert PATTERNS["cold"].obstacle(_driver(fixed=True)) == NEEDS["anywhere"]
    assert PATTERNS["alignment"].obstacle(_driver(fixed=True)) == ""
    assert PATTERNS["allreduce"].obstacle(_driver(collective=False)) == NEEDS["collective"]


def test_parse_patterns__takes_a_list() -> None:
    assert parse_patterns("stream, pingpong,stream") == ["stream", "pingpong"]


@pytest.mark.parametrize("text", ["", "ping", "pingpong,"])
def test_parse_patterns__refuses_in_one_line(text: str) -> None:
    with pytest.raises(BeowireError, match=r"there are pingpong, .*stream"):
        parse_patterns(text)


def test_obstacle__between_many_nodes_nothing_of_one_host() -> None:
    assert PATTERNS["pairs"].obstacle(_driver(placement="host")) != ""
    assert PATTERNS["pairs"].obstacle(_driver(reliable=False)) == ""


def test_check_nodes__says_whether_all_nodes_are_needed() -> None:
    assert not check_nodes(["pingpong", "oneway"], 3)
    assert check_nodes(["pingpong", "incast"], 3)
    assert check_nodes(["pairs"], 4)
    with pytest.raises(BeowireError, match="3 nodes are no pairs"):
        check_nodes(["all-pairs", "pairs"], 3)
