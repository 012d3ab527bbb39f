# SPDX-License-Identifier: BSD-3-Clause
"""Rules for runs: read, judged, and said to who watches over a cluster."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from beowire.diff.rules import Outcome, judge, junit, read_rules, render, status_of
from beowire.errors import BeowireError
from beowire.record.lines import End, Result, Skipped
from beowire.record.parts import Link
from beowire.record.reader import Record
from unit.evaluator import synthetic_record
from unit.evaluator.test_curves import record as open_record
from unit.evaluator.test_curves import result, summary


def record(*results: Result, skipped: tuple[Skipped, ...] = ()) -> Record:
    """Of a run that came to its end."""
    end = synthetic_record.lines(("tcp",), sizes=(8,))[-1]
    assert isinstance(end, End)
    return replace(open_record(*results), skipped=list(skipped), end=end)


def _file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8")
    return path


def _outcome(tmp_path: Path, members: str, found: Record) -> Outcome:
    (outcome,) = judge(read_rules(_file(tmp_path, f"[[rule]]\n{members}\n")), found)
    return outcome


@pytest.mark.parametrize(
    ("limit", "status"),
    [
        ('at_most = "12us"', "met"),
        ('at_most = "10us"', "cannot tell"),
        ('at_most = "8us"', "broken"),
        ('at_least = "8us"', "met"),
        ('at_least = "10us"', "cannot tell"),
        ('at_least = "0.012ms"', "broken"),
    ],
)
def test_judge__by_the_whole_interval(tmp_path: Path, limit: str, status: str) -> None:
    found = record(result(8, summary(10_000, 9_000, 11_000)))
    assert _outcome(tmp_path, f'driver = "tcp"\n{limit}', found).status == status


def test_judge__the_worst_size_decides_and_is_named(tmp_path: Path) -> None:
    found = record(
        result(8, summary(1000, 990, 1010)),
        result(64, summary(5000, 4900, 5100)),
        result(1024, summary(9000, 8900, 9100)),
    )
    rule = 'driver = "tcp"\nsizes = "8-64"\nat_most = "2us"'
    outcome = _outcome(tmp_path, rule, found)
    assert outcome.status == "broken"
    assert outcome.details == ("64 B: 5.00 µs (4.90 µs to 5.10 µs), at most 2.00 µs",)
    assert _outcome(tmp_path, rule.replace("-64", ""), found).status == "met"


def test_judge__without_an_interval__cannot_be_told(tmp_path: Path) -> None:
    found = record(result(8, summary(1000)))
    assert _outcome(tmp_path, 'driver = "tcp"\nat_most = "2us"', found).status == "cannot tell"


def test_judge__nothing_was_measured(tmp_path: Path) -> None:
    for members in ('driver = "udp"', 'driver = "tcp"\nsizes = "1MiB"'):
        outcome = _outcome(tmp_path, f'{members}\nat_most = "2us"', record(result(8)))
        assert outcome.status == "not measured"


def test_judge__times_of_another_driver(tmp_path: Path) -> None:
    found = record(
        result(8, summary(1000, 990, 1010), driver="beowire"), result(8, summary(3000, 2900, 3100))
    )
    rule = 'driver = "beowire"\nthan = "tcp"\nat_most = "{}x"'
    assert _outcome(tmp_path, rule.format("0.5"), found).status == "met"
    assert _outcome(tmp_path, rule.format("0.333"), found).status == "cannot tell"
    outcome = _outcome(tmp_path, rule.format("0.2"), found)
    assert outcome.status == "broken"
    assert outcome.details[0].startswith("8 B: 0.333x (0.319x to 0.348x), at most 0.200x")


def test_judge__rates_and_tails(tmp_path: Path) -> None:
    tail = summary(1000, 990, 1010).model_copy(update={"p99": 4000.0, "p99_ci95": [3900.0, 4100.0]})
    found = record(result(8, tail))
    rule = 'driver = "tcp"\nof = "p99"\nat_most = "{}us"'
    statuses = [_outcome(tmp_path, rule.format(at), found).status for at in (5, 4, 3)]
    assert statuses == ["met", "cannot tell", "broken"]
    stream = record(
        result(64, pattern="stream", half_rtt_ns=None, rate_bytes_per_s=summary(1e9, 0.9e9, 1.1e9))
    )
    rule = 'driver = "tcp"\npattern = "stream"\nat_least = "{}MB/s"'
    statuses = [_outcome(tmp_path, rule.format(at), stream).status for at in (800, 1000, 1200)]
    assert statuses == ["met", "cannot tell", "broken"]


def test_judge__a_cell_that_is_not_whole__cannot_be_told(tmp_path: Path) -> None:
    found = record(result(8, summary(1000, 990, 1010), status="the engine ended"))
    outcome = _outcome(tmp_path, 'driver = "tcp"\nat_most = "2us"', found)
    assert outcome.status == "cannot tell"
    assert outcome.details[0].endswith("; the engine ended")


def test_judge__a_launch_that_is_not_whole__is_the_one_that_is_named(tmp_path: Path) -> None:
    half = summary(1000, 990, 1010)
    found = record(result(8, half), result(8, half, launch=2, status="the engine ended"))
    outcome = _outcome(tmp_path, 'driver = "tcp"\nat_most = "2us"', found)
    assert outcome.status == "cannot tell"
    assert outcome.details[0].endswith("; the engine ended")


def test_judge__beside_a_cell_that_is_not_whole__cannot_be_told(tmp_path: Path) -> None:
    found = record(
        result(8, summary(1000, 990, 1010), driver="beowire"),
        result(8, summary(3000, 2900, 3100), status="the engine ended"),
    )
    outcome = _outcome(tmp_path, 'driver = "beowire"\nthan = "tcp"\nat_most = "2x"', found)
    assert outcome.status == "cannot tell"
    assert outcome.details[0].endswith("; the engine ended")


def test_judge__a_tail_without_an_interval__cannot_be_told(tmp_path: Path) -> None:
    tail = summary(1000, 990, 1010).model_copy(update={"p99": 4000.0, "p99_ci95": None})
    for limit in ("5us", "3us"):
        rule = f'driver = "tcp"\nof = "p99"\nat_most = "{limit}"'
        outcome = _outcome(tmp_path, rule, record(result(8, tail)))
        assert outcome.status == "cannot tell"
        assert " to ?), at most " in outcome.details[0]


def _absent(size: int, reason: str, pattern: str = "pingpong") -> Skipped:
    return Skipped(driver="tcp", pattern=pattern, size=size, reason=reason)


def test_judge__a_cell_whose_driver_failed__cannot_be_told(tmp_path: Path) -> None:
    half = summary(1000, 990, 1010)
    failed = (_absent(64, "node1: the engine was killed"), _absent(8, "another", "stream"))
    found = record(result(8, half), skipped=failed)
    rule = 'driver = "tcp"\nat_most = "2us"'
    for sizes in ("", '\nsizes = "8-1KiB"'):
        outcome = _outcome(tmp_path, rule + sizes, found)
        assert outcome.status == "cannot tell"
        assert outcome.details == ("64 B: no figure of tcp: node1: the engine was killed",)
    assert _outcome(tmp_path, f'{rule}\nsizes = "8"', found).status == "met"
    assert _outcome(tmp_path, rule.replace("2us", "1ns"), found).status == "broken"


def test_judge__a_launch_without_a_figure__cannot_be_told(tmp_path: Path) -> None:
    found = record(result(8, summary(1000, 990, 1010)), skipped=(_absent(8, "it was killed"),))
    assert _outcome(tmp_path, 'driver = "tcp"\nat_most = "2us"', found).status == "cannot tell"


def test_judge__nothing_but_failures__says_them(tmp_path: Path) -> None:
    outcome = _outcome(
        tmp_path, 'driver = "tcp"\nat_most = "2us"', record(skipped=(_absent(8, "it was killed"),))
    )
    assert outcome.status == "not measured"
    assert outcome.details == ("8 B: no figure of tcp: it was killed",)


def test_judge__beside_a_driver_that_failed__cannot_be_told(tmp_path: Path) -> None:
    own = [result(size, summary(1000, 990, 1010), driver="beowire") for size in (8, 64)]
    found = record(*own, result(8, summary(3000, 2900, 3100)), skipped=(_absent(64, "killed"),))
    outcome = _outcome(tmp_path, 'driver = "beowire"\nthan = "tcp"\nat_most = "1x"', found)
    assert outcome.status == "cannot tell"
    assert outcome.details == ("64 B: no figure of tcp: killed",)


def test_judge__a_load_that_failed__counts_for_rules_beside_it(tmp_path: Path) -> None:
    half = summary(1000, 990, 1010)
    gone = _absent(64, "beside hog:19: the load ended")
    found = record(result(8, half), result(8, half, load="hog:19"), skipped=(gone,))
    rule = 'driver = "tcp"\nat_most = "2us"'
    assert _outcome(tmp_path, rule, found).status == "met"
    outcome = _outcome(tmp_path, f'{rule}\nload = "hog:19"', found)
    assert outcome.details == ("64 B: no figure of tcp: the load ended",)
    assert _outcome(tmp_path, f'{rule}\nload = "idle"', found).status == "not measured"


def test_judge__a_size_that_the_driver_has_not__is_missing_only_where_it_is_named(
    tmp_path: Path,
) -> None:
    found = record(result(8, summary(1000, 990, 1010)))
    (tcp, *_) = found.meta.drivers
    drivers = [tcp.model_copy(update={"name": "tcp", "max_size": 1024})]
    meta = found.meta.model_copy(update={"drivers": drivers})
    found = replace(found, meta=meta, skipped=[_absent(4096, "longer than a datagram")])
    rule = 'driver = "tcp"\nat_most = "2us"'
    assert _outcome(tmp_path, rule, found).status == "met"
    outcome = _outcome(tmp_path, f'{rule}\nsizes = "8-4KiB"', found)
    assert outcome.status == "cannot tell"
    assert outcome.details[0].endswith("no figure of tcp: longer than a datagram")


def test_judge__a_record_that_was_cut_short__meets_nothing(tmp_path: Path) -> None:
    found = open_record(result(8, summary(1000, 990, 1010)))
    outcome = _outcome(tmp_path, 'driver = "tcp"\nat_most = "2us"', found)
    assert outcome.status == "cannot tell"
    assert "cut short" in outcome.details[0]
    assert _outcome(tmp_path, 'driver = "tcp"\nat_most = "1ns"', found).status == "broken"


def test_judge__beyond_the_wire__cannot_be_told(tmp_path: Path) -> None:
    # 1.2 GB/s is the wire: 1200 bytes take a microsecond at least.
    found = record(result(1200, summary(100, 99, 101)), result(8, summary(900, 890, 910)))
    link = Link(kind="lab", mtu=1500, rate_bits_per_s=1e10, burst_bytes=50_000)
    bursting = replace(found, meta=found.meta.model_copy(update={"link": link}))
    rule = 'driver = "tcp"\nat_most = "1us"'
    assert _outcome(tmp_path, rule, found).status == "met"
    outcome = _outcome(tmp_path, rule, bursting)
    assert outcome.status == "cannot tell"
    assert outcome.details == (
        "1200 B: beyond the wire: it is a burst of the lab's shaper, not the driver",
    )


def test_status__broken_comes_before_not_known(tmp_path: Path) -> None:
    found = record(result(8, summary(1000, 990, 1010)))
    met, broken, unknown = (
        _outcome(tmp_path, f'driver = "{name}"\nat_most = "{limit}"', found)
        for name, limit in (("tcp", "2us"), ("tcp", "1ns"), ("udp", "2us"))
    )
    assert status_of([met]) == 0
    assert status_of([met, unknown]) == 2
    assert status_of([met, unknown, broken]) == 1


def test_junit__can_be_read_and_counts(tmp_path: Path) -> None:
    rules = read_rules(
        _file(
            tmp_path,
            """
            [[rule]]
            name = "quick <&> \\u0001"
            driver = "tcp"
            at_most = "2us"
            [[rule]]
            driver = "tcp"
            at_most = "1ns"
            [[rule]]
            driver = "udp"
            at_most = "1ns"
            """,
        )
    )
    found = record(result(8, summary(1000, 990, 1010)))
    suite = ElementTree.fromstring(junit(judge(rules, found), found).encode())
    assert suite.attrib["tests"] == "3"
    assert (suite.attrib["failures"], suite.attrib["errors"]) == ("1", "1")
    first, second, third = suite
    assert first.attrib["name"] == "quick <&> \\u0001"
    assert list(first) == []
    assert second.attrib == {"classname": "tcp.pingpong", "name": "rule 2"}
    assert [one.tag for one in second] == ["failure"]
    assert second[0].text is not None and second[0].text.startswith("8 B: 1.00 µs")
    assert [one.tag for one in third] == ["error"]
    text = render(judge(rules, found))
    assert "  broken        rule 2" in text
    assert "  not measured  rule 3" in text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "has no rule"),
        ("rule = 3", "has no rule"),
        ("rule = [3]", "rule 1: it begins with"),
        ("x =", "is no TOML"),
        ("y = 1\n[[rule]]", "unknown y"),
        ("[[rule]]", "rule 1: it has no driver"),
        ('[[rule]]\ndriver = 3\nat_most = "1us"', "driver is a text"),
        ('[[rule]]\ndriver = "tcp"', "one limit, at_most or at_least"),
        ('[[rule]]\ndriver = "tcp"\nat_most = "1us"\nat_least = "1us"', "one limit"),
        ('[[rule]]\ndriver = "tcp"\nat_most = "1 hour"', "cannot read the limit '1 hour'"),
        ('[[rule]]\ndriver = "tcp"\nat_most = "0us"', "cannot read the limit"),
        ('[[rule]]\ndriver = "tcp"\nat_most = "2x"', "goes with than"),
        ('[[rule]]\ndriver = "tcp"\nat_most = "2us"\nthan = "udp"', "goes with than"),
        ('[[rule]]\ndriver = "tcp"\nat_most = "2us"\nsize = "8"', "unknown size"),
        ('[[rule]]\ndriver = "tcp"\nat_most = "2us"\nsizes = "64-8"', "end before they begin"),
        ('[[rule]]\ndriver = "tcp"\nat_most = "2us"\nsizes = "x"', "is not a size"),
        ('[[rule]]\ndriver = "tcp"\nat_most = "2us"\npattern = "x"', "no pattern 'x'"),
        ('[[rule]]\ndriver = "tcp"\nat_most = "2us"\npattern = "stream"', "stream has rates"),
        ('[[rule]]\ndriver = "tcp"\nat_most = "2us"\nof = "mean"', "of is median or p99"),
        ('[[rule]]\ndriver = "tcp"\nat_least = "2MB/s"\nof = "p99"', "p99 is of times"),
    ],
)
def test_read_rules__what_is_wrong_is_named(tmp_path: Path, text: str, reason: str) -> None:
    path = _file(tmp_path, text)
    with pytest.raises(BeowireError) as caught:
        read_rules(path)
    assert str(path) in str(caught.value)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_read_rules__no_such_file(tmp_path: Path) -> None:
    with pytest.raises(BeowireError, match=r"cannot read .*: No such file"):
        read_rules(tmp_path / "none.toml")
