# SPDX-License-Identifier: BSD-3-Clause
import os
import signal

import pytest

from beowire.interrupts import Interrupts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupts__all_signals_are_one_exception(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_DFL)  # nohup makes it ignored
    try:
        with Interrupts(), pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    finally:
        signal.signal(number, before)


def test_interrupts__under_nohup_a_hangup_is_nothing() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts():
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_held__raises_at_the_end() -> None:
    done = False
    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt), interrupts.held():
        with interrupts.held():
            os.kill(os.getpid(), signal.SIGTERM)
        done = True
    assert done


def test_interrupts__are_raised_only_once() -> None:
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        with interrupts.held():
            os.kill(os.getpid(), signal.SIGINT)


def test_hold__is_for_good() -> None:
    with Interrupts() as interrupts:
        interrupts.hold()
        os.kill(os.getpid(), signal.SIGTERM)
        with interrupts.held():
            os.kill(os.getpid(), signal.SIGTERM)


def test_interrupts__gives_the_handlers_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with Interrupts():
        pass
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
