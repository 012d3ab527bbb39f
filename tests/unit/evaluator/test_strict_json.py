# SPDX-License-Identifier: BSD-3-Clause
import pytest

from beowire.record import strict_json


def test_loads__says_what_is_no_number() -> None:
    assert strict_json.loads(b'{"a": [1, 2.5, null]}') == ({"a": [1, 2.5, None]}, [])
    value, found = strict_json.loads('{"a": NaN, "b": [-Infinity, Infinity], "c": "NaN"}')
    assert found == ["NaN", "-Infinity", "Infinity"]
    assert value == {"a": None, "b": [None, None], "c": "NaN"}


@pytest.mark.parametrize("text", ["", "{", "1 2", b"\xff"])
def test_loads__of_what_is_none(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        strict_json.loads(text)
