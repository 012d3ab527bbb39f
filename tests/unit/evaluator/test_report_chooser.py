# SPDX-License-Identifier: BSD-3-Clause
"""The box that chooses drivers: all are in it, the usual ones are checked."""

import re

from beowire.report import layers
from beowire.report.chooser import chooser, only_chosen
from unit.evaluator.test_report_layers import MANY


def test_chooser__few_drivers__is_none() -> None:
    assert chooser(MANY[: layers.FEW]) == ""
    assert only_chosen(MANY[: layers.FEW]) == ""


def test_chooser__many_drivers__has_each_once_and_the_usual_checked() -> None:
    html = chooser(MANY)
    values = re.findall(r'name="driver" value="([^"]*)" autocomplete="off"( checked)?', html)
    assert sorted(name for name, _ in values) == sorted(MANY)
    assert {name for name, checked in values if checked} == set(layers.shown_first(MANY))
    assert f"{len(layers.shown_first(MANY))} of {len(MANY)}" in html
    assert "MPI</button></legend>" in html
    assert "only-chosen" in only_chosen(MANY)


def test_chooser__a_hostile_name__stays_text() -> None:
    html = chooser([*MANY, '"><script>'])
    assert "<script>" not in html
    assert 'value="&quot;&gt;&lt;script&gt;"' in html
