# SPDX-License-Identifier: BSD-3-Clause
import pytest

from beowire.errors import BeowireError
from beowire.plan import selection
from beowire.record.lines import DriverInfo


def _driver(name: str, reason: str = "") -> DriverInfo:
    members: dict[str, object] = {
        "name": name,
        "summary": "",
        "placement": "pair",
        "reliable": True,
        "spins": False,
        "min_size": 1,
        "max_size": 1 << 20,
        "ready": not reason,
        "reason": reason,
    }
    return DriverInfo.model_validate(members)


TCP, UDP, NAGLE = _driver("tcp"), _driver("udp"), _driver("tcp-nagle")
FI_TCP, FI_SHM = _driver("fi-tcp"), _driver("fi:shm")
OWN = _driver("my-protocol")
PACKET = _driver("packet", "node0: needs CAP_NET_RAW")
SCTP = _driver("sctp", "node0: this kernel has no SCTP")
KNOWN = [TCP, UDP, NAGLE, FI_TCP, FI_SHM, PACKET, SCTP]


def _names(text: str | None, known: list[DriverInfo] | None = None) -> list[str]:
    chosen, _ = selection.choose_drivers(KNOWN if known is None else known, text)
    return [one.name for one in chosen]


def test_choose__nothing_said__the_usual_ones_that_are_ready() -> None:
    chosen, skipped = selection.choose_drivers(KNOWN, None)
    assert chosen == [TCP, UDP, FI_TCP]
    assert [(one.driver, one.reason) for one in skipped] == [("packet", PACKET.reason)]


def test_choose__nothing_said__what_no_group_knows_too() -> None:
    assert _names(None, [TCP, OWN]) == ["tcp", "my-protocol"]


def test_choose__own_ones_besides() -> None:
    chosen, _ = selection.choose_drivers([*KNOWN, OWN], "udp", ["my-protocol"])
    assert [one.name for one in chosen] == ["udp", "my-protocol"]
    chosen, _ = selection.choose_drivers([TCP, NAGLE, OWN], None, ["tcp-nagle"])
    assert [one.name for one in chosen] == ["tcp", "my-protocol", "tcp-nagle"]
    chosen, _ = selection.choose_drivers([PACKET, OWN], None, ["my-protocol"])
    assert [one.name for one in chosen] == ["my-protocol"]


def test_choose__own_one_that_is_not_ready_says_why() -> None:
    with pytest.raises(BeowireError, match="driver sctp is not ready: node0: this kernel"):
        selection.choose_drivers(KNOWN, "tcp", ["sctp"])


def test_choose__group__those_that_are_ready_once() -> None:
    chosen, skipped = selection.choose_drivers(KNOWN, "tcp,sockets")
    assert chosen == [TCP, UDP, NAGLE]
    assert [one.driver for one in skipped] == ["sctp"]


def test_choose__all() -> None:
    assert _names("all") == ["tcp", "udp", "tcp-nagle", "fi-tcp", "fi:shm"]


def test_choose__group_of_which_none_is_ready_says_why() -> None:
    with pytest.raises(BeowireError, match="no driver of frames can run here: packet: node0"):
        selection.choose_drivers(KNOWN, "frames")
    with pytest.raises(BeowireError, match="no driver of ucx can run here: none is installed"):
        selection.choose_drivers(KNOWN, "ucx")


def test_choose__unknown_lists_what_exists() -> None:
    with pytest.raises(
        BeowireError, match="no driver 'tpc': there are tcp, packet; groups"
    ) as caught:
        selection.choose_drivers([TCP, PACKET], "tpc")
    assert caught.value.exit_code == 2


def test_choose__unknown_among_many_names_what_is_near() -> None:
    many = [TCP, PACKET, *(TCP.model_copy(update={"name": f"x{number}"}) for number in range(20))]
    meant = r"no driver 'tpc': did you mean tcp\? `beowire drivers` lists them; groups are mem"
    with pytest.raises(BeowireError, match=meant):
        selection.choose_drivers(many, "tpc")
    with pytest.raises(
        BeowireError, match="no driver 'qqq': `beowire drivers` lists them; groups are memory"
    ):
        selection.choose_drivers(many, "qqq")


def test_choose__named_but_not_ready_says_why() -> None:
    with pytest.raises(BeowireError, match="packet is not ready: node0: needs CAP_NET_RAW"):
        selection.choose_drivers([TCP, PACKET], "tcp,packet")


def test_choose__named_in_a_file_that_cannot_be_loaded_says_why() -> None:
    ucx, verbs = (
        _driver(name, "it cannot be loaded: no libother.so.0") for name in ("ucx", "verbs")
    )
    with pytest.raises(BeowireError, match="driver ucx is not ready: it cannot be loaded: no lib"):
        selection.choose_drivers([TCP, ucx, verbs], "tcp,ucx:tcp")
    with pytest.raises(BeowireError, match="driver verbs is not ready: it cannot be loaded"):
        selection.choose_drivers([TCP, ucx, verbs], "verbs-send-events")
    # One that could say its name is another, whether it is ready or not.
    sctp = SCTP.model_copy(update={"summary": "SCTP"})
    for word in ("tcp-warp", "sctp-warp", "ucxx"):
        with pytest.raises(BeowireError, match=f"no driver '{word}': there are tcp, sctp, ucx;"):
            selection.choose_drivers([TCP, sctp, ucx], word)


def test_choose__none_ready_says_why() -> None:
    with pytest.raises(BeowireError, match="no driver can run here: packet: node0"):
        selection.choose_drivers([PACKET], None)


def test_choose__names_count_once_and_keep_their_order() -> None:
    assert _names("udp, tcp,udp") == ["udp", "tcp"]


def test_choose__other_name_of_a_driver() -> None:
    assert _names("fi:tcp,fi:shm") == ["fi-tcp", "fi:shm"]


def test_groups__have_no_drivers_name_and_know_the_usual_ones() -> None:
    assert not set(selection.DEFAULT) & set(selection.GROUPS)
    assert all(selection.group_of(name) for name in selection.DEFAULT)
    assert selection.group_of("beowire-shm") == "host"
    assert selection.group_of("fi:beowire") == "libfabric"
    assert selection.group_of("my-protocol") is None


def test_choose__library_that_is_missing_on_a_host_is_no_news_by_default() -> None:
    _, skipped = selection.choose_drivers([TCP, _driver("ucx", "no libucp.so.0")], None)
    assert skipped == []


def test_choose__what_a_word_for_several_stands_for_need_not_be_ready() -> None:
    names = "tcp,packet"
    chosen, skipped = selection.choose_drivers([TCP, PACKET], names, typed="both")
    assert (chosen, [one.driver for one in skipped]) == ([TCP], ["packet"])
    with pytest.raises(BeowireError, match="packet is not ready"):
        selection.choose_drivers([TCP, PACKET], names, typed="both, packet")
    with pytest.raises(BeowireError, match="no driver of both can run here: packet: node0: needs"):
        selection.choose_drivers([TCP, PACKET], "packet", typed="both")
