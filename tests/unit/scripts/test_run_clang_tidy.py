# SPDX-License-Identifier: BSD-3-Clause
"""What of clang-tidy's configuration is for `make test-long` only."""

import pytest

from scripts.run_clang_tidy import ROOT, left_out

SOURCE = ROOT / "transport" / "flow" / "flow.c"
TEST = ROOT / "tests" / "unit" / "transport" / "flow" / "flow_test.c"


def test_left_out__the_analyzer_of_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BEOWIRE_TEST_LONG", raising=False)
    assert left_out(TEST) == ["--checks=-clang-analyzer-*"]
    assert left_out(SOURCE) == []


def test_left_out__nothing_in_the_long_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEOWIRE_TEST_LONG", "1")
    assert left_out(TEST) == left_out(SOURCE) == []
