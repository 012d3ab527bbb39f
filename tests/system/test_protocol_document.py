# SPDX-License-Identifier: BSD-3-Clause
"""What docs/PROTOCOL.md shows is what the code makes; and the hashes in it are those that the
document says they are, by another implementation of BLAKE2b.
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


def examples() -> list[str]:
    """The blocks of the chapter that has them."""
    chapter = TEXT.split("\n## Examples\n")[1].split("\n## ")[0]
    return re.findall(r"^```text\n(.*?)\n```$", chapter, re.MULTILINE | re.DOTALL)


def example(beginning: str) -> bytes:
    (lines,) = [block.splitlines() for block in examples() if block.startswith(beginning)]
    return b"".join(bytes.fromhex(line[4:]) for line in lines[1:])


def proof_of(frame: bytes, secret: bytes, asked: bytes = b"") -> bytes:
    nothing = bytes(HASH_BYTES)
    hashed = asked + frame[:PROOF] + nothing + frame[PROOF + HASH_BYTES : END]
    return blake2b(hashed, digest_size=HASH_BYTES, key=secret).digest()


def test_examples__are_what_the_code_makes() -> None:
    made = subprocess.run(
        [str(PROGRAMS / "frame_samples"), "document"], capture_output=True, text=True, check=True
    )
    assert examples() == made.stdout.strip().split("\n\n")


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
