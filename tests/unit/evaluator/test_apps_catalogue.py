# SPDX-License-Identifier: BSD-3-Clause
"""Which programs there are, and on how many ranks each runs."""

from pathlib import Path

import pytest

from beowire.apps import catalogue
from beowire.apps.catalogue import choose
from beowire.errors import BeowireError

ROOT = Path(__file__).resolve().parents[3]


def test_each_own_program_has_a_source() -> None:
    for app in catalogue.OWN:
        if app.kind == "own":
            assert (ROOT / "apps" / f"{app.file}.c").is_file(), app.name


def test_choose__in_the_order_of_names_and_each_once() -> None:
    apps, unknown = choose(["mg", "cg", "mg"], npb=False)
    assert [app.name for app in apps] == ["mg", "cg"]
    assert unknown == {}


def test_choose__all_leaves_out_what_needs_a_package() -> None:
    names = [app.name for app in choose(["all"], npb=False)[0]]
    assert "cg" in names
    assert "hpl" not in names


def test_choose__unknown_among_known_ones_does_not_stop_them() -> None:
    apps, unknown = choose(["cg", "nosuch"], npb=False)
    assert [app.name for app in apps] == ["cg"]
    assert "'nosuch'" in unknown["nosuch"]


def test_choose__nothing_but_unknown_ones_is_refused() -> None:
    with pytest.raises(BeowireError, match="no program is called 'nosuch': ep, is, cg"):
        choose(["nosuch"], npb=False)


def test_choose__npb_names_need_a_tree() -> None:
    with pytest.raises(BeowireError, match="--npb DIR"):
        choose(["lu"], npb=False)


def test_choose__names_of_a_tree_and_own_ones_beside_it() -> None:
    apps, _ = choose(["cg", "npb-lu", "sweep"], npb=True)
    assert [(app.name, app.file, app.kind) for app in apps] == [
        ("npb-cg", "cg", "npb"),
        ("npb-lu", "lu", "npb"),
        ("sweep", "sweep", "own"),
    ]


def test_choose__a_tree_without_names_means_all_eight() -> None:
    assert len(choose([], npb=True)[0]) == 8


@pytest.mark.parametrize(
    ("app", "fits", "not_"),
    [("cg", [1, 2, 4, 64], [3, 6]), ("halo", [1, 2, 3, 7], []), ("npb-bt", [1, 4, 9], [2, 8])],
)
def test_refusal__names_what_the_program_can_use(
    app: str, fits: list[int], not_: list[int]
) -> None:
    (chosen,), _ = choose([app], npb=app.startswith("npb-"))
    assert [chosen.refusal(ranks) for ranks in fits] == [""] * len(fits)
    for ranks in not_:
        assert f"not on {ranks}: choose another --ranks" in chosen.refusal(ranks)


def test_check_class() -> None:
    assert catalogue.check_class("w") == "W"
    with pytest.raises(BeowireError, match="--class is one of S, W, A, B"):
        catalogue.check_class("Z")


def test_user_app__is_called_as_its_file_and_measured_in_seconds() -> None:
    app = catalogue.user_app(["./some/where", "1"])
    assert (app.name, app.unit, app.less_is_better) == ("where", "s", True)


def test_choose__options_of_a_program_make_it_another_row() -> None:
    apps, _ = choose(["pipeline:bytes=8,work=2000", "pipeline"], npb=False)
    assert [(app.name, app.file, app.arguments) for app in apps] == [
        ("pipeline:bytes=8,work=2000", "pipeline", ("--bytes", "8", "--work", "2000")),
        ("pipeline", "pipeline", ()),
    ]


@pytest.mark.parametrize("name", ["cg:", "cg:x", "cg:a=b c", "cg:a=1,,b=2", "hpl:a=1", "cg:--a=1"])
def test_choose__options_that_cannot_be_read(name: str) -> None:
    with pytest.raises(BeowireError, match="write NAME:OPTION=VALUE"):
        choose([name], npb=False)
