# SPDX-License-Identifier: BSD-3-Clause
"""Which of many drivers the charts show: a box with all of them in their groups. The page's script
does what it says. Where they are few there is none, and all are shown."""

from collections.abc import Sequence
from html import escape

from beowire.report import layers, palette

_BUTTONS = (("first", "The usual"), ("all", "All"), ("none", "None"))


def chooser(drivers: Sequence[str]) -> str:
    """The box, closed; empty where all drivers are shown anyway. `drivers` in their order."""
    if len(drivers) <= layers.FEW:
        return ""
    first = set(layers.shown_first(drivers))
    buttons = "".join(
        f'<button type="button" data-choose="{what}">{text}</button>' for what, text in _BUTTONS
    )
    groups = "".join(
        '<fieldset><legend><button type="button" data-group>'
        f"{escape(group.title)}</button></legend>"
        + "".join(_box(driver, driver in first) for driver in group.drivers)
        + "</fieldset>"
        for group in layers.grouped(drivers)
    )
    return (
        '<details class="chooser"><summary>In the charts: '
        f"<b><span>{len(first)} of {len(drivers)}</span> drivers</b></summary>"
        f'<p>{buttons}</p><div class="groups">{groups}</div></details>'
    )


def only_chosen(drivers: Sequence[str]) -> str:
    """The box that leaves the rows of the other drivers out of the table of all results."""
    if len(drivers) <= layers.FEW:
        return ""
    return (
        '<p class="only"><label><input type="checkbox" id="only-chosen"> Only the drivers that are'
        " in the charts</label></p>"
    )


def _box(driver: str, checked: bool) -> str:
    colour = palette.look(driver).colour
    return (
        f'<label><input type="checkbox" name="driver" value="{escape(driver)}"'
        f' autocomplete="off"{" checked data-first" if checked else ""}>'
        f' <span class="swatch" style="background:{colour}"></span>{escape(driver)}</label>'
    )
