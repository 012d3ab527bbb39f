# SPDX-License-Identifier: BSD-3-Clause
"""`beowire predict` with SimGrid's SMPI: simulated times are those of the model, and repeat."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from system.conftest import RunBeowire, assert_refused

if shutil.which("smpirun") is None:
    pytest.skip("SimGrid is not here (package libsimgrid-dev)", allow_module_level=True)

HALF_ROUND_TRIP_US, MEGABYTES_PER_S = 20.0, 100.0

#: Ping-pongs of rank 0 and the last, whose time it prints as NPB does: of so many messages.
PINGPONG = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, ranks, bytes = atoi(argv[argc - 1]), times = 200;
    char *memory = malloc(bytes);
    double began;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    began = MPI_Wtime();
    for (int i = 0; i < times; i++) {
        if (rank == 0)
            MPI_Send(memory, bytes, MPI_CHAR, ranks - 1, 0, MPI_COMM_WORLD);
        if (rank == ranks - 1)
            MPI_Recv(memory, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == ranks - 1)
            MPI_Send(memory, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Recv(memory, bytes, MPI_CHAR, ranks - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0)
        printf(" Time in seconds = %.9f\\n Mop/s total = 1.0\\n Verification = SUCCESSFUL\\n",
               (MPI_Wtime() - began) / (2 * times));
    MPI_Finalize();
    return 0;
}
"""


def by_hand(path: Path, *, tcp_factor: float = 2.0) -> str:
    path.write_text(
        f'link_megabytes_per_s = {MEGABYTES_PER_S}\n[[way]]\nname = "tcp"\n'
        f"half_round_trip_us = {tcp_factor * HALF_ROUND_TRIP_US}\n"
        f"megabytes_per_s = {MEGABYTES_PER_S / tcp_factor}\n"
        f'[[way]]\nname = "beowire"\nhalf_round_trip_us = {HALF_ROUND_TRIP_US}\n'
        f"megabytes_per_s = {MEGABYTES_PER_S}\noverhead_us = 3\n"
    )
    return str(path)


def source(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def predicted(run_beowire: RunBeowire, *words: str) -> list[dict[str, Any]]:
    done = run_beowire("predict", "--json", *words, timeout=200)
    assert done.returncode == 0, (done.stdout, done.stderr)
    found = json.loads(done.stdout)["predicted"]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("size", [8, 1_000_000])
def test_a_ping_pong__takes_what_it_took_in_the_description(
    run_beowire: RunBeowire, tmp_path: Path, size: int
) -> None:
    words = ("--nodes", "2", "--record", by_hand(tmp_path / "ways.toml"))
    program = source(tmp_path / "pingpong.c", PINGPONG)
    tcp, beowire = predicted(run_beowire, *words, "--", program, str(size))
    expected = HALF_ROUND_TRIP_US + size / MEGABYTES_PER_S
    # Between its messages it computes a little, too.
    assert beowire["seconds"]["median"] * 1e6 == pytest.approx(expected, rel=0.03, abs=0.5)
    assert beowire["speedup"]["median"] == pytest.approx(2.0, rel=0.05)
    assert tcp["speedup"] is None and tcp["communication_share"]["median"] > 0.9


def test_the_same_work__gives_the_same_figures(run_beowire: RunBeowire, tmp_path: Path) -> None:
    words = ("--record", by_hand(tmp_path / "ways.toml"), "--out", str(tmp_path / "out"))
    program = ("--nodes", "2,8", "--topology", "fat-tree:4,1", "--", "cg", "--iterations", "1")
    first = predicted(run_beowire, *words, *program)
    assert predicted(run_beowire, *words, *program) == first
    assert [one["nodes"] for one in first] == [2, 2, 8, 8]
    assert (tmp_path / "out" / "beowire-median-8.xml").is_file()
    assert "smpi/os" in (tmp_path / "out" / "beowire-median-8.cfg").read_text()


def test_a_slower_processor__computes_longer(run_beowire: RunBeowire, tmp_path: Path) -> None:
    words = ("--record", by_hand(tmp_path / "ways.toml"), "--nodes", "2")
    out = ("--out", str(tmp_path / "out"))
    quick = predicted(run_beowire, *words, *out, "--", "ep")[0]["seconds"]["median"]
    slow = predicted(run_beowire, *words, *out, "--processor", "0.5", "--", "ep")
    assert slow[0]["seconds"]["median"] == pytest.approx(2 * quick, rel=0.05)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);", "eadlock"),
        ("MPI_Nonesuch(&value);", "SMPI has no MPI_Nonesuch"),
        ("value = 1 / value; exit(3);", " 3"),
    ],
)
def test_what_smpi_cannot_run__one_line(
    run_beowire: RunBeowire, tmp_path: Path, body: str, said: str
) -> None:
    text = (
        "#include <mpi.h>\n#include <stdlib.h>\nextern int MPI_Nonesuch(int *);\n"
        "int main(int argc, char **argv)\n{\n    int value = argc;\n    MPI_Init(&argc, &argv);\n"
        f"    {body}\n    MPI_Finalize();\n    return 0;\n}}\n"
    )
    words = ("--record", by_hand(tmp_path / "ways.toml"), "--nodes", "2")
    done = run_beowire("predict", *words, "--", source(tmp_path / "bad.c", text))
    assert done.returncode == 1, (done.stdout, done.stderr)
    assert done.stderr.count("\n") == 1, done.stderr
    assert said in done.stderr


def test_bad_input(run_beowire: RunBeowire, tmp_path: Path) -> None:
    ways = by_hand(tmp_path / "ways.toml")

    def refused(*words: str, said: str, record: str = ways) -> None:
        assert_refused(run_beowire("predict", "--record", record, *words), said)

    refused("--", "./nosuch", said="SMPI needs the source")
    refused("--", "nosuch.c", said="there is no file nosuch.c")
    refused("--nodes", "x", "--", "is", said="--nodes")
    refused("--topology", "ring", "--", "is", said="--topology")
    refused("--rate", "1g", "--", "is", said="edit it")
    refused("--", "is", said="nosuch", record=str(tmp_path / "nosuch"))
