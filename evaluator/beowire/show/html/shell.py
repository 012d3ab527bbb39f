# SPDX-License-Identifier: BSD-3-Clause
"""The frame of every page (head, style, links to sections, foot), and how it is written."""

from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template

from beowire import files
from beowire.show import drawing


def page(
    template: str,
    parts: Mapping[str, str],
    *,
    title: str,
    heading: str,
    lede: Sequence[str],
    warnings: Sequence[str],
    nav: Mapping[str, str] | None = None,
    scripts: str = "",
) -> str:
    """The whole page. `template` is a file of this folder, the sections, with places for `parts`.

    `nav` are the sections' titles by their ids. `heading`, `lede` and `scripts` are HTML; the
    others are text. A page without scripts allows none.
    """
    main = Template(file(template)).substitute(parts)
    items = "".join(f"<li>{escape(line)}</li>" for line in warnings)
    links = "".join(f'<a href="#{to}">{escape(name)}</a>' for to, name in (nav or {}).items())
    return Template(file("shell.html")).substitute(
        title=escape(title),
        heading=heading,
        lede="".join(f"<p class=lede>{line}</p>" for line in lede),
        warnings=f'<ul class="warnings" role="alert">{items}</ul>' if items else "",
        nav=f'<nav aria-label="Sections">{links}</nav>' if links else "",
        main=main.rstrip("\n"),
        policy="script-src 'unsafe-inline'; " if scripts else "",
        style=drawing.STYLE + file("style.css"),
        scripts=scripts,
    )


def write(text: str, path: Path, records: Sequence[Path], *, named: bool = False) -> None:
    """Writes a page made from `records` to `path`, which the user has `named`, or which is in a
    directory of theirs.

    Replaces a page that is there. BeowireError if `path` is one of the records, or (exit code 1) if
    it cannot be written.
    """
    files.refuse_records(path, records)
    (files.write_named if named else files.write_beside)(path, text)


def file(name: str) -> str:
    """A file of this folder."""
    return resources.files("beowire.show.html").joinpath(name).read_text(encoding="utf-8")
