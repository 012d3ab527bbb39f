# SPDX-License-Identifier: BSD-3-Clause
"""The endpoints of this host as people and programs want to see them: counters, and their rates."""

import textwrap
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any

from beowire.counters import stats
from beowire.counters.stats import Found, Row, Snapshot, StatsError, number, text
from beowire.units import count_rate_text, rate_text, time_text

#: Peers of an endpoint that are listed for people, the busiest first; programs get all.
_PEERS_SHOWN = 12

#: Lanes, and links and reasons, of an endpoint that are listed for people. No host has so many.
_ROWS_SHOWN = 64

#: So much is read of one user's at a time: any user can make such files, as many as he likes.
_FILES_OF_USER = 1024
_CELLS_OF_USER = 2_000_000

#: So much is read of all users' together.
_FILES = 4096
_CELLS = 8_000_000

#: After so many files of a user, or of all, that stayed half written, others are tried once.
_STOPPED_OF_USER = 5
_STOPPED = 50

#: Which users may act in which others' names (subuid(5)): all of these are one user here.
_SUBORDINATE = Path("/etc/subuid")

#: STATS_INTERVAL_NS of transport/tuning.h: what happens is published so soon.
_PUBLISHED_EVERY_NS = 100_000_000

#: Of the overview: process, program and host are words, what follows are figures.
HEADS = ["pid", "program", "host", "peers", "sent", "received", "data", "again"]
_PROGRAM, _HOST = 1, 2
#: Columns that are left out, one after the other, where programs' names would be cut else.
_GOES = ("peers", "again")
#: A name that is longer is cut in any case.
_LONG_NAME = 30
#: How far names give way where that is not enough: the program's first, then the host's.
_YIELDING = {_PROGRAM: 8, _HOST: 10}
_GAP = 2
_NARROWEST = 80
#: So much of a lane's or a peer's name is left in any case.
_SHORTEST = 8

#: Not a space for textwrap.
_NO_BREAK = "\u00a0"

_LANE_RATES = ("sent_frames", "sent_bytes", "sent_calls", "received_frames", "received_bytes")


@dataclass(frozen=True)
class View:
    """An endpoint now, and as it was the last time, if it was there."""

    pid: int
    command: str
    now: Snapshot
    seen_ns: int  # when that was read
    before: Snapshot | None = None
    before_seen_ns: int = 0

    @property
    def interval_s(self) -> float:
        """The time that rates are of: since the last time, else since it was opened; 0 if nothing
        has been published since."""
        if self.before is None:
            return max(0, self.now.published_ns - self.now.opened_ns) / 1e9
        if self.now.published_ns == self.before.published_ns:
            return 0.0
        # What was not published when it was last looked at had not happened yet, or just so.
        since = max(self.before.published_ns, self.before_seen_ns - _PUBLISHED_EVERY_NS)
        return max(0, self.now.published_ns - since) / 1e9

    @property
    def address(self) -> str:
        """The endpoint's address as text."""
        return next((text(row, "name") for row in self.now.rows("endpoint")), "")

    @property
    def name(self) -> str:
        """Where it is, for people: as others name it in their list of peers."""
        return short_address(self.address)

    def rate(self, table: str, name: str, column: str) -> float:
        """How fast a counter of a row grows, per second; 0 if nothing was published since."""
        then = self.before.row(table, name) if self.before else {}
        grown = number(self.now.row(table, name), column) - number(then, column)
        return max(0, grown) / self.interval_s if self.interval_s > 0 else 0.0


@dataclass
class Look:
    """What there was to be seen at one moment."""

    views: list[View] = field(default_factory=list)
    unreadable: list[tuple[int, str]] = field(default_factory=list)


@dataclass
class _Amount:
    """What has been read in a look: of one user's, or of all users'."""

    files: int = 0
    cells: int = 0
    stopped: int = 0


def _subordinate() -> list[tuple[range, str]]:
    """Ids of users, and to whom they are given."""
    given = []
    with suppress(OSError):
        for line in _SUBORDINATE.read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(ValueError):
                name, first, count = line.split(":")
                given.append((range(int(first), int(first) + int(count)), name))
    return given


class Watcher:
    """Looks again and again, and remembers what it saw last, so that there are rates."""

    def __init__(self, pid: int | None = None) -> None:
        """`pid`: only this process."""
        self._pid = pid
        self._last: dict[tuple[int, int], tuple[Snapshot, int]] = {}

    def look(self) -> Look:
        """Finds and reads all endpoints; those of users who have few before those of who has many,
        so that these do not take the place of those."""
        look = Look()
        seen: dict[tuple[int, int], tuple[Snapshot, int]] = {}
        of_user: dict[int | str, list[Found]] = {}
        given = _subordinate()
        for found in stats.find(self._pid):
            user_name = next((name for ids, name in given if found.user in ids), found.user)
            of_user.setdefault(user_name, []).append(found)
        all_users = _Amount()
        left_out: list[list[Found]] = []
        for files in sorted(of_user.values(), key=len):
            user = _Amount()
            for at, found in enumerate(files):
                if all_users.files >= _FILES or all_users.cells >= _CELLS:
                    left_out.append(files[at:])
                    break
                if user.files >= _FILES_OF_USER or user.cells >= _CELLS_OF_USER:
                    more = f"its user has {len(files) - at} more than are read at a time"
                    look.unreadable.append((files[0].pid, more))
                    break
                self._read(found, (user, all_users), look, seen)
        look.views.sort(key=lambda view: view.pid)
        if left_out:
            more = f"{len(left_out)} users have {sum(map(len, left_out))} more than are read of all"
            look.unreadable.append((left_out[0][0].pid, more))
        self._last = seen
        return look

    def _read(
        self,
        found: Found,
        amounts: tuple[_Amount, _Amount],
        look: Look,
        seen: dict[tuple[int, int], tuple[Snapshot, int]],
    ) -> None:
        user, all_users = amounts
        once = user.stopped >= _STOPPED_OF_USER or all_users.stopped >= _STOPPED
        cells, stopped = 0, False
        try:
            snapshot = stats.read(found.path, **({"attempts": 1} if once else {}))
        except StatsError as error:
            stopped = isinstance(error, stats.Stopped)
            look.unreadable.append((found.pid, str(error)))
        except OSError:
            pass  # it has ended since it was found
        else:
            cells = snapshot.cells
            seen_ns = time.monotonic_ns()
            before = self._last.get(found.identity, (None, 0))
            command = stats.command_of(found.pid)
            look.views.append(View(found.pid, command, snapshot, seen_ns, *before))
            seen[found.identity] = snapshot, seen_ns
        for amount in amounts:
            amount.files += 1
            amount.cells += cells
            amount.stopped += stopped


def short_address(address: str) -> str:
    """`10.77.0.1/4711` from an address as text; the text itself where it is something else."""
    words = address.split(":")
    try:
        endpoint = int(words[3], 16)
        if len(words) == 8:
            return f"process {int(words[6], 16)}/{endpoint}"
        mac, ip, port = words[8].split("/")
        if int(port[:4], 16) == 0:  # a mark of a lane may stand behind it
            return f"{':'.join(mac[i : i + 2] for i in range(0, 12, 2))}/{endpoint}"
        v6 = IPv6Address(int(ip, 16))
        return f"{v6.ipv4_mapped or v6}/{endpoint}"
    except (ValueError, IndexError):
        return address


# ---- for programs --------------------------------------------------------------------------------


def to_json(look: Look) -> dict[str, Any]:
    """All that is known; names and numbers as dictionaries, other tables as lists of rows."""
    return {
        "endpoints": [_view_json(view) for view in look.views],
        "unreadable": [{"pid": pid, "reason": reason} for pid, reason in look.unreadable],
    }


def _view_json(view: View) -> dict[str, Any]:
    tables: dict[str, Any] = {
        name: view.now.values(name) if rows and set(rows[0]) == {"name", "value"} else rows
        for name, rows in view.now.tables.items()
        if name != "endpoint"
    }
    lanes = [text(row, "name") for row in view.now.rows("lanes")]
    # What we say stands last: another program's names cannot take its place.
    return {
        **{key: value for key, value in _endpoint_row(view).items() if key != "name"},
        **tables,
        "pid": view.pid,
        "command": view.command,
        "address": view.address,
        "opened_ns": view.now.opened_ns,
        "published_ns": view.now.published_ns,
        "seen_ns": view.seen_ns,
        "interval_s": view.interval_s,
        "rates_per_s": {
            lane: {column: view.rate("lanes", lane, column) for column in _LANE_RATES}
            for lane in lanes
        },
    }


def _endpoint_row(view: View) -> Row:
    return next(iter(view.now.rows("endpoint")), {})


# ---- for people ----------------------------------------------------------------------------------


def overview(look: Look, width: int) -> list[str]:
    """A line for each process, at most `width` columns wide (80 at least): which it is, which
    program, on which host, and what its endpoints do together."""
    of_process: dict[int, list[View]] = {}
    for view in look.views:
        of_process.setdefault(view.pid, []).append(view)
    if not of_process:
        return render(look)
    rows = [HEADS, *(_process_row(views) for views in of_process.values())]
    # Arguments go before names, and names only where no column is left that can.
    names = min(max(len(_name_of(row[_PROGRAM])) for row in rows), _LONG_NAME)
    going = list(_GOES)
    while going and _too_wide([_with_program(row, " " * names) for row in rows], width) > 0:
        at = rows[0].index(going.pop(0))
        rows = [[*row[:at], *row[at + 1 :]] for row in rows]
    widths = _widths(rows)
    over = _too_wide(rows, width)
    for at, least in _YIELDING.items():
        gives = min(max(over, 0), max(widths[at] - least, 0))
        widths[at] -= gives
        over -= gives
    damaged = [
        f"process {view.pid}: {line}" for view in look.views for line in _damage_of(view.now)
    ]
    return [_row_text(row, widths) for row in rows] + damaged + _unreadable_lines(look)


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _too_wide(rows: Sequence[Sequence[str]], width: int) -> int:
    """So many columns wider than a terminal; 0 or less: it fits."""
    widths = _widths(rows)
    return sum(widths) + _GAP * (len(widths) - 1) - max(width, _NARROWEST)


def _with_program(row: Sequence[str], program: str) -> list[str]:
    return [*row[:_PROGRAM], program, *row[_PROGRAM + 1 :]]


def _name_of(command: str) -> str:
    """The program, without its arguments."""
    return command.partition(" ")[0]


def _shortened(command: str, width: int) -> str:
    """The command in so many columns: its end is left out, but of a name that is too long by itself
    what is in the middle, since names often differ at their ends."""
    if len(command) <= width:
        return command
    name = _name_of(command)
    if len(name) <= width:
        return name if len(name) > width - 2 else f"{command[: width - 1].rstrip()}…"
    head = (width - 1) // 2
    return f"{name[:head]}…{name[len(name) - (width - 1 - head) :]}"


def _process_row(views: Sequence[View]) -> list[str]:
    peers = [row for view in views for row in view.now.rows("peers")]
    rows = [_endpoint_row(view) for view in views]
    connected, known = (
        sum(number(row, name) for row in rows) for name in ("peers_connected", "peers_known")
    )
    sent, received, sent_bytes, received_bytes = (
        sum(
            view.rate("lanes", text(row, "name"), column)
            for view in views
            for row in view.now.rows("lanes")
        )
        for column in ("sent_frames", "received_frames", "sent_bytes", "received_bytes")
    )
    hosts = dict.fromkeys(view.name.rpartition("/")[0] or view.name for view in views)
    return [
        str(views[0].pid),
        views[0].command,
        next(iter(hosts)) + (f" +{len(hosts) - 1}" if len(hosts) > 1 else ""),
        f"{connected}/{known}",
        count_rate_text(sent),
        count_rate_text(received),
        rate_text(sent_bytes + received_bytes),
        str(sum(number(row, "retransmitted_frames") for row in peers)),
    ]


def _row_text(row: Sequence[str], widths: Sequence[int]) -> str:
    words = [
        _shortened(cell, wide).ljust(wide) if at <= _HOST else cell.rjust(wide)
        for at, (cell, wide) in enumerate(zip(row, widths, strict=True))
    ]
    return (" " * _GAP).join(words).rstrip()


def render(look: Look) -> list[str]:
    """All of each endpoint as lines of text, for a terminal or a pipe."""
    lines: list[str] = []
    for view in look.views:
        lines += [*([""] if lines else []), *_view_lines(view)]
    return [*lines, *_unreadable_lines(look)] or [
        "no endpoint is open in any process that you may look at"
    ]


def _damage_of(now: Snapshot) -> list[str]:
    """The links that damage frames, a line each: an interface, and who is at the other end."""
    return [
        f"{text(row, 'name')}: {number(row, 'frames')} frames came damaged"
        for row in now.rows("damage")[:_ROWS_SHOWN]
    ]


def _unreadable_lines(look: Look) -> list[str]:
    return [
        f"process {pid}: its counters cannot be read: {reason}" for pid, reason in look.unreadable
    ]


def _view_lines(view: View) -> list[str]:
    row = _endpoint_row(view)
    since = "average since it was opened"
    if view.before:
        since = f"last {view.interval_s:.1f} s" if view.interval_s else "idle"
    head, place = f"process {view.pid}: ", f"at {view.name}, "
    first = f"{head}{view.command}, at {view.name}"
    if len(first) <= _NARROWEST:
        place = ""
    else:
        first = head + _shortened(view.command, _NARROWEST - len(head))
    about = (
        f"  {place}open for {time_text(view.seen_ns - view.now.opened_ns)}, "
        f"{number(row, 'peers_connected')} of {number(row, 'peers_known')} peers connected; "
        f"rates: {since}"
    )
    lines = [first, *_filled(about, 4)]
    lines += _lane_lines(view)
    lines += _peer_lines(view)
    lines += _list_lines("sent", _types(view, "sent"))
    lines += _list_lines("received", _types(view, "received"))
    counts = list(view.now.values("drops").items())[:_ROWS_SHOWN]
    drops = {name: count for name, count in counts if count}
    shown = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in drops.items())
    said = f"{shown} (since it was opened)" if shown else "nothing"
    return lines + _list_lines("dropped", said)


def _list_lines(name: str, words: str) -> list[str]:
    """A list that goes on below itself where it is long; between what it names, and not in it."""
    items = ", ".join(item.replace(" ", _NO_BREAK) for item in words.split(", "))
    return [line.replace(_NO_BREAK, " ") for line in _filled(f"  {name:<8}  {items}", 12)]


def _filled(text: str, further: int) -> list[str]:
    return textwrap.wrap(
        text,
        _NARROWEST,
        subsequent_indent=" " * further,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _lane_lines(view: View) -> list[str]:
    table = [["lane", "sent", "bytes", "calls", "received", "bytes", "refused", "lost"]]
    for row in view.now.rows("lanes")[:_ROWS_SHOWN]:
        name = text(row, "name")
        rates = [view.rate("lanes", name, column) for column in _LANE_RATES]
        table.append(
            [
                name + (" (down)" if number(row, "down") else ""),
                count_rate_text(rates[0]),
                rate_text(rates[1]),
                count_rate_text(rates[2]),
                count_rate_text(rates[3]),
                rate_text(rates[4]),
                str(number(row, "refused_frames")),
                str(number(row, "dropped_frames")),
            ]
        )
    damaged = [f"  {line}" for line in _damage_of(view.now)]
    missing = [
        f"  without {text(row, 'name')}: {text(row, 'reason')}"
        for row in view.now.rows("missing")[:_ROWS_SHOWN]
    ]
    return _aligned(table) + damaged + missing


def _peer_lines(view: View) -> list[str]:
    peers = view.now.rows("peers")
    if not peers:
        return []
    table = [["peer", "lane", "RTT", "unacked", "waiting", "sent", "again", "probes"]]
    busiest = sorted(
        peers, key=lambda row: -number(row, "sent_frames") - number(row, "accepted_frames")
    )
    for row in busiest[:_PEERS_SHOWN]:
        rtt_ns = number(row, "rtt_ns")
        table.append(
            [
                text(row, "name"),
                # Which lane there is to it, or why there is none.
                text(row, "lane") if text(row, "state") == "connected" else text(row, "state"),
                time_text(rtt_ns) if rtt_ns else "-",
                *(str(number(row, f"{column}_frames")) for column in ("in_flight", "waiting")),
                str(number(row, "sent_frames")),
                str(number(row, "retransmitted_frames")),
                str(number(row, "probes")),
            ]
        )
    more = len(peers) - _PEERS_SHOWN
    return _aligned(table) + ([f"  and {more} peers more: `--json` has them"] if more > 0 else [])


def _types(view: View, column: str) -> str:
    rates = {
        text(row, "name"): view.rate("frames", text(row, "name"), column)
        for row in view.now.rows("frames")[:_ROWS_SHOWN]
    }
    shown = [f"{name} {count_rate_text(rate)}" for name, rate in rates.items() if rate > 0]
    return ", ".join(shown) or "nothing"


def _aligned(table: list[list[str]]) -> list[str]:
    """Columns as wide as they need to be; the first ones are words, numbers stand right. The first
    gives way where all are too wide."""
    widths = _widths(table)
    over = _GAP + _too_wide(table, _NARROWEST)
    widths[0] -= min(max(over, 0), max(widths[0] - _SHORTEST, 0))
    words = 1 if table[0][0] == "lane" else 2
    return [
        "  "
        + "  ".join(
            _shortened(cell, widths[i]).ljust(widths[i]) if i < words else cell.rjust(widths[i])
            for i, cell in enumerate(row)
        ).rstrip()
        for row in table
    ]
