# SPDX-License-Identifier: BSD-3-Clause
"""NetPIPE's columns and command lines, and CSV, as scripts use them: the whole program, with an
engine that only pretends."""

import csv
import io
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from beowire import isolated
from beowire.record.reader import read_record
from unit.evaluator import fake_launcher

PATIENCE_S = 100

Beowire = Callable[..., subprocess.CompletedProcess[str]]

#: As NetPIPE 3.7 prints a line of np.out: "%8d %lf %12.8lf".
LINE = re.compile(r" {0,7}\d+ \d+\.\d{6} {0,2} *\d+\.\d{8}")


@pytest.fixture
def beowire(tmp_path: Path) -> Beowire:
    directory = fake_launcher.write_engine(tmp_path / "engine")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*isolated.command("beowire"), *words],
            cwd=tmp_path,
            env=os.environ | {"BEOWIRE_ENGINE_DIR": str(directory)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    return run


def test_netpipe__a_line_of_a_script__leaves_np_out(beowire: Beowire, tmp_path: Path) -> None:
    words = ["steady", "-h", "localhost", "-l", "8", "-u16", "-p", "0", "-n", "9"]
    done = beowire("netpipe", *words, "--time", "1", "--out", "o")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "np.out").read_text().splitlines()
    assert [int(line.split()[0]) for line in lines] == [8, 12, 16]
    assert all(LINE.fullmatch(line) for line in lines)
    (first, *_) = read_record(tmp_path / "o" / "record.jsonl").results
    half = first.half_rtt_ns
    assert half is not None
    of_size = {int(line.split()[0]): line.split()[2] for line in lines}
    assert of_size[first.size] == f"{half.median / 1e9:.8f}"
    assert done.stdout == ""
    assert "-n changes nothing" in done.stderr
    assert re.search(r"^ {2}0: {7}8 bytes +\d+ times --> +[\d.]+ Mbps in +[\d.]+ usec$",
                     done.stderr, re.MULTILINE)  # fmt: skip


def test_compare__columns_and_csv__are_there_instead_of_the_table(
    beowire: Beowire, tmp_path: Path
) -> None:
    words = ["compare", "--drivers", "steady", "--sizes", "8,64", "--time", "1", "--out", "o"]
    done = beowire(*words, "--netpipe-columns", "--csv", "all.csv")
    assert done.returncode == 0, done.stderr
    assert all(LINE.fullmatch(line) for line in done.stdout.splitlines())
    assert (tmp_path / "o" / "np.steady.out").read_text() == done.stdout
    rows = list(csv.DictReader(io.StringIO((tmp_path / "all.csv").read_text())))
    assert sorted(int(row["size"]) for row in rows) == [8, 64]
    again = beowire("report", "o", "--csv", "-")
    assert again.returncode == 0
    assert again.stdout == (tmp_path / "all.csv").read_text()
    assert beowire("report", "o", "--netpipe-columns").stdout == done.stdout


def test_compare__csv_that_cannot_be_written__is_one_line_and_the_rest_is_there(
    beowire: Beowire, tmp_path: Path
) -> None:
    words = ["compare", "--drivers", "steady", "--sizes", "8", "--time", "1", "--out", "o"]
    done = beowire(*words, "--csv", "none/all.csv")
    assert done.returncode == 1
    assert "cannot write none/all.csv: No such file" in done.stderr.splitlines()[-1]
    assert (tmp_path / "o" / "report.html").exists() and "8 B" in done.stdout
