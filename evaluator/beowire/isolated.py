# SPDX-License-Identifier: BSD-3-Clause
"""Runs a module of this package, or a benchmark, in an interpreter that loads nothing else.

    python3 -I isolated.py MODULE [ARGUMENT...]

`python3 -m MODULE` looks for every module in the working directory first, and in what PYTHONPATH
names: whoever owns the directory that a command happens to be typed in could have it run a
`typer.py` of his. So every interpreter that is started for this package is isolated (-I: no working
directory, no variable PYTHON*, no site packages of the user), and is told here where the package
is. It imports nothing of the package before that.

-I also has Python ignore PYTHONPYCACHEPREFIX: what that is for goes by `-X pycache_prefix=`.
"""

import base64
import os
import runpy
import sys
from pathlib import Path

_HERE = Path(__file__).resolve()


def command(module: str) -> list[str]:
    """The words that run a module of this package; its arguments follow."""
    return [*interpreter(), str(_HERE), module]


def interpreter() -> list[str]:
    """The words that start such an interpreter; options, or a file, follow."""
    prefix = sys.pycache_prefix
    cache = [] if prefix is None else ["-X", f"pycache_prefix={prefix}"]
    return [sys.executable, "-I", *cache]


def restore_environment() -> None:
    """Gives this process the environment of its caller, for the programs that it starts.

    Two have changed that: the interpreter, in the C locale, and the shell that runs the script
    `beowire`, which drops the names that are none of its own and sets others: the script hands
    these variables on as they were.
    """
    from beowire.become import restore_locale  # noqa: PLC0415  # main() says where it is

    restore_locale()
    handed_on = os.environb.pop(b"BEOWIRE_CALLER", b"")
    if not handed_on.startswith(b"."):
        return
    for name in (b"PWD", b"OLDPWD", b"SHLVL", b"_"):
        os.environb.pop(name, None)
    for one in base64.b64decode(handed_on[1:]).split(b"\0"):
        name, _, value = one.partition(b"=")
        if name:
            os.environb[name] = value


def main() -> None:
    """Becomes the module that the first argument names."""
    if not sys.flags.isolated:
        sys.exit(f"beowire: run it isolated: {sys.executable} -I {_HERE} MODULE")
    root = _HERE.parent.parent
    if str(root) not in sys.path:  # a checkout, whose benchmarks are beside the package's root
        sys.path[:0] = [str(root), str(root.parent)]
    restore_environment()
    sys.argv[:] = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
