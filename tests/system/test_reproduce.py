# SPDX-License-Identifier: BSD-3-Clause
"""`beowire reproduce` from the command line to the page, in a lab."""

from pathlib import Path

from system.conftest import RunBeowire


def test_reproduce__a_paper_in_a_lab_and_again(run_beowire: RunBeowire, tmp_path: Path) -> None:
    words = ("reproduce", "001", "--only", "gigabit", "--time", "30", "--out", str(tmp_path / "o"))
    first = run_beowire(*words, "--pages", str(tmp_path / "pages"))
    assert first.returncode == 0, first.stderr
    assert first.stderr.startswith("paper 001: 1 measurements, about ")
    page = (tmp_path / "pages" / "001.md").read_text(encoding="utf-8")
    assert page in first.stdout
    assert "tcp-buffer" in page and "(001-gigabit.svg)" in page
    assert (tmp_path / "pages" / "001-gigabit.svg").read_text(encoding="utf-8").startswith("<svg")
    assert (tmp_path / "o" / "report.html").is_file()
    assert (tmp_path / "o" / "gigabit" / "record.jsonl").is_file()
    again = run_beowire(*words)
    assert "gigabit: measured before" in again.stderr
    assert page in again.stdout
