# SPDX-License-Identifier: BSD-3-Clause
"""An engine that only pretends: it speaks docs/ENGINE.md, and draws its times from known laws.

fake_launcher.py starts it. It is written apart from the evaluator's own code on purpose, so that
both must agree on the protocol, and imports little, since tests start hundreds. What a driver does
is in DRIVERS; `BEOWIRE_FAKE` (JSON) changes members of drivers, for instance
`{"steady": {"ready": false, "reason": "no such cable"}}`.
"""

import json
import os
import random
import select
import signal
import sys
import time
import urllib.parse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: name -> what makes it special. `median_ns` is of the round trip; `law` how it spreads.
DRIVERS: dict[str, dict[str, Any]] = {
    "steady": {"median_ns": 4000.0},
    "slow": {"median_ns": 20000.0},
    "bimodal": {"median_ns": 5000.0, "law": "bimodal"},
    "tiny": {"median_ns": 6.0, "law": "constant", "placement": "process"},
    "shared": {"median_ns": 900.0, "placement": "host"},
    "lossy": {"median_ns": 4000.0, "reliable": False, "loss": 0.05, "max_size": 65507},
    "void": {"median_ns": 4000.0, "reliable": False, "loss": 1.0},
    "absent": {"ready": False, "reason": "install libabsent"},
    # Faults, from the fault_run-th run on:
    "dies": {"fault": "die"},
    "garbage": {"fault": "garbage"},
    "hangs": {"fault": "hang"},
    "breaks": {"fault": "error"},
    "refuses": {"refuses_above": 100},
    "unopened": {"fault": "open"},
}

DEFAULTS: dict[str, Any] = {
    "median_ns": 4000.0,
    "law": "lognormal",
    "placement": "pair",
    "reliable": True,
    "loss": 0.0,
    "max_size": 1 << 30,
    "ready": True,
    "reason": "",
    "fault": None,
    "fault_run": 15,
    "fault_role": "responder",
    "refuses_above": 1 << 40,
    "refuses_role": "responder",
    "real_time": 0.0,
    "answered": 1.0,
    "fades_after": 1 << 40,
    "stall_runs": 0,
    "stall_ns": 0.0,
}
"""After `fades_after` runs everything is lost. The first message of each of the first `stall_runs`
runs takes `stall_ns` more, and really does. `real_time`: share of the pretended time that really
passes. `answered`: share of the messages of a round after which its deadline has passed."""


#: Figure, probe, what it is of, and why it cannot be had.
PROBES = (
    ("taken_ns", "soaker", "message", ""),
    ("syscalls", "syscalls", "message", ""),
    ("cycles", "hardware", "message", "no such counter"),
    ("user_ns", "usage", "message", ""),
    ("system_ns", "usage", "message", ""),
    ("voluntary_switches", "usage", "message", ""),
    ("involuntary_switches", "usage", "message", ""),
    ("irq_ns", "softirq", "message", "not by this kernel"),
    ("softirq_ns", "softirq", "message", ""),
    ("interrupts", "interrupts", "second", ""),
)


def index_of(value: int) -> int:
    if value < 256:
        return value
    k = value.bit_length() - 1
    return (k - 7) * 128 + (value >> (k - 7))


def lower_of(index: int) -> int:
    return index if index < 256 else (128 + index % 128) << (index // 128 - 1)


class FakeEngine:
    def __init__(self, node: str, cpu: int | None) -> None:
        self.node = node
        self.cpu = cpu
        self.random = random.Random(node)
        self.spreads = [self.random.lognormvariate(0, 0.05) for _ in range(2000)]
        self.overrides = json.loads(os.environ.get("BEOWIRE_FAKE", "{}"))
        self.driver: dict[str, Any] = {}
        self.role = ""
        self.runs = 0
        self.pending: dict[str, Any] | None = None
        self.probes: list[str] = []
        self.loaded = ""
        self.meters = 0

    def stand_for(self, directory: str) -> None:
        """As a proxy, for the program `rank` there, which makes the file that it is told to attach
        to: this is the engine then."""
        file = Path(directory) / f"proxy-{os.getpid()}"
        self.say("proxy", name=str(file), program=f"{directory}/rank")
        while not file.exists():
            if select.select([sys.stdin], [], [], 0.01)[0]:
                sys.exit(3)
        self.say("attached", pid=1)

    def serve(self) -> int:
        time.sleep(float(os.environ.get("BEOWIRE_FAKE_START_S", "0")))
        for line in sys.stdin:
            verb, *words = line.split()
            values = {
                key: urllib.parse.unquote(value)
                for key, _, value in (word.partition("=") for word in words)
            }
            if verb == "quit":
                return 0
            getattr(self, f"on_{verb.replace('-', '_')}")(values)
        return 3

    def say(self, event: str, **members: object) -> None:
        print(json.dumps({"event": event, **members}), flush=True)

    def error(self, code: str, message: str, *, fatal: bool) -> None:
        self.say("error", code=code, message=message, fatal=fatal)

    def of(self, name: str) -> dict[str, Any]:
        return {"name": name, **DEFAULTS, **DRIVERS.get(name, {}), **self.overrides.get(name, {})}

    def on_hello(self, values: Mapping[str, str]) -> None:
        clock = {"source": "CLOCK_MONOTONIC", "overhead_ns": 20.0, "overhead_p99_ns": 25.0}
        self.say(
            "hello",
            version="0.1.0",
            protocol=int(os.environ.get("BEOWIRE_FAKE_PROTOCOL", "1")),
            abi=1,
            pid=os.getpid(),
            cpu=self.cpu,
            hostname=self.node,
            clock={**clock, "resolution_ns": 1.0},
        )

    def on_system_call_cost(self, values: Mapping[str, str]) -> None:
        steps = int(values["steps"]) if "steps" in values else int(values["ns"]) + 20
        if steps > 4000:
            self.error("ERANGE", "a filter can add 56 to 3290 ns to a system call", fatal=False)
            return
        self.steps = steps
        self.say("system-call-cost", steps=steps, before_ns=165.0, added_ns=steps - 19.5)

    def on_drivers(self, values: Mapping[str, str]) -> None:
        drivers = []
        for name in DRIVERS:
            driver = self.of(name)
            drivers.append(
                {
                    "name": name,
                    "summary": f"pretends to be {name}",
                    "placement": driver["placement"],
                    "reliable": driver["reliable"],
                    "spins": False,
                    "min_size": 1,
                    "max_size": driver["max_size"],
                    "ready": driver["ready"],
                    "reason": driver["reason"],
                }
            )
        self.say(
            "drivers",
            drivers=drivers,
            broken=json.loads(os.environ.get("BEOWIRE_FAKE_BROKEN", "[]")),
        )

    def on_environment(self, values: Mapping[str, str]) -> None:
        self.say("environment", fields={"hostname": self.node, "kernel": "0.0-fake", "cpus": 2})

    def on_route(self, values: Mapping[str, str]) -> None:
        self.say(
            "route",
            source="127.0.0.1",
            destination=values["to"],
            interface="lo",
            mac="00:00:00:00:00:00",
            mtu=65536,
        )

    def on_open(self, values: Mapping[str, str]) -> None:
        self.driver = self.of(values["driver"])
        self.role = values["role"]
        if self.driver["fault"] == "open":
            self.error("EPERM", "may not open: needs CAP_PRETEND", fatal=True)
            return
        pair = self.driver["placement"] != "process"
        self.say("open", address=f"fake:{os.getpid()}" if pair else "")

    def on_connect(self, values: Mapping[str, str]) -> None:
        assert values["peer"].startswith("fake:")
        if self.driver["fault"] != "connect":
            self.say("connected")

    def on_close(self, values: Mapping[str, str]) -> None:
        self.say("closed")

    def on_probes(self, values: Mapping[str, str]) -> None:
        figures = []
        for name, probe, per, reason in PROBES:
            figures.append(
                {
                    "name": name,
                    "summary": f"pretends to count {name}",
                    "unit": "ns" if name.endswith("_ns") else "",
                    "per": per,
                    "probe": probe,
                    "how": "by heart",
                    "of": "process",
                    "disturbs": probe in ("soaker", "syscalls", "hardware"),
                    "ready": not reason,
                    "reason": reason,
                }
            )
        self.say("probes", figures=figures)

    def on_load(self, values: Mapping[str, str]) -> None:
        assert values["kind"] in ("hog", "idle", "duty", "memory")
        if values.get("nice") == "7":
            self.error("EINVAL", "nice is refused", fatal=False)
        else:
            assert int(values["seconds"]) > 0
            self.loaded = "running"
            self.say("load", kind=values["kind"], nice=int(values.get("nice", "0")), hogs=2)

    def on_pause(self, values: Mapping[str, str]) -> None:
        assert self.loaded == "running"
        self.loaded = "paused"
        if self.of("load").get("dies_of_pause"):
            sys.exit(3)
        self.say("paused")

    def on_resume(self, values: Mapping[str, str]) -> None:
        assert self.loaded == "paused"
        self.loaded = "running"
        self.say("resumed")

    def on_meter(self, values: Mapping[str, str]) -> None:
        self.meters += 1
        hogs = [{"cpu": cpu, "cpu_ns": self.meters * 10**9, "work": self.meters} for cpu in (0, 1)]
        self.say("meter", at_ns=self.meters * 2 * 10**9, unit="turns", hogs=hogs)

    def on_stop(self, values: Mapping[str, str]) -> None:
        if self.pending is not None:
            self.respond(self.pending)

    def on_run(self, values: Mapping[str, str]) -> None:
        self.runs += 1
        run: dict[str, Any] = {
            "pattern": values["pattern"],
            "size": int(values["size"]),
            "count": int(values["count"]),
            "skip": int(values["skip"]),
            "batch": int(values["batch"]),
        }
        self.probes = values.get("probes", "").split(",")
        refuses = self.role == self.driver["refuses_role"]
        if refuses and run["size"] > self.driver["refuses_above"]:
            self.error("EMSGSIZE", "this size cannot be carried", fatal=False)
        elif self.driver["fault"] and self.misbehave():
            return
        elif self.role == "initiator":
            self.initiate(run)
        else:
            self.say("ready")
            if self.driver["reliable"]:
                self.respond(run)
            else:
                self.pending = run

    def misbehave(self) -> bool:
        if self.role != self.driver["fault_role"] or self.runs < self.driver["fault_run"]:
            return False
        fault = self.driver["fault"]
        if self.role == "responder" and fault != "stale":
            self.say("ready")
        if fault == "die":
            print("fake engine: out of luck", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "rank":  # as a proxy says that what it stands for has ended
            sys.exit(9)
        if fault == "garbage":
            print("Segmentation fault (not really)", flush=True)
        if fault == "stale":
            self.error("ESTALE", "the last run was cut short inside a message", fatal=True)
        if fault == "error":
            self.error("ECONNRESET", "connection reset by peer", fatal=True)
        return True

    def samples(self, size: int, count: int) -> list[int]:
        median = float(self.driver["median_ns"]) + size / 5
        law = self.driver["law"]
        if law == "constant":
            return [round(median)] * count
        spreads = self.random.choices(self.spreads, k=count)
        if law == "bimodal":
            spreads = [3 * one if self.random.random() < 0.3 else one for one in spreads]
        return [max(1, round(median * one)) for one in spreads]

    def initiate(self, run: dict[str, Any]) -> None:
        counts: dict[int, int] = {}
        done = round(run["count"] * self.driver["answered"]) // run["batch"]
        samples = self.samples(run["size"], done)
        loss = self.driver["loss"]
        if self.runs <= self.driver["stall_runs"] and samples:
            samples[0] += round(self.driver["stall_ns"])
            time.sleep(self.driver["stall_ns"] / 1e9)
        if self.runs > self.driver["fades_after"]:
            loss = 1.0
        kept = [value for value in samples if not loss or self.random.random() >= loss]
        elapsed = sum(samples) * run["batch"]
        if run["pattern"] in ("pingpong", "oneway"):
            for value, count in Counter(kept).items():
                lower = lower_of(index_of(value))
                counts[lower] = counts.get(lower, 0) + count
        else:
            elapsed //= 2
        time.sleep(elapsed * self.driver["real_time"] / 1e9)
        received = len(kept) * run["batch"]
        self.result(
            run,
            received,
            elapsed,
            sent=done * run["batch"],
            lost=done * run["batch"] - received,
            buckets=sorted(counts.items()),
            extremes=(min(kept, default=0), max(kept, default=0)),
        )

    def respond(self, run: dict[str, Any]) -> None:
        self.pending = None
        arrived = round(run["count"] * (1 - self.driver["loss"]))
        elapsed = round(arrived * (self.driver["median_ns"] + run["size"] / 5) / 2)
        self.result(run, arrived, elapsed)

    def result(
        self,
        run: dict[str, Any],
        received: int,
        elapsed: int,
        *,
        sent: int = 0,
        lost: int = 0,
        buckets: Sequence[tuple[int, int]] = (),
        extremes: tuple[int, int] = (0, 0),
    ) -> None:
        self.say(
            "result",
            **run,
            sent=sent,
            received=received,
            lost=lost,
            stopped=self.role == "initiator" and sent < run["count"],
            elapsed_ns=elapsed,
            histogram={"kind": "log-linear-7", "buckets": buckets},
            min_ns=extremes[0],
            max_ns=extremes[1],
            probes={
                "window_ns": elapsed,
                "user_ns": 100 * run["count"],
                "system_ns": 300 * run["count"],
                "irq_ns": None,
                "softirq_ns": 50 * run["count"],
                "voluntary_switches": run["count"],
                "involuntary_switches": 0,
                "interrupts": elapsed // 1000,
                **({"taken_ns": 450 * run["count"]} if "soaker" in self.probes else {}),
                **({"syscalls": 2 * run["count"]} if "syscalls" in self.probes else {}),
                **({"cycles": None} if "hardware" in self.probes else {}),
            },
        )


def main() -> int:
    """The words come as `--name value`."""
    options = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
    cpu = options.get("--cpu")
    engine = FakeEngine(
        options.get("--node", "fakehost"), None if cpu is None else 1 if cpu == "auto" else int(cpu)
    )
    if "--proxy" in options:
        engine.stand_for(options["--proxy"])
    return engine.serve()
