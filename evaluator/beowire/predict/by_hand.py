# SPDX-License-Identifier: BSD-3-Clause
"""Ways that a person describes, without a record: what a paper or a data sheet prints.

link_megabytes_per_s = 118.0  # of a node's link, each way

[[way]]
name = "tcp"                  # the baseline
half_round_trip_us = 44.8     # of a short message; a list of three: median, low, high
megabytes_per_s = 46.7        # of a long one
overhead_us = 15.0            # of that at each end, which computing does not hide (0)
"""

import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from beowire.errors import BeowireError
from beowire.predict.calibrate import VERSIONS, Parameters, Segment, Way, baseline

_TOML = ".toml"


def _three(value: object) -> object:
    """A number stands for three."""
    return value if isinstance(value, list) else [value] * 3


_Three = Annotated[
    list[Annotated[float, Field(ge=0, allow_inf_nan=False)]],
    BeforeValidator(_three),
    Field(min_length=3, max_length=3),
]


class _Way(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    half_round_trip_us: _Three
    megabytes_per_s: _Three
    overhead_us: _Three = Field(default_factory=lambda: [0.0] * 3)

    def parameters(self, at: int, link_megabytes_per_s: float) -> Parameters:
        """Of one version: the quickest messages, `low`, have the highest rate."""
        rate = self.megabytes_per_s[(0, 2, 1)[at]]
        end = min(self.overhead_us[at], self.half_round_trip_us[at] / 2) * 1e3
        segment = Segment(
            first=0,
            send_ns=end,
            isend_ns=end,
            isend_per_byte_ns=0.0,
            receive_ns=end,
            own_per_byte_ns=0.0,
            start_ns=self.half_round_trip_us[at] * 1e3 - 2 * end,
            per_byte_ns=1e3 / rate,
        )
        eager = round(self.half_round_trip_us[0] * link_megabytes_per_s)
        return Parameters([segment], link_megabytes_per_s * 1e6, eager)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    link_megabytes_per_s: float = Field(gt=0, allow_inf_nan=False)
    way: list[_Way] = Field(min_length=1)


def is_by_hand(path: Path) -> bool:
    """Whether the file is such a description, by its name."""
    return path.suffix == _TOML


def ways(path: Path) -> list[Way]:
    """What the file describes. BeowireError."""
    try:
        found = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise BeowireError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BeowireError(f"{path}: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise BeowireError(f"{path}: {where}: {first['msg']}") from None
    if slow := next((way for way in found.way if min(way.megabytes_per_s) <= 0), None):
        raise BeowireError(f"{path}: megabytes_per_s of {slow.name} has to be more than 0")
    names = [way.name for way in found.way]
    if len(set(names)) < len(names):
        raise BeowireError(f"{path}: two ways have the same name")
    return [
        Way(
            way.name,
            {
                version: way.parameters(at, found.link_megabytes_per_s)
                for at, version in enumerate(VERSIONS)
            },
            baseline(way.name, names),
        )
        for way in found.way
    ]
