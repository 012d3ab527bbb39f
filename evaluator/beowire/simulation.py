# SPDX-License-Identifier: BSD-3-Clause
"""Runs of the simulator: seeds shared out among processes, and what came of them all.

`beowire-simulate` runs its seeds one after the other, and prints a JSON object a line for each.
One that breaks an invariant ends its process, which costs that seed alone: another process goes on
behind it.
"""

import hashlib
import json
import queue
import shlex
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from beowire.errors import BeowireError

#: Counts that are added up over seeds.
SUMS = (
    "messages",
    "delivered",
    "failed",
    "lost",
    "duplicated",
    "corrupted",
    "hung",
    "disordered",
    "wrong",
    "frames",
    "retransmitted",
)

#: Seeds that one process is given: few enough that all jobs end at about the same time.
_BLOCK = 20

#: Seeds that failed of which the summary says why.
_SHOWN = 10


@dataclass(frozen=True)
class Failure:
    """A seed that went wrong, why, its trace (empty if it broke off), and how to have it again."""

    seed: int
    reason: str
    trace_hash: str
    replay: str


@dataclass
class Outcome:
    """What came of all seeds; added to by several threads, under a lock."""

    seeds: int = 0
    sums: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    seeds_with: Counter[str] = field(default_factory=Counter)
    work: Counter[str] = field(default_factory=Counter)
    hashes: dict[int, str] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    def add(self, result: Mapping[str, Any], replay: str) -> None:
        """Takes one line of the simulator."""
        self.seeds += 1
        self.sums.update({name: int(result.get(name, 0)) for name in SUMS})
        self.faults.update(result.get("faults", {}))
        self.seeds_with.update(name for name, n in result.get("faults", {}).items() if n)
        self.work.update(result.get("work", {}))
        trace_hash = str(result.get("trace_hash", ""))
        self.hashes[int(result["seed"])] = trace_hash
        if reason := result.get("failure"):
            self.failures.append(Failure(int(result["seed"]), str(reason), trace_hash, replay))

    def trace_hash(self) -> str:
        """Of one seed its own; of several a digest of theirs, in order."""
        if len(self.hashes) == 1:
            return next(iter(self.hashes.values()))
        text = " ".join(f"{seed}:{self.hashes[seed]}" for seed in sorted(self.hashes))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_json(self, first_seed: int) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "seed": first_seed,
            "seeds": self.seeds,
            **{name: self.sums[name] for name in SUMS},
            "trace_hash": self.trace_hash(),
            "faults": dict(self.faults),
            "work": dict(self.work),
            "failures": [vars(one) for one in sorted(self.failures, key=lambda one: one.seed)],
        }

    def lines(self) -> list[str]:
        """The summary for people."""
        s, w = self.sums, self.work
        happened = [
            f"{name} {count} ({self.seeds_with[name]})"
            for name, count in self.faults.items()
            if count
        ]
        lines = [
            f"{_count(self.seeds, 'seed')}, {_count(s['messages'], 'message')}: "
            f"{s['delivered']} delivered; {_count(s['failed'], 'operation')} ended with the right"
            f" error; {s['retransmitted']} of {_count(s['frames'], 'frame')} sent again",
            f"remote memory: {_count(w['puts'], 'put')}, {_count(w['gets'], 'get')},"
            f" {_count(w['atomics'], 'atomic operation')}; {w['remote_refused']} refused as they"
            " had to be",
            "faults (in so many seeds): " + (", ".join(happened) or "none"),
            f"lost {s['lost']}, duplicated {s['duplicated']}, corrupted {s['corrupted']}, hung"
            f" {s['hung']}, out of order {s['disordered']}, wrongly ended {s['wrong']}",
            f"trace {self.trace_hash()}",
        ]
        failures = sorted(self.failures, key=lambda one: one.seed)
        lines += [
            f"seed {one.seed} FAILED: {one.reason}\n  to repeat it: {one.replay}"
            for one in failures[:_SHOWN]
        ]
        if len(failures) > _SHOWN:
            lines.append(f"and {len(failures) - _SHOWN} more that failed")
        return lines


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def replay_command(seed: int, options: Mapping[str, str]) -> str:
    """The command that runs this seed again, with the same options, and writes its trace."""
    words = ["beowire", "simulate", "--seed", str(seed)]
    words += [word for pair in options.items() for word in pair]
    return shlex.join([*words, "--trace", "trace.txt"])


class Simulator:
    """Runs seeds in several processes at once. A context manager: leaving it ends them all."""

    def __init__(
        self,
        program: Path,
        words: list[str],
        options: Mapping[str, str],
        trace: int | None = None,
    ) -> None:
        """`words` are the program's own options, `options` those of the command, for replays.
        `trace`: the descriptor of a file for the trace of the one seed that is run."""
        self._program = program
        self._words = words if trace is None else [*words, "--trace", f"/proc/self/fd/{trace}"]
        self._passed = () if trace is None else (trace,)
        self._options = options
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._ended = False
        self._broken: list[str] = []

    def __enter__(self) -> "Simulator":
        """Starts nothing yet."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Ends what still runs."""
        with self._lock:
            self._ended = True
            for process in self._running:
                process.kill()

    def run(self, first: int, count: int, jobs: int, each: Callable[[], None]) -> Outcome:
        """Runs `count` seeds from `first` on; `each` is called after each of them."""
        outcome = Outcome()
        blocks: queue.SimpleQueue[range] = queue.SimpleQueue()
        for at in range(first, first + count, _BLOCK):
            blocks.put(range(at, min(at + _BLOCK, first + count)))
        threads = [
            threading.Thread(target=self._work, args=(blocks, outcome, each), daemon=True)
            for _ in range(min(jobs, count))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.1)  # so that Ctrl-C is heard
        if self._broken:
            raise BeowireError(self._broken[0], exit_code=1)
        return outcome

    def _work(
        self, blocks: "queue.SimpleQueue[range]", outcome: Outcome, each: Callable[[], None]
    ) -> None:
        while not self._ended and not self._broken:
            try:
                seeds = blocks.get_nowait()
            except queue.Empty:
                return
            while seeds and not self._ended and not self._broken:
                seeds = self._run_some(seeds, outcome, each)

    def _run_some(self, seeds: range, outcome: Outcome, each: Callable[[], None]) -> range:
        """Runs seeds until the process ends. @return those that it did not come to."""
        command = [str(self._program), "--seed", str(seeds[0]), "--seeds", str(len(seeds))]
        with self._lock:
            if self._ended:
                return seeds
            process = subprocess.Popen(
                command + self._words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
                pass_fds=self._passed,
            )
            self._running.add(process)
        said: list[str] = []
        assert process.stdout is not None and process.stderr is not None
        listener = threading.Thread(target=_drain, args=(process.stderr, said), daemon=True)
        listener.start()
        last: dict[str, Any] = {}
        for line in process.stdout:
            result = _read(line)
            if result is not None and seeds and int(result["seed"]) == seeds[0]:
                self._note(outcome, result, each)
                seeds = seeds[1:]
                last = result
        status = process.wait()
        listener.join()
        with self._lock:
            self._running.discard(process)
        # A run that breaks an invariant is the last of its process, and has said so itself.
        if self._ended or not seeds or (status == 1 and "failure" in last):
            return seeds
        if status in {2, 127}:
            self._broken.append(f"the simulator does not run: {' '.join(said)[-300:].strip()}")
            return seeds
        # It died without a word: a signal, or a sanitizer's finding.
        how = f"killed by signal {-status}" if status < 0 else f"ended with {status}"
        reason = " ".join([f"the simulator was {how}", *said[-1:]]).strip()
        self._note(outcome, {"seed": seeds[0], "failure": reason}, each)
        return seeds[1:]

    def _note(self, outcome: Outcome, result: Mapping[str, Any], each: Callable[[], None]) -> None:
        with self._lock:
            outcome.add(result, replay_command(int(result["seed"]), self._options))
            each()


def _read(line: str) -> dict[str, Any] | None:
    try:
        result = json.loads(line)
    except ValueError:
        return None  # torn by the end of the process
    return result if isinstance(result, dict) and "seed" in result else None


def _drain(stream: TextIO, lines: list[str]) -> None:
    lines.extend(line.strip() for line in stream)
