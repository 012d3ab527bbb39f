# SPDX-License-Identifier: BSD-3-Clause
"""The whole command line, registered once: each time again would add every command anew."""

import functools

import typer

from beowire import cli


@functools.cache
def whole() -> typer.Typer:
    cli._register()
    return cli.app
