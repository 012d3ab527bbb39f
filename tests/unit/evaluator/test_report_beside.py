# SPDX-License-Identifier: BSD-3-Clause
"""A command without plotly measures and says its tables; what is missing is one line."""

from pathlib import Path

import pytest

from beowire import report
from beowire.errors import BeowireError
from beowire.report import plotly_code


def test_without_plotly__no_file_and_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "find_spec", lambda _: None)
    said = report.report_beside([], tmp_path / "report.html")
    assert said == "none: reports need plotly: pip install 'beowire[report]'"
    assert not (tmp_path / "report.html").exists()


def test_without_plotly__who_asks_for_a_report_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plotly_code, "find_spec", lambda _: None)
    with pytest.raises(BeowireError, match=r"pip install 'beowire\[report\]'"):
        plotly_code.whole()
