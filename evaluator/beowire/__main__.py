# SPDX-License-Identifier: BSD-3-Clause
"""`python -m beowire`."""

from beowire.cli import main

if __name__ == "__main__":
    main()
