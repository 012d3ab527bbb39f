# SPDX-License-Identifier: BSD-3-Clause
"""The advice beside the table: nothing that is ahead at a size is missing in what is said of it."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from beowire.analysis import advice
from beowire.analysis.curves import Cell, Curve, curves
from beowire.plan.patterns import PATTERNS
from beowire.record.lines import DriverInfo, Summary
from beowire.units import size_text
from unit.evaluator import synthetic_record

#: Of a driver at a size: its figure, and how far its interval reaches; no reach: it has none.
Figure = tuple[float, float | None]
Table = Mapping[str, Sequence[Figure | None]]

PINGPONG, STREAM = PATTERNS["pingpong"], PATTERNS["stream"]
SIZES = [1 << (3 + at) for at in range(12)]


def _summary(figure: Figure) -> Summary:
    value, reach = figure
    ci95 = None if reach is None else (value / (1 + reach), value * (1 + reach))
    return Summary(median=value, ci95=ci95, p90=None, p99=None, min=value, max=value)


def _cell(size: int, figure: Figure) -> Cell:
    found = _summary(figure)
    return Cell(size, (), found, found)


def _curves(table: Table, pattern: str = "pingpong") -> list[Curve]:
    return [
        Curve(
            record=0,
            label=name,
            driver=name,
            pattern=pattern,
            one_way=False,
            cells=tuple(
                _cell(size, one) for size, one in zip(SIZES, row, strict=False) if one is not None
            ),
        )
        for name, row in table.items()
        if any(one is not None for one in row)
    ]


def _said(table: Table) -> list[tuple[str, int]]:
    """What is named, and of how many sizes."""
    found = advice.ranges(_curves(table), PINGPONG)
    return [(advice.names_text(one), len(one.cells)) for one in found]


# Few figures, so that many are equal, and intervals that touch.
_FIGURES = st.one_of(
    st.none(),
    st.tuples(
        st.sampled_from([1.0, 1.01, 1.03, 1.1, 1.5, 2.0]),
        st.sampled_from([0.0, 0.005, 0.02, 0.1, 0.6, None]),
    ),
)
_TABLES = st.integers(1, len(SIZES)).flatmap(
    lambda sizes: st.dictionaries(
        st.sampled_from(["beowire", "tcp", "udp", "mpi", "ucx"]),
        st.lists(_FIGURES, min_size=sizes, max_size=sizes),
        min_size=2,
    )
)


@given(_TABLES, st.sampled_from([PINGPONG, STREAM]))
def test_ranges__say_nothing_that_the_table_contradicts(table: Table, pattern: object) -> None:
    kind = PINGPONG if pattern is PINGPONG else STREAM
    found = advice.ranges(_curves(table, kind.name), kind)
    said = [size for one in found for size in one.sizes]
    assert said == [
        size for at, size in enumerate(SIZES) if any(at < len(r) and r[at] for r in table.values())
    ]
    for one in found:
        alone = [_judged(one, cells, kind.is_times) for cells in one.cells]
        if one.sure:
            # At both ends it is told apart from all others, and from one size to the next, too.
            assert alone[0] and alone[-1]
            assert all(here or there for here, there in pairwise(alone))


def _judged(one: advice.Range, cells: Mapping[str, Cell], is_times: bool) -> bool:
    """Whether who is ahead at a size is told apart from all others there; all that the range says
    is checked against the figures on the way."""

    def cost(name: str) -> float:
        median = cells[name].rate_bytes_per_s.median
        return median if is_times else 1 / median

    leader = min(cells, key=cost)
    if not one.names:
        assert cells[leader].rate_bytes_per_s.ci95 is None
        return False
    # Who is ahead in the table is named, and shown.
    assert leader in one.names
    assert leader in advice.names_text(one)
    near = {name for name in cells if _near(cells, name, leader, cost)}
    if one.sure:
        assert one.names == (leader,)
    else:
        # None that is named is told apart from it, and all that are not told apart are named.
        assert set(one.names) <= near <= {*one.names, *one.close}
    return near == {leader}


def _near(cells: Mapping[str, Cell], name: str, ahead: str, cost: Callable[[str], float]) -> bool:
    first, other = cells[ahead].rate_bytes_per_s.ci95, cells[name].rate_bytes_per_s.ci95
    if first is None or other is None:
        return True
    overlap = first[0] <= other[1] and other[0] <= first[1]
    return overlap or cost(name) <= cost(ahead) * 1.02


def test_ranges__ahead_everywhere__is_one_range() -> None:
    assert _said({"a": [(1.0, 0.01)] * 5, "b": [(2.0, 0.01)] * 5}) == [("a", 5)]


def test_ranges__a_size_between_two_that_are_sure__counts_with_them() -> None:
    sure, open_ = (2.0, 0.01), (1.05, 0.1)
    assert _said({"a": [(1.0, 0.01)] * 3, "b": [sure, open_, sure]}) == [("a", 3)]
    # But not if the other one is ahead there, by however little.
    assert _said({"a": [(1.0, 0.01)] * 3, "b": [sure, (0.999, 0.1), sure]}) == [
        ("a", 1),
        ("b or a (no significant difference)", 1),
        ("a", 1),
    ]


def test_ranges__at_a_crossover__say_that_it_is_open() -> None:
    one = [(1.0, 0.01)] * 4 + [(2.0, 0.01)] * 3
    other = [(2.0, 0.01)] * 3 + [(1.01, 0.01)] + [(1.0, 0.01)] * 3
    assert _said({"a": one, "b": other}) == [
        ("a", 3),
        ("a or b (no significant difference)", 1),
        ("b", 3),
    ]


def test_ranges__a_driver_that_is_ahead_at_one_size__is_not_covered_up() -> None:
    """What was on one screen once: TCP ahead at 1 MiB, and advice that has beowire up to 4 MiB."""
    beowire = [(1.0, 0.3), (1.0, 0.3), (1.0, 0.3)]
    tcp = [(1.5, 0.1), (0.9, 0.1), (1.5, 0.1)]
    assert _said({"beowire": beowire, "tcp": tcp}) == [
        ("beowire", 1),
        ("tcp or beowire (no significant difference)", 1),
        ("beowire", 1),
    ]


def test_ranges__ahead_and_mostly_open__say_of_whom() -> None:
    found = _said({"a": [(1.0, 0.1)] * 5, "b": [(1.1, 0.1)] * 2 + [(3.0, 0.1)] * 3})
    assert found == [("a or b (no significant difference)", 2), ("a", 3)]
    open_, slow = (1.1, 0.1), (3.0, 0.1)
    found = _said({"a": [(1.0, 0.1)] * 2, "b": [open_, slow], "c": [slow, open_]})
    assert found == [("a (at some sizes no significant difference from b, c)", 2)]


def test_ranges__medians_that_launches_differ_by__are_not_told_apart() -> None:
    found = _said({"a": [(1.0, 0.001)] * 3, "b": [(1.015, 0.001)] * 3})
    assert found == [("a or b (no significant difference)", 3)]


def test_names_text__all_that_are_ahead_somewhere_are_shown() -> None:
    table = {
        name: [(1.0 if at == other else 1.001, 0.1) for other in range(6)]
        for at, name in enumerate("abcdef")
    }
    ((text, sizes),) = _said(table)
    assert text == "a or b or c or d or e or f (no significant difference)"
    assert sizes == 6
    flat = {name: [(1.0, 0.1)] for name in "abcdef"}
    assert _said(flat) == [("a or b or c or d or 2 others (no significant difference)", 1)]


def test_verdicts__cpu_time__is_beside_that_of_the_next_and_of_tcp() -> None:
    names = ("beowire", "fi-tcp", "tcp-spin")
    record = synthetic_record.held(synthetic_record.lines(names, patterns=("pingpong",)))
    found = curves([record], "pingpong")
    for _, use, _, cpu in advice.verdicts(found, PINGPONG, record.meta.drivers):
        times = dict(one.split(" ", 1) for one in cpu.split(", "))
        assert next(iter(times)) == use.split(" ")[0] and "tcp-spin" in times
        assert len(times) >= 2


def test_text__of_ranges__has_their_sizes() -> None:
    drivers = [
        DriverInfo(
            name=name,
            summary="",
            placement="pair",
            reliable=True,
            spins=True,
            min_size=1,
            max_size=1 << 30,
            ready=True,
        )
        for name in ("a", "b")
    ]
    lines = advice.text(
        _curves({"a": [(1.0, 0.01)] * 3, "b": [(2.0, 0.01), (2.0, 0.01), (0.5, 0.01)]}),
        PINGPONG,
        drivers,
    ).splitlines()
    assert lines[0] == "What to use between two nodes, by half round trip"
    assert lines[1].startswith(f"  {size_text(8)} to {size_text(16)}")
    assert "a: " in lines[1]
    assert lines[3].startswith(f"  {size_text(32)} ")
    assert "b: " in lines[3]
