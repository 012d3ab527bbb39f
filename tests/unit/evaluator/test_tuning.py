# SPDX-License-Identifier: BSD-3-Clause
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from beowire.compare import tuning
from beowire.compare.tuning import Choice, Costs, Work
from beowire.conduct.session import session_of
from beowire.conduct.survey import Survey
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.launch.base import Launcher, Node
from beowire.record.lines import DriverInfo, NodeEnd
from unit.evaluator.fake_launcher import FakeLauncher


def of(*costs: float) -> dict[int, float]:
    return {8 << index: cost for index, cost in enumerate(costs)}


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
    assert tuning.crossover(of(*first), of(*second)) == limit


def test_choose__the_default_stays_unless_another_is_worth_it() -> None:
    assert tuning.choose({"a": 1.0, "b": 0.98}, "a") == "a"
    assert tuning.choose({"a": 1.0, "b": 0.9}, "a") == "b"
    assert tuning.choose({"a": 0.5, "b": 0.9}, "a") == "a"


def machine(work: Work) -> Costs:
    """A machine on which everything crosses over at known places."""
    costs = {}
    for driver in work.drivers:
        key, _, value = driver.rpartition(":")[2].rpartition(",")[2].partition("=")
        for size in work.sizes:
            cost = 1000.0 + size
            if driver == "tcp":
                cost += 12_345
            if key == "burst_frames":
                cost = size * {"2": 1.2, "3": 1.1, "6": 1.0, "64": 1.5}[value]
            elif key == "eager_bytes":
                cost = size * 2.0 if value != "0" else 8192 + size
            elif key == "bundle_bytes":
                assert work.pattern == "stream"
                cost = 100.0 + size if value != "0" else 400
            elif key == "read_bytes":
                assert work.within_host
                assert "eager_bytes=0," in driver
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
        "read_bytes": "131072",
    }


def test_tune__spinning_has_bounds() -> None:
    def quick(work: Work) -> Costs:
        return {key: 100.0 for key in machine(work)}

    assert next(iter(tuning.tune(quick))).value == "4000"


def test_tune__each_with_what_is_kept__and_what_was_found_before_it() -> None:
    works: list[Work] = []

    def counted(work: Work) -> Costs:
        works.append(work)
        return machine(work)

    choices = list(tuning.tune(counted, ["authenticate=true"]))
    before = [f"{choice.key}={choice.value}" for choice in choices[:-1]]
    assert works[0].settings == "authenticate=true"
    assert works[1].settings == "authenticate=true,spin_ns=12000"
    assert works[-1].settings == ",".join(["authenticate=true", *before])


def test_tune__what_cannot_be_measured_is_left_out__and_the_others_go_on() -> None:
    works: list[Work] = []

    def busy(work: Work) -> Costs:
        works.append(work)
        if len(work.sizes) > 4:
            raise tuning.Unmeasured("there was no time", 1)
        return machine(work)

    choices = list(tuning.tune(busy))
    found = {choice.key: choice.value for choice in choices if not choice.left_out}
    assert list(found) == ["spin_ns", "burst_frames", "bundle_bytes"]
    out = [choice for choice in choices if choice.left_out]
    # Half of what belongs together is nothing; read_bytes has as many sizes.
    assert [choice.key for choice in out] == ["eager_cut_frames", "eager_bytes", "read_bytes"]
    assert str(out[1]) == "eager_bytes: left out  (there was no time)"
    # Nothing that was left out is tried with what comes after.
    assert len(works) == len(tuning.COMPARISONS)
    assert "eager_cut" not in works[-1].settings
    text = tuning.text_of(out[2:3], "here")
    assert text.endswith("\n# there was no time\n# read_bytes: left out\n")


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
    work = Work(["steady", "slow"], [8])
    with (
        pytest.raises(KeyboardInterrupt),
        Interrupts() as interrupts,
        tuning.measuring(launcher, FakeLauncher(), 0.2, interrupts, "") as measure,
    ):
        for _ in range(2):
            costs = measure(work)
            assert 0 < costs["steady", 8] < costs["slow", 8]
        assert launcher.seen == ("entered",)
        signal.raise_signal(signal.SIGINT)
    assert launcher.seen == ("entered", "left")


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
    with tuning._settings("theirs=1"):
        assert (os.environ["BEOWIRE_SETTINGS"], os.environ["BEOWIRE_CONFIG"]) == ("theirs=1", "")
    assert os.environ["BEOWIRE_SETTINGS"] == "mine"
    assert "BEOWIRE_CONFIG" not in os.environ


def test_tuned_session__its_engines_have_the_settings_of_its_name() -> None:
    class Seeing(FakeLauncher):
        seen: tuple[str, ...] = ()

        def start(self, node: Node, *, cpu: str | None = None) -> "subprocess.Popen[bytes]":
            self.seen += (os.environ["BEOWIRE_SETTINGS"],)
            return super().start(node, cpu=cpu)

    launcher = Seeing()
    info = DriverInfo(
        name="tuned:eager_bytes=0,spin_ns=4000",
        summary="",
        placement="pair",
        reliable=True,
        spins=True,
        min_size=1,
        max_size=8,
        ready=True,
    )
    with Interrupts() as interrupts, tuning._settings("eager_bytes=8,authenticate=true"):
        session = session_of(info, launcher, interrupts)
        try:
            session.start_engines((None, None))
        finally:
            session.end()
    assert session.engine_driver == "beowire"
    # A key that is there twice would be refused.
    assert launcher.seen == ("eager_bytes=0,authenticate=true,spin_ns=4000",) * 2


def with_runs(
    monkeypatch: pytest.MonkeyPatch, run: Callable[[Survey, float], Costs]
) -> Callable[[float], AbstractContextManager[tuning.Measure]]:
    """What makes a `measure` for some seconds, whose runs are these."""
    launcher = FakeLauncher()
    ends = [NodeEnd(node=node.name, interface="eth0") for node in launcher.nodes]
    monkeypatch.setattr(tuning, "survey", lambda *_words, **_more: Survey(ends, []))
    monkeypatch.setattr(
        tuning, "_run", lambda _launcher, found, _work, seconds, _interrupts: run(found, seconds)
    )

    @contextmanager
    def measuring(seconds: float) -> Iterator[tuning.Measure]:
        with (
            Interrupts() as interrupts,
            tuning.measuring(launcher, launcher, seconds, interrupts, "") as measure,
        ):
            yield measure

    return measuring


def test_measuring__all_runs_share_the_time__between_hosts_and_within_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[float] = []
    interfaces: list[str | None] = []

    def run(found: Survey, seconds: float) -> Costs:
        given.append(seconds)
        interfaces.append(found.ends[1].interface)
        return {}

    with with_runs(monkeypatch, run)(60) as measure:
        for one in tuning.COMPARISONS:
            measure(one.work)
    assert sum(given) == pytest.approx(60)
    assert interfaces == [*["eth0"] * (len(given) - 1), "lo"]


def test_measuring__a_run_that_was_too_short_is_repeated_for_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[float] = []
    enough = 3

    def run(_found: Survey, seconds: float) -> Costs:
        given.append(seconds)
        if len(given) < enough:
            raise tuning._TooShort("there was no time to measure steady at 8 bytes", 1)
        return {("steady", 8): 1.0}

    measuring = with_runs(monkeypatch, run)
    work = Work(["steady"], [8])
    with measuring(20.0) as measure:
        assert measure(work)["steady", 8] == 1.0
    assert len(given) == enough
    given.clear()
    enough = 100
    with measuring(20.0) as measure, pytest.raises(BeowireError, match="no time to measure"):
        measure(work)
    assert given[0] < given[1]
    assert given[:-1] == sorted(given[:-1])  # the last with all that was left
    assert sum(given[1:]) <= 60.0


def test_measuring__a_driver_that_fails__is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    launcher = FakeLauncher()
    given: list[float] = []
    real = tuning._run

    def run(
        launcher: Launcher, found: Survey, work: Work, seconds: float, interrupts: Interrupts
    ) -> Costs:
        given.append(seconds)
        return real(launcher, found, work, seconds, interrupts)

    monkeypatch.setattr(tuning, "_run", run)
    with (
        Interrupts() as interrupts,
        tuning.measuring(launcher, launcher, 20, interrupts, "") as measure,
        pytest.raises(tuning.Unmeasured, match="dies failed on ") as failed,
    ):
        measure(Work(["steady", "dies"], [8]))
    assert failed.value.exit_code == 1
    assert len(given) == 1  # what has failed would fail again
