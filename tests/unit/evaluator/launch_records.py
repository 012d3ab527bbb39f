# SPDX-License-Identifier: BSD-3-Clause
"""Records whose launches found what a test says, and nothing else of interest."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import numpy as np
import numpy.typing as npt

from beowire.record.lines import Line, Meta, Result, Skipped, Summary
from unit.evaluator import synthetic_record

Floats = npt.NDArray[np.float64]

SIZES = (8, 1024, 65536)


def flat(value: float, launches: int, seed: int, sizes: int = len(SIZES)) -> Floats:
    """[launch, size]: launches that differ by 0.5 %."""
    random = np.random.default_rng(seed)
    return np.asarray(value * np.exp(0.005 * random.normal(size=(launches, sizes))))


def write(
    directory: Path,
    found: Mapping[str, Floats],
    *,
    sizes: Sequence[int] = SIZES,
    minutes: float = 0,
    pattern: str = "pingpong",
    failed: Mapping[str, str] | None = None,
    skipped: Sequence[Skipped] = (),
    p99: float | None = None,
    **link: object,
) -> Path:
    """A record with a median [launch, size] of each driver, in ns or bytes per second; of `failed`
    drivers with that status, `p99` times of medians their 99th percentiles. It was begun so many
    minutes after others. Returns its path."""
    directory.mkdir(parents=True, exist_ok=True)
    template = synthetic_record.lines(tuple(found), sizes=(8,), samples=40)
    meta, end = template[0], template[-1]
    assert isinstance(meta, Meta)
    lines: list[Line] = [
        meta.model_copy(
            update={
                "started": synthetic_record.STARTED + timedelta(minutes=minutes),
                "link": meta.link.model_copy(update=link),
            }
        )
    ]
    for driver, values in found.items():
        like = next(
            one
            for one in template
            if isinstance(one, Result) and (one.driver, one.pattern) == (driver, pattern)
        )
        for (launch, at), value in np.ndenumerate(values):
            lines.append(
                like.model_copy(
                    update={
                        "size": sizes[at],
                        "launch": launch + 1,
                        "status": (failed or {}).get(driver, "ok"),
                        _field(like): _summary(float(value), p99),
                    }
                )
            )
    return synthetic_record.write(directory / "record.jsonl", [*lines, *skipped, end])


def _field(result: Result) -> str:
    return "rate_bytes_per_s" if result.half_rtt_ns is None else "half_rtt_ns"


def _summary(value: float, p99: float | None) -> Summary:
    tail = None if p99 is None else p99 * value
    return Summary(median=value, ci95=None, p90=None, p99=tail, min=value, max=value)
