# SPDX-License-Identifier: BSD-3-Clause
"""The result of a run in one sentence."""

from dataclasses import replace
from pathlib import Path

import pytest

from beowire.analysis.curves import curves
from beowire.analysis.headline import At, Outcome, headline, open_text, sentence
from beowire.plan.patterns import PATTERNS
from beowire.record.lines import Summary
from beowire.record.reader import Record, read_record
from beowire.show import terminal
from unit.evaluator import synthetic_record

FASTER, SLOWER, ALIKE, UNKNOWN = Outcome.FASTER, Outcome.SLOWER, Outcome.ALIKE, Outcome.UNKNOWN
KIB = 1024
NO_DIFFERENCE = "Beowire and TCP (tcp-spin) do not differ"


def record(tmp_path: Path, *drivers: str) -> Record:
    lines = synthetic_record.lines(drivers)
    return read_record(synthetic_record.write(tmp_path / "record.jsonl", lines))


def without(one: Summary | None) -> Summary | None:
    """Its interval."""
    return one and one.model_copy(update={"ci95": None})


def said(found: Record) -> str:
    return headline(found, curves([found], "pingpong"), PATTERNS["pingpong"])


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        (
            [(8, FASTER, 2.1), (8 * KIB, FASTER, 1.2), (64 * KIB, SLOWER, 0.8)],
            "Up to 8 KiB Beowire is 1.2 to 2.1 times as fast as TCP (tcp-spin);"
            " at 64 KiB TCP (tcp-spin) is 1.2 times as fast",
        ),
        (
            [(8, SLOWER, 0.5), (KIB, FASTER, 1.5), (2 * KIB, FASTER, 1.5)],
            "At 8 B TCP (tcp-spin) is 2.0 times as fast as Beowire;"
            " from 1 KiB to 2 KiB Beowire is 1.5 times as fast as TCP (tcp-spin)",
        ),
        ([(8, ALIKE, 1.01), (KIB, ALIKE, 0.99)], f"From 8 B to 1 KiB {NO_DIFFERENCE}"),
        # One size in doubt does not part a range; two do.
        (
            [(8, FASTER, 2.0), (16, ALIKE, 1.1), (32, FASTER, 2.0)],
            "From 8 B to 32 B Beowire is 1.1 to 2.0 times as fast as TCP (tcp-spin)",
        ),
        # Nor does its speed count for more than theirs: it may be chance.
        (
            [(8, FASTER, 2.0), (16, ALIKE, 2.9), (32, FASTER, 1.5)],
            "From 8 B to 32 B Beowire is 1.5 to 2.0 times as fast as TCP (tcp-spin)",
        ),
        (
            [(8, SLOWER, 0.5), (16, ALIKE, 0.1), (32, SLOWER, 0.8)],
            "From 8 B to 32 B TCP (tcp-spin) is 1.2 to 2.0 times as fast as Beowire",
        ),
        (
            [(8, FASTER, 2.0), (16, ALIKE, 1.0), (32, ALIKE, 1.0), (64, SLOWER, 0.5)],
            "At 8 B Beowire is 2.0 times as fast as TCP (tcp-spin);"
            " from 16 B to 32 B no significant difference;"
            " at 64 B TCP (tcp-spin) is 2.0 times as fast",
        ),
        # Outcomes that alternate are counted.
        (
            [
                *((4, UNKNOWN, 9.0), (8, FASTER, 2.0), (16, SLOWER, 0.9)),
                *((32, FASTER, 2.0), (64, SLOWER, 0.5)),
            ],
            "Beowire is faster than TCP (tcp-spin) at 2 of 4 sizes and slower at 2"
            " (0.50 to 2.0 times as fast)",
        ),
        # Unless most sizes are one range: then that is said, and what is known of the others.
        (
            [
                *((8, FASTER, 2.0), (16, FASTER, 1.5), (32, FASTER, 1.5), (64, ALIKE, 1.1)),
                *((128, SLOWER, 0.9), (256, ALIKE, 1.0)),
            ],
            "Up to 32 B Beowire is 1.5 to 2.0 times as fast as TCP (tcp-spin);"
            " from 64 B to 256 B Beowire is 0.90 times as fast,"
            " where the difference is significant",
        ),
        # What is not known is not said.
        (
            [(8, UNKNOWN, 2.0), (16, FASTER, 1.5)],
            "At 16 B Beowire is 1.5 times as fast as TCP (tcp-spin)",
        ),
        ([(8, UNKNOWN, 2.0)], ""),
    ],
)
def test_sentence(sizes: list[tuple[int, Outcome, float]], text: str) -> None:
    found = sentence("beowire", "tcp-spin", [At(*one) for one in sizes])
    # A single range "up to" a size begins at the smallest.
    assert found.replace("Up to 8 B", "At 8 B") == text


def test_open_text__names_all_sizes_without_a_difference() -> None:
    outcomes = (FASTER, ALIKE, FASTER, UNKNOWN, ALIKE, SLOWER)
    sizes = [At(8 << at, one, 1.0) for at, one in enumerate(outcomes)]
    assert open_text(sizes) == (
        "no significant difference between beowire and tcp-spin at 16 B and from 64 B to 128 B"
    )
    assert open_text(sizes[:1]).endswith("tcp-spin at no size")


def test_headline__compares_beowire_with_tcp(tmp_path: Path) -> None:
    found = record(tmp_path, "beowire", "tcp-spin", "tcp", "packet")
    assert said(found).startswith("From 1 B to 4 MiB Beowire is 1.1 to 2.")
    assert said(found).endswith("times as fast as TCP (tcp-spin)")
    shown = terminal.render(found, width=200, colour=False)
    assert f"Verdict on half round trip: {said(found)}." in shown


def test_headline__without_the_two__names_the_fastest(tmp_path: Path) -> None:
    assert said(record(tmp_path, "tcp-spin", "tcp")).startswith("Fastest: tcp-spin for 1 B")


def test_headline__a_single_driver__says_nothing(tmp_path: Path) -> None:
    assert said(record(tmp_path, "tcp")) == ""


def test_headline__a_busy_machine__is_named(tmp_path: Path) -> None:
    found = record(tmp_path, "beowire", "tcp-spin")
    assert found.end is not None
    end = found.end.model_copy(update={"other_cpus": 1.5, "busy_s": found.end.elapsed_s})
    assert "But other programs used 1.5 CPUs" in said(replace(found, end=end))


def test_headline__no_intervals__is_inconclusive(tmp_path: Path) -> None:
    found = record(tmp_path, "beowire", "tcp-spin")
    bare = [
        one.model_copy(update={"half_rtt_ns": without(one.half_rtt_ns)}) for one in found.results
    ]
    assert said(replace(found, results=bare)).startswith("Inconclusive: there were too few rounds")
