# SPDX-License-Identifier: BSD-3-Clause
"""What a C file may not know is found, and what it may is let be."""

from pathlib import Path

import pytest

from scripts import check_layers

ROOT = Path(__file__).resolve().parents[3]

TABLE = """
| folder | is | may know |
|---|---|---|
| `transport/core/` | the core. Pure | `message`, `lane` (`lane.h`), `tuning.h` |
| `transport/message/` | messages. Pure | `frame` |
| `transport/frame/` | frames. Pure | nothing |
| `transport/lane/` | talks to the kernel; a part of it is Pure, too, but not this | `frame` |
| `transport/tuning.h` | constants | nothing |
| `fabric/` | libfabric's | `frame` |

| folder | does |
|---|---|
| `transport/none/` | is no row |
"""

MESSAGE = """
/** Of a peer others may
 *
 *      set     key
 *      set     name
 *      read    ready
 */
struct message_peer {
    int key;
    int name[2];
    bool ready : 1;
    int queue;
};
"""


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture(name="tree")
def make_tree(tmp_path: Path) -> Path:
    """A project without a finding."""
    write(tmp_path / "ARCHITECTURE.md", TABLE)
    write(tmp_path / "transport/tuning.h", "")
    write(tmp_path / "transport/frame/frame.h", "")
    write(tmp_path / "transport/lane/lane.h", "")
    write(tmp_path / "transport/lane/socket.h", "")
    write(tmp_path / "transport/lane/lane.c", "#include <sys/socket.h>\n#include <time.h>\n")
    write(tmp_path / "transport/message/message.h", f'#include "frame/frame.h"\n{MESSAGE}')
    write(tmp_path / "transport/message/internal.h", "")
    write(
        tmp_path / "transport/message/state.h",
        "/*\n * state.h - for the files\n * of message/.\n */\n",
    )
    write(
        tmp_path / "transport/message/send.c", "int f(struct message_peer *p) { p->queue = 1; }\n"
    )
    write(
        tmp_path / "transport/core/core.h",
        "struct core_peer {\n    struct message_peer message; /**< its own */\n};\n",
    )
    write(
        tmp_path / "transport/core/send.c",
        '#include "core.h"\n#include "message/message.h"\n#include "lane/lane.h"\n'
        '#include "tuning.h"\n#include <string.h>\n'
        "int core_send(struct core_peer *peer)\n{\n    peer->message.name[0] = 1;\n"
        "    return peer->message.ready == peer->message.key;\n}\n",
    )
    write(
        tmp_path / "transport/core/receive.c",
        "int core_receive(struct core_peer *peer)\n{\n    return core_send(peer);\n}\n",
    )
    write(tmp_path / "fabric/rma.c", '#include "frame/frame.h"\n#include <time.h>\n')
    return tmp_path


def test_good_tree_has_no_finding(tree: Path) -> None:
    assert check_layers.check(tree) == []


@pytest.mark.parametrize(
    ("path", "text", "finding"),
    [
        (
            "transport/frame/frame.c",
            '#include "message/message.h"\n',
            "includes transport/message/message.h, which transport/frame may not know",
        ),
        ("transport/frame/frame.c", '  # include "../core/core.h"\n', "core.h, which"),
        ("transport/core/a.c", '#include "lane/socket.h"\n', "lane/socket.h, which"),
        ("transport/core/a.c", '#include "frame/frame.h"\n', "frame/frame.h, which"),
        ("transport/core/a.c", '#include "message/internal.h"\n', "message/internal.h, which"),
        ("transport/core/part/a.c", '#include "message/state.h"\n', "message/state.h, which"),
        ("fabric/a.c", '#include "core/core.h"\n', "which fabric may not know"),
        ("fabric/a.c", '#include "tuning.h"\n', "tuning.h, which fabric may not know"),
        (
            "transport/core/a.c",
            "#include <time.h>\n",
            "includes <time.h>, and transport/core is pure",
        ),
        ("transport/new/a.c", "", "its folder is in no table"),
        (
            "transport/core/a.c",
            "void a(struct message_peer *one)\n{\n    one->queue++;\n}\n",
            "a.c:3: queue of struct message_peer is transport/message/'s alone",
        ),
        (
            "fabric/a.c",
            "int b(void);\n\nint a(const struct core *core)\n{\n"
            "    return core->peers[0]->message.queue;\n}\n",
            "a.c:5: queue of struct message_peer",
        ),
        (
            "transport/core/a.c",
            "void a(struct core_peer *peer)\n{\n    peer->message.ready = true;\n}\n",
            "a.c:3: ready of struct message_peer is only to be read",
        ),
    ],
)
def test_each_fault_is_found(tree: Path, path: str, text: str, finding: str) -> None:
    write(tree / path, text)
    findings = check_layers.check(tree)
    assert len(findings) == 1, findings
    assert finding in findings[0] and findings[0].startswith(path)


def test_files_that_call_one_another(tree: Path) -> None:
    write(tree / "transport/core/send.c", "int core_send(void)\n{\n    return core_receive();\n}\n")
    assert check_layers.check(tree) == [
        "transport/core, transport/peers: these need one another: "
        "core/receive.c -> core/send.c -> core/receive.c"
    ]


def test_folders_of_one_house(tree: Path) -> None:
    """They know what is private of one another, but their files do not call in a circle."""
    row = "| `transport/pull/` | long messages. Pure | `message` |\n"
    write(tree / "ARCHITECTURE.md", TABLE.replace("| `fabric/`", row + "| `fabric/`"))
    write(
        tree / "transport/pull/pull.c",
        '#include "message/internal.h"\n'
        "int pull(struct message_peer *peer)\n{\n    return peer->queue;\n}\n",
    )
    assert check_layers.check(tree) == []
    write(tree / "transport/message/arrive.c", "int arrive(void)\n{\n    return pull(0);\n}\n")
    with (tree / "transport/pull/pull.c").open("a") as stream:
        stream.write("int pull_end(void)\n{\n    return arrive();\n}\n")
    assert check_layers.check(tree) == [
        "transport/message, transport/pull, transport/remote: these need one another: "
        "message/arrive.c -> pull/pull.c -> message/arrive.c"
    ]


@pytest.mark.parametrize(
    "text",
    [
        '/* core_receive() and #include "message/message.h" */\n',
        "// core_receive\n",
        'const char *words = "core_receive";\n',
        "struct core_receive;\nint f(struct a *a)\n{\n    return a->core_receive + a->key;\n}\n",
    ],
)
def test_what_only_looks_like_a_use(tree: Path, text: str) -> None:
    with (tree / "transport/core/send.c").open("a") as stream:
        stream.write(text)
    assert check_layers.check(tree) == []


def test_table_names_what_is_there(tree: Path) -> None:
    write(tree / "ARCHITECTURE.md", TABLE.replace("transport/lane/", "transport/lanes/"))
    assert "ARCHITECTURE.md: transport/lanes is not there" in check_layers.check(tree)


def test_the_project_has_tables_and_faces() -> None:
    """Else nothing would be compared."""
    table = check_layers.layers(ROOT)
    assert table["transport/core"].pure and not table["transport/lane"].pure
    assert {"fabric", "apps", "evaluator/engine"} <= table.keys()
    assert {face.name for face in check_layers.faces(ROOT)} == {"message_layer", "message_peer"}


def test_the_evaluators_folders_are_in_the_order_of_the_contract(tree: Path) -> None:
    contract = '[[tool.importlinter.contracts]]\nlayers = ["cli : commands", "{}", "errors"]\n'
    rows = "| the rest | x |\n| `record/` | x |\n| `cli.py`, `commands/` | x |\n"
    with (tree / "ARCHITECTURE.md").open("a") as stream:
        stream.write(f"\n| in `evaluator/beowire/` | is |\n|---|---|\n{rows}\n")
    write(tree / "pyproject.toml", contract.format("record"))
    assert check_layers.check(tree) == []
    write(tree / "pyproject.toml", contract.format("places"))
    assert "layers are not those" in "".join(check_layers.check(tree))
