# SPDX-License-Identifier: BSD-3-Clause
"""Has another program take the place of this one, with what this one was started with.

For interpreters that do little else: it imports nothing.
"""

import os
import signal
import sys


def restore_locale() -> None:
    """Takes back what the interpreter has set in the C locale (PEP 538)."""
    if b"LC_CTYPE" in os.environb:
        with open("/proc/self/environ", "rb") as file:  # noqa: PTH123  # pathlib takes longer
            if b"\0LC_CTYPE=" not in b"\0" + file.read():
                del os.environb[b"LC_CTYPE"]


def become(command: list[str]) -> None:
    """Runs the program in this one's place. If that cannot be, ends as a shell would: 126 it cannot
    be run, 127 it was not found."""
    restore_locale()
    # Python ignores both; the program should start with what a shell would give it.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except FileNotFoundError:
        refuse(127, f"{command[0]}: no such program")
    except OSError as error:
        refuse(126, f"{command[0]}: {error.strerror}")


def refuse(code: int, message: str) -> None:
    """Says why, and ends with this status."""
    print(f"beowire: {message}", file=sys.stderr)
    sys.exit(code)
