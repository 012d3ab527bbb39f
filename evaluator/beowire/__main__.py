# SPDX-License-Identifier: BSD-3-Clause
"""What the command `beowire` runs, in an isolated interpreter (isolated.py)."""

import sys

if __name__ == "__main__":
    if not sys.flags.isolated:
        sys.exit("beowire: `python -m` also looks in the working directory: run `beowire` itself")
    try:
        from beowire.cli import main
        from beowire.isolated import restore_environment
    except KeyboardInterrupt:  # importing takes a while
        sys.exit(130)
    restore_environment()
    main()
