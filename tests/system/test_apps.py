# SPDX-License-Identifier: BSD-3-Clause
"""`beowire apps` with Debian's Open MPI in a lab: results are verified, figures do not count."""

import json
import os
import signal
import subprocess
from pathlib import Path

from beowire.apps.record import read_apps_record
from system.conftest import ROOT, RunBeowire, assert_refused, wait_until
from system.mpi_jobs import OPEN_MPI

WAYS = ("--lab", "--mpi", OPEN_MPI, "--over", "tcp,beowire")


def run(run_beowire: RunBeowire, out: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return run_beowire("apps", "run", *WAYS, "--out", str(out), *words, timeout=110)


def test_programs_are_right_over_tcp_and_over_beowire(
    run_beowire: RunBeowire, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    done = run(run_beowire, out, "--launches", "2", "cg", "sweep")
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "beowire rel. tcp (%)" in done.stdout
    record = read_apps_record(out / "record.jsonl")
    assert record.warnings == []
    assert len(record.launches) == 2 * 2 * 3
    assert all(one.verified and one.status == "ok" for one in record.launches)
    # What a program sends does not depend on the way that it goes.
    sent = {(one.app, one.over): one.messages for one in record.profiles}
    for app in ("cg", "sweep"):
        assert sent[app, "tcp"] == sent[app, "beowire"], sent
    assert sent["cg", "tcp"]
    page = (out / "report.html").read_bytes()
    again = run_beowire("report", str(out))
    assert again.returncode == 0, again.stderr
    assert (out / "report.html").read_bytes() == page


def test_a_program_of_the_user_that_fails_over_one_way(
    run_beowire: RunBeowire, tmp_path: Path
) -> None:
    more = ("--launches", "1", "--no-profile", "--json", "--")
    # Over one way only: its variable is there.
    script = 'if [ -n "$FI_PROVIDER_PATH" ]; then echo "no luck" >&2; exit 3; fi'
    done = run(run_beowire, tmp_path / "out", *more, "sh", "-c", script)
    assert done.returncode == 1
    assert done.stderr == f"beowire: sh ({OPEN_MPI} over beowire): no luck\n"
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    results = {one["over"]: one["status"] for one in lines if one["type"] == "result"}
    assert results == {"tcp": "ok", "beowire": "no luck"}


def test_bad_input(run_beowire: RunBeowire, tmp_path: Path) -> None:
    assert_refused(run(run_beowire, tmp_path / "a", "nosuch"), "'nosuch'", "climate")
    assert_refused(run(run_beowire, tmp_path / "b", "cg", "--class", "Z"), "--class")
    assert_refused(run(run_beowire, tmp_path / "c", "cg", "--npb", str(tmp_path)), "no NPB")
    assert not (tmp_path / "a").exists()


def test_an_interrupt_keeps_the_record(tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = ["apps", "run", *WAYS, "--out", str(out), "--launches", "100", "ep"]
    with subprocess.Popen(
        [str(ROOT / "beowire"), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    ) as process:
        record = out / "record.jsonl"
        found = wait_until(lambda: record.exists() and b'"launch"' in record.read_bytes(), 60)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert found
    assert process.returncode == 130, said
    assert said == f"beowire: interrupted; what was measured is in {record}\n"
    read = read_apps_record(record)
    assert read.end is not None
    assert read.end.status == "interrupted"
    assert read.launches
