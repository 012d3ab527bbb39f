# SPDX-License-Identifier: BSD-3-Clause
"""`python -m beowire`."""

import sys

if __name__ == "__main__":
    try:
        from beowire.cli import main
    except KeyboardInterrupt:  # importing takes a while
        sys.exit(130)
    main()
