# SPDX-License-Identifier: BSD-3-Clause
"""Agreement with others' programs: their lines are read, and the pairs are of one launch."""

from pathlib import Path

import pytest

from benchmarks import agreement, anchors, instrument
from benchmarks.figure import Figure
from beowire.analysis.statistics import Estimate
from beowire.errors import BeowireError
from beowire.record.lines import Result
from unit.evaluator.test_curves import record, result, summary

NP = ["nptcp"]


def of(driver: str, launch: int, median_ns: float, size: int = 1) -> Result:
    return result(size, summary(median_ns), driver=driver, launch=launch, n=100, elapsed_ns=1e6)


def ratios(lines: list[Result], names: list[str]) -> dict[str, Figure]:
    found = agreement.figures(record(*lines), names)
    return {figure.name: figure for figure in found.figures}


def test_figures__pairs__are_of_the_same_launch() -> None:
    lines = [of("tcp", launch, 1000.0 * launch) for launch in range(1, 7)]
    lines += [of("nptcp", launch, 1010.0 * launch) for launch in range(1, 7)]
    (figure,) = ratios(lines, NP).values()
    assert figure.ratio.value == pytest.approx(1 / 1.01)
    assert (figure.asked, figure.verdict) == ("1 ± 3 %", "met")
    assert "1 B: tcp / NPtcp" in figure.name


def test_figures__a_program_that_prints_means__is_beside_our_mean() -> None:
    lines = [of("tcp", 1, 1000.0), of("qperf", 1, 5000.0)]
    lines[1] = lines[1].model_copy(update={"n": 1, "elapsed_ns": 10000.0})
    (figure,) = ratios(lines, ["qperf"]).values()
    # A hundred messages in a millisecond, there and back, are 5 us each way.
    assert figure.ratio.value == pytest.approx(1.0)


def test_figures__one_is_missing__is_a_problem_and_no_figure() -> None:
    found = agreement.figures(record(of("tcp", 1, 1000.0)), NP)
    assert found.figures == []
    assert len(found.problems) == 4 and "nptcp" in found.problems[0]


@pytest.mark.parametrize(
    ("low", "value", "high", "verdict"),
    [
        (0.98, 1.0, 1.02, "met"),
        (0.96, 1.0, 1.02, "met?"),
        (1.02, 1.04, 1.06, "missed?"),
        (1.04, 1.05, 1.06, "missed"),
        (0.90, 1.05, 1.10, "missed?"),
        (0.90, 0.95, 0.96, "missed"),
    ],
)
def test_figure__within__counts_both_sides(
    low: float, value: float, high: float, verdict: str
) -> None:
    assert Figure("x", Estimate(value, low, high), "c", within=0.03).verdict == verdict


PRINTED = {
    "sockperf": (
        "sockperf: ---> percentile 50.000 =   24.412\nsockperf: ---> percentile 25.000 =    1.0\n",
        24.412e-6,
    ),
    "qperf": ("tcp_lat:\n    latency  =  27,345.5 ns\n", 27345.5e-9),
    "fi-pingpong": (
        "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n"
        "64      40k     =40k     4.8m        3.49s      1.47      43.66       0.02\n",
        43.66e-6,
    ),
    "ucx-perftest": ("600,125.888,260.472,1680.835,3839.18,594.94,3839,595\n", 125.888e-6),
}


@pytest.mark.parametrize("name", PRINTED)
def test_anchor__what_it_prints__is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, seconds = PRINTED[name]
    monkeypatch.setattr(anchors, "_pair", lambda *words: text)
    assert anchors.ANCHORS[name].measure(_Lab(), 64) == pytest.approx(seconds)  # type: ignore[arg-type]
    monkeypatch.setattr(anchors, "_pair", lambda *words: "Segmentation fault\n")
    with pytest.raises(BeowireError, match="printed no figure: Segmentation fault"):
        anchors.ANCHORS[name].measure(_Lab(), 64)  # type: ignore[arg-type]


class _Node:
    address = "10.77.0.2"


class _Lab:
    name = "lab"
    nodes = (_Node(), _Node())


def test_precision__reaches__are_set_beside_netpipes(tmp_path: Path) -> None:
    sizes = instrument._SIZES
    ours = [result(size, summary(1000, 990, 1005)) for size in sizes]
    values = (980, 990, 1000, 1000, 1000, 1010, 1020)
    theirs = [
        of("nptcp", launch, value, size) for size in sizes for launch, value in enumerate(values, 1)
    ]
    found = instrument.precision(record(*ours), record(*theirs))
    assert found.problems == []
    expected = 0.01 / instrument.reach_of_mean(values)
    assert found.figures[0].ratio.value == pytest.approx(expected)
    assert found.figures[0].verdict == "met"
    assert found.figures[1].ratio.value == pytest.approx(1.0)


def test_reach_of_mean__seven_values__is_students() -> None:
    # Student's t at 97.5 % of six degrees of freedom is 2.447.
    values = [9.0, 10.0, 11.0, 9.0, 10.0, 11.0, 10.0]
    assert instrument.reach_of_mean(values) == pytest.approx(2.447 * 0.8165 / 7**0.5 / 10, rel=1e-3)
