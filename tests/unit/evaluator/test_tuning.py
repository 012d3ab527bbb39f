# SPDX-License-Identifier: BSD-3-Clause
import os
import signal
from pathlib import Path

import pytest

from beowire.compare import tuning
from beowire.compare.run import LONGEST_DEADLINE_S, Outcome, Request
from beowire.compare.tuning import Choice, Costs, Work
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from unit.evaluator.fake_engine import FakeLauncher


def of(*costs: float) -> Costs:
    return {("beowire", 8 << index): cost for index, cost in enumerate(costs)}


@pytest.mark.parametrize(
    ("first", "second", "limit"),
    [
        ((1, 2, 3), (2, 2, 2), 16),
        ((1, 1, 1), (2, 2, 2), 32),
        ((3, 1, 1), (2, 2, 2), 0),
        ((1, 3, 1), (2, 2, 2), 8),  # one win further up is luck
        ((1.02, 1.02, 1.05), (1, 1, 1), 16),  # as is so little
    ],
)
def test_crossover__up_to_which_the_first_wins(
    first: tuple[float, ...], second: tuple[float, ...], limit: int
) -> None:
    assert tuning.crossover(of(*first), of(*second), [8, 16, 32]) == limit


def test_choose__the_default_stays_unless_another_is_worth_it() -> None:
    assert tuning.choose({"a": 1.0, "b": 0.98}, "a") == "a"
    assert tuning.choose({"a": 1.0, "b": 0.9}, "a") == "b"
    assert tuning.choose({"a": 0.5, "b": 0.9}, "a") == "a"


def test_mean_cost__no_size_counts_more() -> None:
    assert tuning.mean_cost(of(1, 100)) == pytest.approx(10)
    assert tuning.mean_cost(of(2, 100)) == pytest.approx(tuning.mean_cost(of(1, 200)))


def machine(work: Work) -> Costs:
    """A machine on which everything crosses over at known places."""
    key, _, value = work.settings.rpartition(",")[2].partition("=")
    costs = {}
    for driver in work.drivers.split(","):
        for size in work.sizes:
            cost = 1000.0 + size
            if driver == "tcp":
                cost += 12_345
            if key == "burst_frames":
                cost = size * {"2": 1.2, "3": 1.1, "6": 1.0, "64": 1.5}[value]
            elif key == "eager_bytes":
                cost = size * 2.0 if value != "0" else 8192 + size
            elif key == "bundle_bytes":
                cost = 100.0 + size if value != "0" else 400
            elif key == "unasked_blocks":
                cost = size * {"0": 2.0, "1": 1.0, "2": 1.5, "4": 1.6}[value]
            elif key == "bulk_by_packet":
                cost = size * (1.0 if value == "" else 0.5)
            elif key == "read_bytes":
                assert work.within_host
                assert "eager_bytes=0," in work.settings
                cost = 65536.0 + size / 2 if value == "0" else size
            costs[driver, size] = cost
    return costs


def test_tune__finds_what_the_machine_is_like() -> None:
    found = {choice.key: choice.value for choice in tuning.tune(machine)}
    assert found == {
        "spin_ns": "12000",
        "burst_frames": "6",
        "eager_cut_frames": "256",
        "eager_bytes": "8192",
        "bundle_bytes": "256",
        "unasked_blocks": "1",
        "bulk_by_packet": "all",
        "read_bytes": "131072",
    }


def test_tune__spinning_has_bounds() -> None:
    def quick(work: Work) -> Costs:
        return {key: 100.0 for key in machine(work)}

    assert next(iter(tuning.tune(quick))).value == "4000"


def test_tune__measures_as_often_as_the_time_is_shared() -> None:
    works: list[Work] = []

    def counted(work: Work) -> Costs:
        works.append(work)
        return machine(work)

    assert len(list(tuning.tune(counted))) == 8
    assert len(works) == tuning.RUNS


def test_tune__each_with_what_was_found_before_it() -> None:
    works: list[Work] = []

    def counted(work: Work) -> Costs:
        works.append(work)
        return machine(work)

    choices = list(tuning.tune(counted))
    before = ",".join(
        f"{choice.key}={choice.value}" for choice in choices[:-1] if choice.key != "eager_bytes"
    )
    assert works[-1].settings == f"{before},eager_bytes=0,read_bytes=0"
    assert works[0].settings == ""
    assert works[1].settings == "spin_ns=12000,burst_frames=2"


def test_tune__what_cannot_be_measured_is_left_out__and_the_others_go_on() -> None:
    works: list[Work] = []

    def busy(work: Work) -> Costs:
        works.append(work)
        if max(work.sizes) in (tuning.BULK_SIZES[-1], tuning.EAGER_SIZES[-1]):
            raise tuning.Unmeasured("there was no time", 1)
        return machine(work)

    choices = list(tuning.tune(busy))
    found = {choice.key: choice.value for choice in choices if not choice.left_out}
    assert list(found) == ["spin_ns", "burst_frames", "unasked_blocks", "bundle_bytes"]
    out = [choice for choice in choices if choice.left_out]
    # Half of what belongs together is nothing; read_bytes has sizes as long.
    assert [choice.key for choice in out] == [
        "eager_cut_frames",
        "eager_bytes",
        "bulk_by_packet",
        "read_bytes",
    ]
    assert str(out[1]) == "eager_bytes: left out  (there was no time)"
    # One refusal is enough, and nothing that was left out is tried with what comes after.
    assert len(works) == 1 + 4 + 1 + 4 + 2 + 1 + 1
    assert not any("eager_cut" in work.settings for work in works[6:])
    text = tuning.text_of(out[2:3], "here")
    assert text.endswith("\n# there was no time\n# bulk_by_packet: left out\n")


class Entered(FakeLauncher):
    """Knows when its context was entered, and left."""

    seen: tuple[str, ...] = ()

    def __enter__(self) -> "Entered":
        self.seen += ("entered",)
        return self

    def __exit__(self, *exc: object) -> None:
        self.seen += ("left",)


def test_measuring__all_runs_in_one_context__and_an_interrupt_between_them_ends_it() -> None:
    launcher = Entered()
    work = Work("", "steady", "pingpong", [8])
    with (
        pytest.raises(KeyboardInterrupt),
        Interrupts() as interrupts,
        tuning.measuring(launcher, FakeLauncher(), 0.2, interrupts, "") as measure,
    ):
        for _ in range(2):
            assert measure(work)["steady", 8] > 0
        assert launcher.seen == ("entered",)
        signal.raise_signal(signal.SIGINT)
    assert launcher.seen == ("entered", "left")


def test_beside__what_is_kept_holds_in_each_run() -> None:
    seen = []

    def measure(work: Work) -> Costs:
        seen.append(work.settings)
        return {}

    for settings in ("", "spin_ns=4000"):
        tuning.beside(["authenticate=true"], measure)(Work(settings, "tcp", "stream", [8]))
    assert seen == ["authenticate=true", "authenticate=true,spin_ns=4000"]


def test_write__replaces_only_what_it_wrote(tmp_path: Path) -> None:
    path = tmp_path / "new" / "beowire.conf"
    text = tuning.text_of([Choice("spin_ns", "9000", "because")], "here")
    tuning.check_writable(path)
    tuning.write(path, text)
    assert path.read_text(encoding="utf-8").endswith("\n# because\nspin_ns = 9000\n")
    tuning.check_writable(path)
    tuning.write(path, text)
    assert [each.name for each in path.parent.iterdir()] == ["beowire.conf"]
    path.write_text("spin_ns = 9000\n", encoding="utf-8")
    with pytest.raises(BeowireError, match="was not written by `beowire tune`"):
        tuning.check_writable(path)


def test_check_writable__before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "beowire.conf", tmp_path):
        with pytest.raises(BeowireError, match=r"cannot be written: .*: choose another --out"):
            tuning.check_writable(path)


def test_default_path__of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/somewhere")
    assert tuning.default_path() == Path("/somewhere/beowire/beowire.conf")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    assert tuning.default_path() == Path.home() / ".config/beowire/beowire.conf"


def test_settings__are_there_for_a_run_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEOWIRE_SETTINGS", "mine")
    monkeypatch.delenv("BEOWIRE_CONFIG", raising=False)
    with tuning._settings("theirs"):
        assert (os.environ["BEOWIRE_SETTINGS"], os.environ["BEOWIRE_CONFIG"]) == ("theirs", "")
    assert os.environ["BEOWIRE_SETTINGS"] == "mine"
    assert "BEOWIRE_CONFIG" not in os.environ


def test_text_of__none_is_a_word_and_no_empty_value() -> None:
    choice = tuning.Choice("bulk_by_packet", "", "times")
    assert str(choice) == "bulk_by_packet = none  (times)"
    assert tuning.text_of([choice], "here").endswith("\n# times\n# bulk_by_packet: none\n")
    assert str(tuning.Choice("spin_ns", "5", "a wake-up")) == "spin_ns = 5  (a wake-up)"


def test_measuring__all_runs_share_the_time__with_what_engines_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = 0.0
    given: list[float] = []

    def run(_launcher: object, request: Request, *_words: object, **_more: object) -> Outcome:
        nonlocal clock
        given.append(request.seconds)
        clock += request.seconds + 1.5
        return Outcome([], interrupted=False)

    monkeypatch.setattr(tuning, "run", run)
    monkeypatch.setattr(tuning, "_costs", lambda _path, _work: {})
    monkeypatch.setattr("beowire.compare.tuning.time.monotonic", lambda: clock)
    launcher = FakeLauncher()
    with (
        Interrupts() as interrupts,
        tuning.measuring(launcher, launcher, 60, interrupts, "") as measure,
    ):
        for _ in range(tuning.RUNS):
            measure(Work("", "steady", "pingpong", [8]))
    assert clock == pytest.approx(60, abs=1)
    assert max(given) < 2 * min(given)


def test_measuring__a_run_that_was_too_short_is_repeated_for_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[float] = []

    def run(_launcher: object, request: Request, *_words: object, **_more: object) -> Outcome:
        given.append(request.seconds)
        return Outcome([], interrupted=False)

    def costs(_path: Path, _work: Work) -> Costs:
        if given[0] > 9 or len(given) < 3:
            raise tuning._TooShort("there was no time to measure steady at 8 bytes", 1)
        return {("steady", 8): 1.0}

    monkeypatch.setattr(tuning, "run", run)
    monkeypatch.setattr(tuning, "_costs", costs)
    launcher = FakeLauncher()
    work = Work("", "steady", "pingpong", [8])
    for seconds, refused in ((1.0, False), (400.0, True)):
        given.clear()
        with (
            Interrupts() as interrupts,
            tuning.measuring(launcher, launcher, seconds, interrupts, "") as measure,
        ):
            if refused:
                with pytest.raises(BeowireError, match="no time to measure"):
                    measure(work)
            else:
                assert measure(work)["steady", 8] == 1.0
            assert len(given) == 3  # the last with all that was left
        assert given[0] < given[1]
        assert given == sorted(given)
        assert sum(given[1:]) <= max(seconds, 60.0)


def test_measuring__what_takes_seconds__is_not_taken_for_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Request] = []

    def run(_launcher: object, request: Request, *_words: object, **_more: object) -> Outcome:
        asked.append(request)
        return Outcome(["beowire failed on node0: it is gone"], interrupted=False)

    monkeypatch.setattr(tuning, "run", run)
    launcher = FakeLauncher()
    with (
        Interrupts() as interrupts,
        tuning.measuring(launcher, launcher, 20, interrupts, "") as measure,
        pytest.raises(tuning.Unmeasured, match="it is gone") as failed,
    ):
        measure(Work("", "steady", "pingpong", [8]))
    assert failed.value.exit_code == 1
    (request,) = asked  # what has failed would fail again
    assert request.least_deadline_s == LONGEST_DEADLINE_S
