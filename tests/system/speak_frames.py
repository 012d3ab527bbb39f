# SPDX-License-Identifier: BSD-3-Clause
"""Says whatever it is told to, by UDP and in Ethernet frames, and hears what comes to its host.

Runs in a node of a lab, and needs nothing but Python. It begins with a line of JSON that says where
it is: {"mac", "ip", "port"}. Then it answers each line of its input with one of its own:

{"datagrams": [[IP, PORT, HEX], ...]}    sends these from its socket, one after the other
{"frames": [HEX, ...]}                   sends these, Ethernet's header included
{"heard": true}                          all that has come so far, also what is for other hosts and
                                         comes this way: [[WAY, HEX], ...], WAY being "udp" or
                                         "ethernet", HEX what is behind the headers of that
"""

import fcntl
import json
import socket
import struct
import sys
import threading
import time
from pathlib import Path

_INTERFACE = "eth0"
_ETHERTYPE = 0x88B5
_ALL_PROTOCOLS = 3
_SIOCGIFADDR = 0x8915
_OUTGOING = 4
_UDP = 17
_PAUSE_S = 0.0002

Heard = list[tuple[str, str]]


def _listen(ears: socket.socket, heard: Heard) -> None:
    while True:
        data, (_, protocol, kind, *_) = ears.recvfrom(65536)
        if kind == _OUTGOING:
            continue
        if protocol == _ETHERTYPE:
            heard.append(("ethernet", data[14:].hex()))
        elif protocol == 0x0800 and data[14 + 9] == _UDP:
            udp = data[14 + 4 * (data[14] & 15) :]
            heard.append(("udp", udp[8 : struct.unpack_from("!H", udp, 4)[0]].hex()))


def main() -> None:
    heard: Heard = []
    ears = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    ears.bind((_INTERFACE, _ALL_PROTOCOLS))
    threading.Thread(target=_listen, args=(ears, heard), daemon=True).start()
    mouth = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asked = fcntl.ioctl(mouth, _SIOCGIFADDR, struct.pack("256s", _INTERFACE.encode()))
    ip = socket.inet_ntoa(asked[20:24])
    mouth.bind((ip, 0))
    mac = Path(f"/sys/class/net/{_INTERFACE}/address").read_text(encoding="ascii").strip()
    print(json.dumps({"mac": mac, "ip": ip, "port": mouth.getsockname()[1]}), flush=True)
    for line in sys.stdin:
        words = json.loads(line)
        for to, port, data in words.get("datagrams", []):
            mouth.sendto(bytes.fromhex(data), (to, port))
            time.sleep(_PAUSE_S)
        for data in words.get("frames", []):
            ears.send(bytes.fromhex(data))
            time.sleep(_PAUSE_S)
        print(json.dumps(list(heard) if words.get("heard") else []), flush=True)


if __name__ == "__main__":
    main()
