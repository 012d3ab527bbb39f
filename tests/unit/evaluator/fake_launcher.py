# SPDX-License-Identifier: BSD-3-Clause
"""Starts fake engines (fake_engine.py), on two pretended nodes or as the program of a directory."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_START = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import fake_engine"
_CACHE = sys.pycache_prefix
ENGINE = (
    *(sys.executable, "-I", "-S", *(() if _CACHE is None else ("-X", f"pycache_prefix={_CACHE}"))),
    *("-c", f"{_START}; sys.exit(fake_engine.main())"),  # imported, so that it is compiled once
)


@dataclass
class FakeNode:
    name: str
    reach: str = "127.0.0.1"
    cpu: str | None = None
    interface: str = ""


@dataclass
class FakeLauncher:
    """Starts fake engines on two pretended nodes; remembers the processes it started."""

    drivers: dict[str, dict[str, Any]] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    kind: str = "local"
    marker: bytes = b""
    nodes: Any = field(
        default_factory=lambda: (FakeNode("node0", cpu="0"), FakeNode("node1", cpu="1"))
    )
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    started: list[tuple[str, str | None]] = field(default_factory=list)

    def __enter__(self) -> "FakeLauncher":
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def start(self, node: Any, *, cpu: str | None = None) -> subprocess.Popen[bytes]:
        chosen = cpu if cpu is not None else node.cpu
        self.started.append((node.name, chosen))
        return self._started(node, ["--cpu", chosen] if chosen is not None else [])

    def start_proxy(self, node: Any) -> subprocess.Popen[bytes]:
        return self._started(node, ["--proxy", self.environment["BEOWIRE_FAKE_RANKS"]])

    def _started(self, node: Any, options: Sequence[str]) -> subprocess.Popen[bytes]:
        words = [*ENGINE, "--node", node.name, *options]
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **self.environment, "BEOWIRE_FAKE": json.dumps(self.drivers)},
        )
        self.processes.append(process)
        return process

    def describe_link(self) -> dict[str, object]:
        return {"kind": self.kind}


def write_engine(directory: Path) -> Path:
    """Makes `directory` one for BEOWIRE_ENGINE_DIR, with a `beowire-engine` that pretends."""
    (directory / "drivers").mkdir(parents=True)
    program = directory / "beowire-engine"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(ENGINE)} "$@"\n')
    program.chmod(0o755)
    return directory
