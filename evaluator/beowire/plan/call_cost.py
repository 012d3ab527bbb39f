# SPDX-License-Identifier: BSD-3-Clause
"""`--system-call-cost`: a cost that engines add to each of their system calls (docs/ENGINE.md), to
see on any machine what is slow where the kernel is expensive to enter."""

import re
from collections.abc import Sequence

from beowire.errors import BeowireError
from beowire.record.lines import NodeEnd
from beowire.units import time_text

OPTION = "--system-call-cost"

#: As the engine has it.
_MOST_NS = 10_000

_UNITS_NS = {"ns": 1, "us": 1000}


def parse(text: str) -> int:
    """Nanoseconds of `300ns` or `1us`. BeowireError."""
    found = re.fullmatch(r"([0-9]{1,5})(ns|us)", text.strip())
    cost_ns = int(found[1]) * _UNITS_NS[found[2]] if found else 0
    if not 1 <= cost_ns <= _MOST_NS:
        raise BeowireError(f"cannot add {OPTION} {text!r}: write 1ns to {_MOST_NS // 1000}us")
    return cost_ns


def described(ends: Sequence[NodeEnd]) -> str:
    """What was really added: `each system call costs 300 ns more (node1: 298 ns)`; empty: nothing
    was."""
    added = {end.node: time_text(end.call_cost.added_ns) for end in ends if end.call_cost}
    if not added:
        return ""
    first, *others = dict.fromkeys(added.values())
    more = [f"{node}: {text}" for node, text in added.items() if text in others]
    return f"each system call costs {first} more" + (f" ({', '.join(more)})" if more else "")
