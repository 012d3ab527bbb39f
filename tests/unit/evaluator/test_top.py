# SPDX-License-Identifier: BSD-3-Clause
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beowire.counters.stats import Found, parse
from beowire.counters.top import (
    HEADS,
    Look,
    View,
    Watcher,
    overview,
    render,
    short_address,
    to_json,
)
from unit.evaluator.published import ADDRESS, endpoint, file_of, publish, table


@pytest.fixture
def published() -> Iterator[int]:
    descriptor = publish(endpoint(100, at_s=2.0, process=os.getpid()))
    yield descriptor
    os.close(descriptor)


def view(sent: int, at_s: float, before: View | None = None, **more: Any) -> View:
    now = parse(endpoint(sent, at_s=at_s, **more))
    seen_ns = round((at_s + 0.05) * 1e9)
    if before is None:
        return View(42, "exchange eth0", now, seen_ns)
    return View(42, "exchange eth0", now, seen_ns, before.now, before.seen_ns)


def test_view__rates_are_of_the_time_since_the_last_look() -> None:
    first = view(100, 2.0)
    assert first.rate("lanes", "packet/eth0", "sent_frames") == 50.0  # since it was opened
    second = view(400, 3.0, first)
    assert second.interval_s == 1.0
    assert second.rate("lanes", "packet/eth0", "sent_frames") == 300.0
    assert second.rate("lanes", "packet/eth0", "sent_bytes") == 30_000.0
    assert second.rate("frames", "eager", "sent") == 300.0
    assert second.rate("lanes", "nowhere", "sent_frames") == 0.0


def test_view__the_time_in_which_nothing_happened_before_the_last_look_does_not_count() -> None:
    idle = view(100, 2.0)
    long_idle = View(42, "exchange eth0", idle.now, 9_100_000_000, idle.now, idle.seen_ns)
    assert long_idle.interval_s == 0.0
    busy = view(400, 10.0, long_idle)
    assert busy.interval_s == 1.0
    assert busy.rate("lanes", "packet/eth0", "sent_frames") == 300.0


def test_view__nothing_published_since_is_nothing_done() -> None:
    first = view(100, 2.0)
    assert view(100, 2.0, first).rate("lanes", "packet/eth0", "sent_frames") == 0.0


def test_view__a_counter_that_shrinks_has_no_rate() -> None:
    assert view(1, 3.0, view(100, 2.0)).rate("lanes", "packet/eth0", "sent_frames") == 0.0


def test_watcher__remembers_what_it_saw(published: int) -> None:
    watcher = Watcher(os.getpid())
    (first,) = watcher.look().views
    assert first.before is None
    os.pwrite(published, endpoint(300, at_s=3.0, process=os.getpid()), 0)
    (second,) = watcher.look().views
    assert second.before == first.now
    assert second.before_seen_ns == first.seen_ns
    assert second.now.values("counters") == {"message_eager": 300}


def test_watcher__says_what_it_cannot_read() -> None:
    descriptor = publish(b"nonsense")
    try:
        look = Watcher(os.getpid()).look()
    finally:
        os.close(descriptor)
    assert look.views == []
    assert [pid for pid, _ in look.unreadable] == [os.getpid()]
    assert f"process {os.getpid()}: its counters cannot be read" in render(look)[0]
    assert to_json(look)["unreadable"][0]["pid"] == os.getpid()


def test_to_json__has_all_tables_and_rates() -> None:
    said = json.loads(json.dumps(to_json(Look([view(400, 3.0, view(100, 2.0), drops=3)]))))
    (one,) = said["endpoints"]
    assert (one["pid"], one["address"], one["peers_connected"]) == (42, ADDRESS, 1)
    assert one["drops"] == {"key": 3, "data_unknown": 0}
    assert one["counters"] == {"message_eager": 400}
    assert one["lanes"][0]["sent_frames"] == 400
    assert one["frames"][1] == {"name": "ack", "sent": 0, "received": 5}
    assert one["peers"][0]["state"] == "connected"
    assert one["interval_s"] == 1.0
    assert one["rates_per_s"]["packet/eth0"]["sent_frames"] == 300.0
    assert said["unreadable"] == []


def test_to_json__names_of_others_take_no_place_of_ours() -> None:
    ours = ("pid", "command", "address", "seen_ns", "interval_s", "rates_per_s")
    data = file_of(
        {
            **{name: table({"x": 8}, [1]) for name in ours},
            "endpoint": table({"name": 8, "pid": 8, "command": 8}, ["a", 7, 7]),
        }
    )
    (said,) = to_json(Look([View(42, "program", parse(data), 9)]))["endpoints"]
    assert [said[name] for name in ours] == [42, "program", "a", 9, 0.0, {}]


@given(st.data())
def test_render__whatever_tables_there_are(data: st.DataObject) -> None:
    """Of the names that we look for, with columns that we look for, or without."""
    columns = st.dictionaries(
        st.sampled_from(["name", "value", "frames", "reason", "state", "lane", "sent", "rtt_ns"]),
        st.just(8),
        min_size=1,
        max_size=4,
    )
    tables = {}
    for name in data.draw(st.sets(st.sampled_from([*endpoint_tables(), "pid", "command"]))):
        chosen = data.draw(columns)
        row = [
            data.draw(
                st.one_of(
                    st.text(st.characters(codec="utf-8"), max_size=8), st.integers(0, 2**64 - 1)
                )
            )
            for _ in chosen
        ]
        tables[name] = table(chosen, *([row] if chosen else []))
    times = st.integers(0, 2**64 - 1)
    content = file_of(tables, opened_ns=data.draw(times), published_ns=data.draw(times))
    snapshot = parse(content)
    look = Look([View(1, "x", snapshot, data.draw(times), snapshot, data.draw(times))])
    json.dumps(to_json(look), allow_nan=False)
    for line in [*render(look), *overview(look, 80)]:
        assert line.isprintable()


def endpoint_tables() -> list[str]:
    return list(parse(endpoint()).tables)


def test_watcher__of_one_user_only_so_much_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beowire.counters.top._FILES_OF_USER", 3)
    descriptors = [publish(endpoint(1)) for _ in range(5)]
    try:
        look = Watcher(os.getpid()).look()
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    assert len(look.views) == 3
    assert look.unreadable == [(os.getpid(), "its user has 2 more than are read at a time")]


@contextmanager
def files_of(users: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A file of each of these users; the first has sent 0 messages, the next 1, and so on."""
    descriptors = [publish(endpoint(sent)) for sent in range(len(users))]
    found = [
        Found(os.getpid(), descriptor, (0, descriptor), user)
        for descriptor, user in zip(descriptors, users, strict=True)
    ]
    monkeypatch.setattr("beowire.counters.stats.find", lambda _: found)
    try:
        yield
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def sent_of(look: Look) -> list[int]:
    return [view.now.values("counters")["message_eager"] for view in look.views]


@pytest.mark.parametrize("limit", ["_FILES", "_CELLS"])
def test_watcher__of_many_users_only_so_much_is_read__who_has_few_first(
    monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    room = 4 if limit == "_FILES" else 4 * parse(endpoint()).cells
    monkeypatch.setattr(f"beowire.counters.top.{limit}", room)
    watcher = Watcher()
    with files_of([7, 7, 7, 8, 8, 8, 8, 8, 9, 9], monkeypatch):
        look = watcher.look()
        again = watcher.look()
    assert sent_of(look) == [8, 9, 0, 1]  # both of 9, then two of 7
    assert all(view.before for view in again.views)
    assert look.unreadable == [(os.getpid(), "2 users have 6 more than are read of all")]


def test_watcher__subordinate_ids_are_one_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given = tmp_path / "subuid"
    given.write_text("# of whom\nann:100000:65536\nbob:165536:65536\nann:many:1\n")
    monkeypatch.setattr("beowire.counters.top._SUBORDINATE", given)
    monkeypatch.setattr("beowire.counters.top._FILES_OF_USER", 2)
    with files_of([100000, 100001, 165535, 165536, 1000], monkeypatch):
        look = Watcher().look()
    assert sent_of(look) == [3, 4, 0, 1]
    assert look.unreadable == [(os.getpid(), "its user has 1 more than are read at a time")]


def test_render__shows_lanes_peers_frames_and_drops() -> None:
    lines = render(Look([view(400, 3.0, view(100, 2.0), drops=3)]))
    shown = "\n".join(lines)
    assert lines[0] == "process 42: exchange eth0, at 10.77.0.1/4711"
    for words in ("1 of 1 peers connected", "last 1.0 s", "packet/eth0", "300 /s", "30.0 kB/s"):
        assert words in shown
    assert "shm (down)" in shown
    assert "10.77.0.2/0  packet/eth0" in shown
    assert "8.20 µs" in shown
    assert "  sent      eager 300 /s" in lines
    assert "  dropped   key 3 (since it was opened)" in lines


def test_render__80_columns_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = ", ".join(f"kind{number} 12.3 k/s" for number in range(12))
    monkeypatch.setattr("beowire.counters.top._types", lambda *_: kinds)
    lines = render(Look([view(400_000, 3.0, view(100_000, 2.0), drops=3)]))
    assert max(map(len, lines)) <= 80
    (first,) = [at for at, line in enumerate(lines) if line.startswith("  received")]
    assert lines[first + 1].startswith(" " * 12 + "kind")


def test_render__80_columns_are_enough_for_cards_and_hosts_of_long_names() -> None:
    one = view(400_000, 3.0, view(100_000, 2.0))
    for name in ("lanes", "peers"):
        for row in one.now.rows(name):
            if "/" in str(row["name"]):
                row["name"] = str(row["name"]) + "-of-a-long-name"
    lines = render(Look([one]))
    assert max(map(len, lines)) <= 80
    assert any("…" in line and "name" in line for line in lines)


def test_overview__a_line_a_process__which_it_is_first() -> None:
    one = view(400, 3.0, view(100, 2.0))
    other = replace(one, pid=7, command="a" * 200)
    lines = overview(Look([one, replace(one), other], [(9, "nonsense")]), 80)
    assert [line.split()[0] for line in lines[:3]] == ["pid", "42", "7"]
    assert lines[1].split()[:4] == ["42", "exchange", "eth0", "10.77.0.1"]
    # Both of its endpoints together.
    assert "600 /s" in lines[1]
    assert overview(Look([one, replace(one)]), 80)[1].split()[4] == "2/2"
    assert "a…a" in lines[2] and "a  10.77.0.1" in lines[2]
    assert max(map(len, lines[:3])) <= 80
    assert len(overview(Look([other]), 120)[1]) <= 120
    assert lines[3] == "process 9: its counters cannot be read: nonsense"
    assert overview(Look(), 80) == render(Look())


LONG = "exchange_of_long_names-openmpi4"


def test_overview__names_are_whole_where_they_can_be__and_in_their_columns() -> None:
    one = view(400, 3.0, view(100, 2.0))
    looks = [replace(one, pid=pid, command=command) for pid, command in enumerate(
        ("mpi_check-openmpi4 pingpong ordering", "x eth0 1 2 2000 hold and much more of it", "y")
    )]  # fmt: skip
    lines = overview(Look(looks), 80)
    assert max(map(len, lines)) <= 80
    assert "mpi_check-openmpi4" in lines[1] and "pingpong ordering" not in lines[1]
    assert "x eth0 1 2 2000" in lines[2] and "…" in lines[2]
    host, sent = lines[0].index("host"), lines[0].index("sent") + len("sent")
    assert all(line[host:].startswith("10.77.0.1 ") for line in lines[1:])
    assert {line[sent - 2 : sent + 2] for line in lines[1:]} == {"/s  "}
    # Less is said of what has the longer name, and all of it where there is room.
    for width, heads in ((80, "pid program host sent received data"), (130, " ".join(HEADS))):
        lines = overview(Look([replace(one, command=f"{LONG} eth0 1")]), width)
        assert lines[0].split() == heads.split()
        assert max(map(len, lines)) <= width
    assert f"{LONG} eth0 1" in lines[1]


def test_overview__a_name_that_is_too_long__keeps_its_end() -> None:
    one = replace(view(400, 3.0, view(100, 2.0)), command=f"a_program_of_a_name_that_is_{LONG} 7")
    lines = overview(Look([one]), 80)
    assert max(map(len, lines)) <= 80
    assert "a_program" in lines[1] and "…" in lines[1] and "-openmpi4  10.77.0.1" in lines[1]


def test_render__a_long_command__has_its_address_below(monkeypatch: pytest.MonkeyPatch) -> None:
    one = replace(view(400, 3.0, view(100, 2.0)), command=f"{LONG} eth0 1 2 2000 hold and more")
    lines = render(Look([one]))
    assert lines[0] == f"process 42: {one.command}"
    assert lines[1].startswith("  at 10.77.0.1/4711, open for")
    assert max(map(len, lines)) <= 80
    lines = render(Look([replace(one, command=f"{LONG} " + "x" * 80)]))
    assert lines[0].startswith(f"process 42: {LONG} x") and len(lines[0]) <= 80
    monkeypatch.setattr("beowire.counters.top._types", lambda *_: ", ".join(["kind 12.3 k/s"] * 12))
    lines = render(Look([one]))
    assert all(not line.endswith(("kind", "12.3")) for line in lines)


def test_overview__a_host_of_a_long_name_gives_way_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(View, "name", "node-of-a-long-name.cluster.example.org/4711")
    lines = overview(Look([replace(view(100, 2.0), command="a" * 200)]), 80)
    assert max(map(len, lines)) <= 80
    assert "aaa…aaaa  node-of-" in lines[1]


def test_render__lanes_that_are_missing() -> None:
    reason = "as many endpoints of this interface have this lane as may"
    now = parse(endpoint(1, missing=(("tso/eth0", reason),)))
    one = View(42, "exchange eth0", now, 2_000_000_000)
    assert f"  without tso/eth0: {reason}" in render(Look([one]))
    (said,) = json.loads(json.dumps(to_json(Look([one]))))["endpoints"]
    assert said["missing"] == [{"name": "tso/eth0", "reason": reason}]
    assert not any("without" in line for line in render(Look([view(1, 2.0)])))


def test_render__links_that_damage_frames() -> None:
    link = "packet/eth0 from 10.77.0.2/4711"
    now = parse(endpoint(1, damage=((link, 12),)))
    look = Look([View(42, "exchange eth0", now, 2_000_000_000)])
    assert f"  {link}: 12 frames came damaged" in render(look)
    assert f"process 42: {link}: 12 frames came damaged" in overview(look, 80)
    (said,) = json.loads(json.dumps(to_json(look)))["endpoints"]
    assert said["damage"] == [{"name": link, "frames": 12}]
    assert not any("damaged" in line for line in render(Look([view(1, 2.0)])))


def test_render__nothing_has_happened_since() -> None:
    before = view(100, 2.0)
    lines = render(Look([view(100, 2.0, before)]))
    assert lines[1].endswith("rates: idle")
    assert "  sent      nothing" in lines


def test_render__an_endpoint_that_has_done_nothing() -> None:
    lines = render(Look([view(0, 0.0, peers=0)]))
    assert "  sent      nothing" in lines
    assert "  dropped   nothing" in lines
    assert not any("RTT" in line for line in lines)


def test_render__many_peers_the_busiest_first() -> None:
    lines = render(Look([view(10, 1.0, peers=30)]))
    peers = [line.split()[0] for line in lines if line.startswith("  10.77.0.2/")]
    assert peers == [f"10.77.0.2/{number}" for number in range(29, 17, -1)]
    assert "  and 18 peers more: `--json` has them" in lines


def test_render__tables_may_be_missing() -> None:
    assert render(Look([View(1, "x", parse(file_of({})), 0)]))


def test_render__nobody_is_there() -> None:
    assert render(Look()) == ["no endpoint is open in any process that you may look at"]


@pytest.mark.parametrize(
    ("address", "short"),
    [
        (ADDRESS, "10.77.0.1/4711"),
        (
            ADDRESS.replace("00000000000000000000ffff0a4d0001", "fd" + 29 * "0" + "1"),
            "fd00::1/4711",
        ),
        (ADDRESS.rpartition(":")[0], "process 99/4711"),
        (
            ADDRESS.replace("00000000000000000000ffff0a4d0001/0fa0", 32 * "0" + "/0000"),
            "02:00:00:00:00:01/4711",
        ),
        (ADDRESS + "t", "10.77.0.1/4711"),
        ("nonsense", "nonsense"),
        ("a:b:c:d:e:f:g:h", "a:b:c:d:e:f:g:h"),
    ],
)
def test_short_address__where_an_endpoint_is(address: str, short: str) -> None:
    assert short_address(address) == short
