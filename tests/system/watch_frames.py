# SPDX-License-Identifier: BSD-3-Clause
"""Sees all that goes to a host, and sends it whatever it is told to.

watch_frames.py PORT runs in the switch of a lab, where somebody on the path would be; PORT is that
of the host. Needs nothing but Python. It prints a line when it has begun to watch. Then it answers
each line of its input with one of its own:

{"seen": true}             packets that have gone to the host, Ethernet's header included, of each
                           type of frame the last that came each way: [HEX, ...]
{"packets": [HEX, ...]}    sends these to the host as they are, one after the other
"""

import json
import socket
import sys
import threading
import time
from collections import defaultdict, deque

_ALL_PROTOCOLS = 3
_ETHERTYPE = 0x88B5
_IPV4 = 0x0800
_OUTGOING = 4
_UDP = 17
_UDP_AT = 14 + 20
_LONGEST = 1514  # longer ones have not been cut yet
_KEPT = 20
_PAUSE_S = 0.0002

Seen = dict[tuple[str, int], deque[bytes]]


def _watch(wire: socket.socket, seen: Seen) -> None:
    while True:
        data, (_, protocol, kind, *_) = wire.recvfrom(65536)
        if kind != _OUTGOING or len(data) > _LONGEST:
            continue
        if protocol == _ETHERTYPE:
            seen["ethernet", data[14 + 1]].append(data)
        elif protocol == _IPV4 and data[14 + 9] == _UDP and len(data) > _UDP_AT + 8 + 1:
            # Whoever sends leaves the checksum to the network card: 0 says that there is none.
            whole = data[: _UDP_AT + 6] + bytes(2) + data[_UDP_AT + 8 :]
            seen["udp", data[_UDP_AT + 8 + 1]].append(whole)


def main() -> None:
    seen: Seen = defaultdict(lambda: deque(maxlen=_KEPT))
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    wire.bind((sys.argv[1], _ALL_PROTOCOLS))
    threading.Thread(target=_watch, args=(wire, seen), daemon=True).start()
    print(flush=True)
    for line in sys.stdin:
        words = json.loads(line)
        for packet in words.get("packets", []):
            wire.send(bytes.fromhex(packet))
            time.sleep(_PAUSE_S)
        found = [packet.hex() for kept in list(seen.values()) for packet in list(kept)]
        print(json.dumps(found if words.get("seen") else []), flush=True)


if __name__ == "__main__":
    main()
