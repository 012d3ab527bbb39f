# SPDX-License-Identifier: BSD-3-Clause
"""For all Python tests: tests that are ended from outside still undo what they did, and long ones
run when BEOWIRE_TEST_LONG is set (by `make test-long`), or when `-m long` asks for them."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

ROOT = Path(__file__).resolve().parent.parent

set_hypothesis_home_dir(ROOT / "build" / "cache" / "hypothesis")
# An example that others keep from its core for 0.2 s is no failure.
settings.register_profile(
    "patient",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=200 if os.environ.get("BEOWIRE_TEST_LONG") else 40,
)
settings.load_profile("patient")


def pytest_configure(config: pytest.Config) -> None:
    """Makes SIGTERM (make was killed) end the run as Ctrl-C does: fixtures are torn down."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt(f"signal {number}")

    signal.signal(signal.SIGTERM, interrupt)
    os.environ["BEOWIRE_CONFIG"] = ""  # what the user has tuned does not count here
    # A shell starts background jobs with Ctrl-C ignored, and children inherit that: tests that
    # send it would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Likewise nohup(1), with the signal that it is named after.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("BEOWIRE_TEST_LONG") or config.getoption("markexpr"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]
