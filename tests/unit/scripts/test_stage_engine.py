# SPDX-License-Identifier: BSD-3-Clause
"""What is staged, and what is said of what is not there."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILT = (
    "evaluator/engine/beowire-engine",
    "evaluator/lab/beowire-relay",
    "broker/beowire-frames",
    "broker/beowired",
    "simulation/beowire-simulate",
    "evaluator/drivers/beowire-driver-tcp.so",
)
PROVIDER = "fabric/libbeowire-fi.so"
DIRECT = "fabric/direct/libfabric.so.1"


def stage(build: Path, target: Path, *built: str) -> str:
    """What is said."""
    for name in built:
        (build / name).parent.mkdir(parents=True, exist_ok=True)
        (build / name).write_text(name)
    words = [str(ROOT / "scripts/stage-engine"), str(build), str(target)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    return done.stdout


def test_stage_engine__says_that_there_is_no_provider(tmp_path: Path) -> None:
    build, target = tmp_path / "build", tmp_path / "engine"
    (said,) = stage(build, target, *BUILT).splitlines()
    assert "without the libfabric provider, so no MPI can use Beowire" in said
    assert "libfabric-dev" in said
    assert stage(build, target, *BUILT, PROVIDER, DIRECT) == ""
    assert [(target / one).read_text() for one in (PROVIDER, DIRECT)] == [PROVIDER, DIRECT]
    # One that is no longer built is not used any more, and that is said, too.
    (build / PROVIDER).unlink()
    assert "no MPI can use Beowire" in stage(build, target)
    assert not (target / PROVIDER).exists()
    assert not (target / DIRECT).exists()
