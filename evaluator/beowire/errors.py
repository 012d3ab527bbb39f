# SPDX-License-Identifier: BSD-3-Clause
"""The one kind of error that a person is meant to read."""


class BeowireError(Exception):
    """Something that the user can act on: one line that says what is wrong and what to do.

    The command line prints the message after `beowire: ` and exits with `exit_code`
    (2: bad input or a missing condition; 1: the work itself failed; 130: interrupted).
    """

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code
