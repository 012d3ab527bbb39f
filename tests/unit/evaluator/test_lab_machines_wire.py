# SPDX-License-Identifier: BSD-3-Clause
"""The switch between the cards of machines."""

import socket

from beowire.places.lab.machines.loop import Loop
from beowire.places.lab.machines.wire import ADDRESSES_MAX, Switch

ONE, OTHER = b"\x02\0\0\0\0\x01", b"\x02\0\0\0\0\x02"


def frame(target: bytes, sender: bytes) -> bytes:
    return target + sender + b"\x88\xb5" + b"data"


def has_come(end: socket.socket) -> bool:
    try:
        return bool(end.recv(64, socket.MSG_DONTWAIT))
    except BlockingIOError:
        return False


def send(loop: Loop, end: socket.socket, data: bytes) -> None:
    end.send(data)
    loop.step(0)


def test_switch__learns_who_is_where_and_forgets_the_first_of_too_many() -> None:
    loop = Loop()
    switch = Switch(loop)
    first, second, third = (switch.port() for _ in range(3))
    send(loop, second, frame(ONE, OTHER))
    assert (has_come(first), has_come(third)) == (True, True)
    send(loop, first, frame(OTHER, ONE))
    assert (has_come(second), has_come(third)) == (True, False)
    made_up = [b"\x06" + number.to_bytes(5, "big") for number in range(ADDRESSES_MAX)]
    for address in made_up:
        send(loop, third, frame(made_up[0], address))  # goes nowhere: it is behind the same port
    assert (has_come(first), has_come(second)) == (False, False)
    send(loop, first, frame(OTHER, ONE))
    assert (has_come(second), has_come(third)) == (True, True)
