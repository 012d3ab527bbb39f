# SPDX-License-Identifier: BSD-3-Clause
"""What documents say of the code is held against the code."""

from pathlib import Path

import pytest

from scripts import check_documents, check_house

TOUR = """# A tour

1. `core/post.c`: `core_post()` calls `push()`,
   which is there, too.
2. `beowire/run.py`: `run()` of the run.

```
`core/gone.c` is only code
```
"""


@pytest.fixture(name="tree")
def make_tree(tmp_path: Path) -> Path:
    """A project without a finding."""
    for name, text in {
        "core/post.c": "static int push(int a,\n    int b)\n{\n}\n\nint core_post(void)\n{\n"
        "    return push(1, 2) + other();\n}\nint later(void);\n",
        "beowire/run.py": "class Run:\n    def run(self) -> None:\n        call()\n",
        "docs/TOUR.md": TOUR,
        "README.md": "# Title\n\n| " + "a row " * 30 + "|\n\n    code " + "x " * 60 + "\n",
        "ARCHITECTURE.md": "`post.c`, `pattern_NAME.c` and a picture\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def check(tree: Path) -> list[str]:
    return list(check_documents.check(tree, check_house.files(tree)))


CALLED = """# A tour

### Down

1. `fabric/msg.c`: `msg_send()`.
2. `core/post.c`: `core_post()` calls `push()`, and that `lane_send()` in `core/lane.c`.

### Up

"""


def walk(tree: Path, called: str) -> list[str]:
    table = "{\n}\n\nconst struct operations operations = {.%s = %s};\n"
    for name, text in {
        "fabric/msg.c": "int msg_send(void)\n{\n    core_post();" + table % ("send", "msg_send"),
        "core/post.c": "/* push() waits; */\n"
        "void push(int a)\n{\n    lane->operations->send(a);\n}\n"
        "void core_post(void)\n{\n    push(1);\n}\n",
        "core/lane.c": "int lane_send(void)\n" + table % ("send", "lane_send"),
        "docs/TOUR.md": called,
    }.items():
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text(text)
    return check(tree)


def test_functions_of_a_walk_are_called_in_order(tree: Path) -> None:
    assert walk(tree, CALLED) == []
    turned = CALLED.replace("`core_post()` calls `push()`", "`push()` is called by `core_post()`")
    assert walk(tree, turned) == [
        "docs/TOUR.md: push() is not called by one that is named before it"
    ]
    cut = CALLED.replace(" calls `push()`", "")
    assert walk(tree, cut) == [
        "docs/TOUR.md: lane_send() is not called by one that is named before it"
    ]


def test_good_tree_has_no_finding(tree: Path) -> None:
    assert check(tree) == []


@pytest.mark.parametrize(
    ("document", "old", "new", "finding"),
    [
        ("docs/TOUR.md", "core_post()", "core_pos()", "core_pos() is in none"),
        ("docs/TOUR.md", "core_post()", "other()", "other() is in none"),  # a call
        ("docs/TOUR.md", "core_post()", "later()", "later() is in none"),  # a declaration
        ("docs/TOUR.md", "`run()`", "`push()`", "push() is in none"),  # of another item
        ("docs/TOUR.md", "`run()`", "`call()`", "call() is in none"),
        ("docs/TOUR.md", "core/post.c", "core/gone.c", "there is no core/gone.c"),
        ("ARCHITECTURE.md", "`post.c`", "`gone.c`", "there is no gone.c"),
        ("README.md", "# Title", "word " * 30, "README.md:1: 150 characters"),
        ("docs/TOUR.md", "   which is", "    which is " + "so " * 40, "docs/TOUR.md:4: "),
    ],
)
def test_finds(tree: Path, document: str, old: str, new: str, finding: str) -> None:
    path = tree / document
    path.write_text(path.read_text().replace(old, new))
    found = check(tree)
    assert any(finding in one for one in found), found
