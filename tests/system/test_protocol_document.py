# SPDX-License-Identifier: BSD-3-Clause
"""docs/protocol-examples.txt is what the code makes, and its hashes are those that docs/PROTOCOL.md
says they are, by another implementation of BLAKE2b.
"""

import re
import subprocess
from hashlib import blake2b

from system.conftest import ROOT
from system.wireshark import PROGRAMS

DOCUMENT = ROOT / "docs" / "PROTOCOL.md"
LINE_CHARACTERS = 100
HASH_BYTES = 16

#: Of a CONNECT or ACCEPT, both headers counted.
BODY, NONCE, PROOF, PLACE, END = 28, 28 + 40, 28 + 56, 28 + 72, 28 + 200
#: Of an address.
INCARNATION, SECRET = slice(8, 16), slice(128, 144)

TEXT = DOCUMENT.read_text(encoding="utf-8")
EXAMPLES = (DOCUMENT.parent / "protocol-examples.txt").read_text(encoding="utf-8")


def examples() -> list[str]:
    """Blocks of lines: what it is, and its bytes."""
    return EXAMPLES.strip().split("\n\n")


def example(beginning: str) -> bytes:
    """Its bytes. Rows that are left out are zeros."""
    (lines,) = [block.splitlines() for block in examples() if block.startswith(beginning)]
    frame = b""
    for line in lines[1:]:
        frame = frame.ljust(int(line[:4]), b"\0") + bytes.fromhex(line[4:])
    return frame


def proof_of(frame: bytes, secret: bytes, asked: bytes = b"") -> bytes:
    nothing = bytes(HASH_BYTES)
    hashed = asked + frame[:PROOF] + nothing + frame[PROOF + HASH_BYTES : END]
    return blake2b(hashed, digest_size=HASH_BYTES, key=secret).digest()


def test_examples__are_what_the_code_makes() -> None:
    made = subprocess.run(
        [str(PROGRAMS / "frame_samples"), "document"], capture_output=True, text=True, check=True
    )
    assert made.stdout == EXAMPLES


def test_incarnation__follows_from_the_secret_in_all_forms_of_an_address() -> None:
    address = example("the address of 4711")
    short = example("the same in its short form")
    text = "".join(
        next(block for block in examples() if block.startswith("the same as text")).splitlines()[1:]
    )
    hashed = blake2b(b"incarnation", digest_size=HASH_BYTES, key=address[SECRET]).digest()

    assert hashed[:8] == address[INCARNATION]
    assert short == address[:8] + address[SECRET] + address[16:32] + address[32:56]
    words = text.split(":")
    assert words[4] == address[INCARNATION][::-1].hex()
    assert words[7] == address[SECRET].hex()


def test_proofs__are_those_of_the_secret_of_the_end_that_was_asked() -> None:
    asked = example("the address of 4711")
    connect = example("CONNECT")
    accept = example("ACCEPT")
    secret = asked[SECRET]

    assert accept[PLACE:] == asked[:128]
    assert connect[PROOF:PLACE] == proof_of(connect, secret)
    assert accept[PROOF:PLACE] == proof_of(accept, secret, connect[NONCE:PROOF])
    # The other end's incarnation, and its own key echoed.
    assert connect[BODY + 8 : BODY + 16] == asked[INCARNATION]
    assert accept[BODY + 20 : BODY + 24] == accept[8:12] == connect[BODY + 16 : BODY + 20]


def crc_32c(text: bytes) -> int:
    """As RFC 3720 has it, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in text:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_checksums__are_of_all_but_themselves() -> None:
    for beginning, at in (
        ("the same EAGER, with a checksum", 24),
        ("the same segment, with a checksum", 16),
    ):
        frame = example(beginning)
        covered = frame[:at] + frame[at + 4 :]
        assert crc_32c(covered) == int.from_bytes(frame[at : at + 4], "little")
    assert crc_32c(b"123456789") == 0xE3069283


def sip_hash(key: bytes, text: bytes) -> bytes:
    """SipHash-2-4 with 16 bytes, as its authors describe it."""
    whole = (1 << 64) - 1
    k = [int.from_bytes(key[at : at + 8], "little") for at in (0, 8)]
    v = [
        k[0] ^ 0x736F6D6570736575,
        k[1] ^ 0x646F72616E646F6D ^ 0xEE,
        k[0] ^ 0x6C7967656E657261,
        k[1] ^ 0x7465646279746573,
    ]

    def rotate(word: int, bits: int) -> int:
        return (word << bits | word >> (64 - bits)) & whole

    def rounds(count: int) -> None:
        for _ in range(count):
            v[0] = (v[0] + v[1]) & whole
            v[1] = rotate(v[1], 13) ^ v[0]
            v[2] = (v[2] + v[3]) & whole
            v[3] = rotate(v[3], 16) ^ v[2]
            v[0] = (rotate(v[0], 32) + v[3]) & whole
            v[3] = rotate(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & whole
            v[1] = rotate(v[1], 17) ^ v[2]
            v[2] = rotate(v[2], 32)

    padded = text + bytes(7 - len(text) % 8) + bytes([len(text) & 0xFF])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    halves = []
    for place, constant in ((2, 0xEE), (1, 0xDD)):
        v[place] ^= constant
        rounds(4)
        halves.append((v[0] ^ v[1] ^ v[2] ^ v[3]).to_bytes(8, "little"))
    return b"".join(halves)


def poly1305(key: bytes, text: bytes) -> bytes:
    """RFC 8439, section 2.5."""
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for at in range(0, len(text), 16):
        block = int.from_bytes(text[at : at + 16] + b"\x01", "little")
        total = (total + block) * r % ((1 << 130) - 5)
    return ((total + int.from_bytes(key[16:], "little")) & ((1 << 128) - 1)).to_bytes(16, "little")


def test_poly1305_and_sip_hash__are_those_of_their_authors() -> None:
    # RFC 8439, section 2.5.2; and the first vector of SipHash-2-4-128.
    key = bytes.fromhex("85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b")
    tag = poly1305(key, b"Cryptographic Forum Research Group")
    assert tag.hex() == "a8061dc1305136c6c22b8baf0c0127a9"
    assert sip_hash(bytes(range(16)), b"").hex() == "a3817f04ba25a8e66df67214c7550293"


def test_seal__is_made_by_the_secret_of_the_receiver() -> None:
    secret = example("the address of 4711")[SECRET]
    nonces = [example(frame)[NONCE:PROOF] for frame in ("CONNECT", "ACCEPT")]
    plain, sealed = example("EAGER"), example("the same EAGER, sealed")
    counter, tag = sealed[BODY : BODY + 8], sealed[BODY + 8 : BODY + 24]
    key = blake2b(
        b"beowire seal 1" + nonces[0] + nonces[1], digest_size=HASH_BYTES, key=secret
    ).digest()
    once = b"".join(sip_hash(key, counter + half.to_bytes(8, "little")) for half in (0, 1))

    assert counter == (1).to_bytes(8, "little")
    assert sealed[0] == 0x3D
    assert sealed[1:BODY] + sealed[BODY + 24 :] == plain[1:]
    assert tag == poly1305(once, sealed[:BODY] + plain[BODY:])


def test_rules__have_each_a_number_of_their_own() -> None:
    numbers = [int(number) for number in re.findall(r"\*\*\s+\(R(\d+)\)", TEXT)]

    assert sorted(numbers) == list(range(1, len(numbers) + 1))


def test_lines__end() -> None:
    long = [
        line
        for line in TEXT.splitlines()
        if len(line) > LINE_CHARACTERS and not line.startswith("|")
    ]
    assert long == []
