# SPDX-License-Identifier: BSD-3-Clause
"""Programs that benchmarks run: what they say, and what is wrong with them."""

from pathlib import Path

import pytest

from benchmarks import built
from beowire.errors import BeowireError


def test_program__not_built__says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(built, "ROOT", tmp_path)
    with pytest.raises(BeowireError) as raised:
        built.program("one", "libone-dev")
    said = (
        "build/release/benchmarks/one is not built: install libone-dev, run `scripts/build bench`"
    )
    assert str(raised.value) == said
    path = tmp_path / "build" / "release" / "benchmarks" / "one"
    path.parent.mkdir(parents=True)
    path.touch()
    assert built.program("one") == path


def test_run__what_it_says_is_kept_and_returned(tmp_path: Path) -> None:
    kept = tmp_path / "deep" / "one.jsonl"
    words = ["sh", "-c", 'echo "$WORD"']
    assert built.run(words, kept, 60.0, {"WORD": "yes"}) == ("yes\n", "")
    assert kept.read_text() == "yes\n"


@pytest.mark.parametrize(
    ("script", "limit_s", "problem"),
    [
        ("echo first >&2; echo last >&2; exit 3", 60.0, "last"),
        ("exit 3", 60.0, "one ended with 3"),
        ("exec sleep 60", 0.1, "one does not end"),
    ],
)
def test_run__what_goes_wrong_is_a_line(
    tmp_path: Path, script: str, limit_s: float, problem: str
) -> None:
    assert built.run(["sh", "-c", script], tmp_path / "one.json", limit_s) == ("", problem)
