# SPDX-License-Identifier: BSD-3-Clause
from programs import run
from programs.entry import Compare, Entry


def _entry(source: str) -> Entry:
    return Entry(
        name="melt",
        title="Melting",
        exercises="messages",
        packages=[],
        source=source,
        version=source,
        run=["melt"],
        compare=Compare(says=["PASS"]),
    )


def test_source_of__is_a_name_or_what_a_command_prints() -> None:
    assert run.source_of(_entry("")) == ""
    assert run.source_of(_entry("melt1.2")) == "melt1.2"
    assert run.source_of(_entry("sh: printf 'melt1.2\\nmelt1.3\\n'")) == "melt1.2"


def test_version_of__a_package_that_is_not_there_or_a_silent_command_says_nothing() -> None:
    assert run.version_of(_entry("sh: printf ' 1.2\\n'")) == "1.2"
    assert run.version_of(_entry("no-such-package")) == run.version_of(_entry("sh: true")) == ""
