# SPDX-License-Identifier: BSD-3-Clause
"""The house's rules find what they are there to find."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]
LICENCE = "/* SPDX-License-Identifier: BSD-3-Clause */\n"


@pytest.fixture(name="house", scope="module")
def load_house() -> ModuleType:
    spec = importlib.util.spec_from_file_location("house", ROOT / "scripts" / "check_house.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture(name="tree")
def make_tree(tmp_path: Path) -> Path:
    """A project without a finding."""
    write(tmp_path / "transport/frame/encode.c", LICENCE)
    write(tmp_path / "tests/unit/transport/frame/encode_test.c", LICENCE)
    write(tmp_path / "tests/unit/transport/meson.build", f"# {LICENCE}tests = ['frame/encode']\n")
    write(tmp_path / "evaluator/beowire/sizes.py", f"# {LICENCE}")
    write(tmp_path / "tests/unit/evaluator/test_sizes.py", f"# {LICENCE}")
    write(tmp_path / "README.md", "# Title\n\n## A part\n\n[that](docs/OTHER.md#here-it-is)\n")
    write(
        tmp_path / "docs/OTHER.md",
        "# Here `it` is\n\n[up](../README.md#a-part), [own](#here-it-is)\n",
    )
    return tmp_path


def test_good_tree_has_no_finding(house: ModuleType, tree: Path) -> None:
    assert house.check(tree) == []


def test_tests_by_a_list_that_stands_with_the_sources(house: ModuleType, tree: Path) -> None:
    write(tree / "evaluator/engine/meson.build", f"# {LICENCE}patterns = ['cold']\n")
    build = "foreach name : patterns\n    test('pattern_' + name)\nendforeach\n"
    write(tree / "tests/unit/engine/meson.build", f"# {LICENCE}{build}")
    write(tree / "tests/unit/engine/pattern_cold_test.c", LICENCE)
    assert house.check(tree) == []
    write(tree / "tests/unit/engine/pattern_warm_test.c", LICENCE)
    assert ["pattern_warm_test.c: not in" in one for one in house.check(tree)] == [True]


def test_runs_in_the_tree_are_let_be(house: ModuleType, tree: Path) -> None:
    write(tree / "beowire-20260102-030405/report.html", "x" * ((1 << 20) + 1))
    assert house.check(tree) == []


@pytest.mark.parametrize(
    ("path", "text", "finding"),
    [
        ("transport/frame/encode.c", "int x;\n", "no 'SPDX"),
        ("scripts/tool", "#!/bin/sh\n", "no 'SPDX"),
        ("docs/OTHER.md", "# Here `it` is\n" + ">" * 7 + " ab12 (x)\n", ":2: a merge is half done"),
        ("evaluator/beowire/sizes.py", f"# {LICENCE}" + "\n" * 700, "701 lines"),
        (
            "tests/unit/transport/flow/window_test.c",
            LICENCE,
            "not in tests/unit/transport/meson.build, so it is never run",
        ),
        ("tests/simulation/new_test.c", LICENCE, "so it is never run"),
        ("README.md", "[that](docs/NONE.md)\n", "docs/NONE.md leads nowhere"),
        ("README.md", "# A part\n[that](docs/OTHER.md#nowhere)\n", "no such heading"),
        ("README.md", "# A part\n![picture](docs/none.png)\n", "docs/none.png leads nowhere"),
        ("docs/report.html", "x" * ((1 << 20) + 1), "is it a result?"),
    ],
)
def test_each_fault_is_found(
    house: ModuleType, tree: Path, path: str, text: str, finding: str
) -> None:
    write(tree / path, text)
    findings = house.check(tree)
    assert any(finding in line and line.startswith(path) for line in findings), findings


def test_generated_and_quoted_text_is_left_alone(house: ModuleType, tree: Path) -> None:
    write(tree / "build/x.c", "int x;\n")
    write(tree / "docs/OTHER.md", "# Here it is\n\n```\n[a](nowhere)\n```\n\n`[b](nowhere)`\n")
    assert house.check(tree) == []
