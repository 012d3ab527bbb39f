# SPDX-License-Identifier: BSD-3-Clause
"""The programs of apps/, with Debian's Open MPI on one host: right results, and wrong ones."""

import pytest

from system.apps_jobs import (
    PROGRAMS,
    compile_with,
    compiled,
    refused,
    result_of,
    run_ranks,
)
from system.conftest import ROOT

#: A call of rank 1 in the timed part of each program, of those that send 8 bytes or more. Of CG it
#: sends part of a vector, not of a sum; of MG it is late, since later steps mend what was wrong.
CORRUPT_CALL = {
    "allreduce": 10,
    "cg": 1000,
    "climate": 20,
    "ep": 1,
    "ft": 5,
    "halo": 100,
    "is": 4,
    "mg": 400,
    "pipeline": 100,
    "sweep": 300,
    "transpose": 5,
}

KERNELS = ("cg", "ep", "ft", "is", "mg")


@pytest.mark.parametrize("name", PROGRAMS)
def test_class_s__is_right_on_1_2_and_4_ranks(name: str) -> None:
    for ranks in (1, 2, 4):
        done = run_ranks(ranks, compiled(name))
        result = result_of(done)
        assert done.returncode == 0, (result, done.stderr)
        assert (result["app"], result["class"], result["ranks"]) == (name, "S", ranks)
        assert result["verified"] is True
        assert result["seconds"] > 0
        assert result["figure"] > 0
        assert (result["unit"] == "MOP/s") == (name in KERNELS)
        assert 0 <= result.get("communication_share", 0) <= 1


@pytest.mark.parametrize("name", PROGRAMS)
def test_iterations__of_any_number_are_verified(name: str) -> None:
    for iterations in (1, 60):
        if (name, iterations) == ("ep", 60):
            iterations = 2
        done = run_ranks(2, compiled(name), "--iterations", str(iterations))
        assert (done.returncode, result_of(done)["verified"]) == (0, True), done.stdout


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("halo", ("--overlap", "yes")),
        ("allreduce", ("--algorithm", "tree")),
        ("allreduce", ("--algorithm=mpi", "--bytes", "4000")),
        ("climate", ("--work", "3", "--iterations", "5")),
        ("pipeline", ("--pattern", "halo", "--bytes", "8")),
        ("pipeline", ("--pattern", "lag", "--bytes", "20000", "--work", "2000")),
    ],
)
def test_options__are_right_on_3_ranks(name: str, words: tuple[str, ...]) -> None:
    done = run_ranks(3, compiled(name), *words)
    assert (done.returncode, result_of(done)["verified"]) == (0, True), done.stdout


def test_mg__where_ranks_have_nothing_of_the_coarsest_grids() -> None:
    assert result_of(run_ranks(16, compiled("mg")))["verified"] is True


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_number_that_is_changed_on_the_way__is_noticed(name: str) -> None:
    library = compile_with(
        "mpicc.openmpi",
        f"corrupt-for-{name}.so",
        "-O2",
        "-fPIC",
        "-shared",
        str(ROOT / "tests" / "system" / "apps_corrupt.c"),
    )
    environment = {"LD_PRELOAD": str(library), "CORRUPT_CALL": str(CORRUPT_CALL[name])}
    done = run_ranks(2, compiled(name), environment=environment)
    assert (done.returncode, result_of(done)["verified"]) == (1, False), done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--class", "X"), ("--class", "S|W|A|B", "'X'")),
        (("--class",), ("--class needs a value",)),
        (("--iterations", "0"), ("--iterations", "from 1 to", "'0'")),
        (("--iterations", "9" * 30), ("--iterations", "from 1 to")),
        (("--iterations=3x",), ("--iterations", "'3x'")),
        (("--speed", "9"), ("no option '--speed'", "cg --help")),
        (("S",), ("'S' is no option", "cg --help")),
    ],
)
def test_bad_words__are_refused(words: tuple[str, ...], says: tuple[str, ...]) -> None:
    refused(run_ranks(2, compiled("cg"), *words), "cg", says)


@pytest.mark.parametrize("name", ["cg", "ft", "is", "mg", "sweep"])
def test_ranks_that_are_no_power_of_two__are_refused(name: str) -> None:
    refused(run_ranks(3, compiled(name)), name, ("power of two", "not on 3"))


def test_more_ranks_than_there_is_work_for__are_refused() -> None:
    refused(run_ranks(32, compiled("sweep")), "sweep", ("too small for 32 ranks",))


@pytest.mark.parametrize("name", PROGRAMS)
def test_help__names_the_options(name: str) -> None:
    done = run_ranks(1, compiled(name), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "--class S|W|A|B" in done.stdout
    assert "--iterations N" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_written_or_read_beyond_memory(name: str) -> None:
    """On one rank, under AddressSanitizer and UndefinedBehaviorSanitizer."""
    program = compile_with(
        "mpicc.openmpi",
        f"{name}-sanitized",
        *("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
        *("-I", str(ROOT / "apps"), str(ROOT / "apps" / f"{name}.c")),
        *sorted(str(path) for path in (ROOT / "apps" / "common").glob("*.c")),
        "-lm",
    )
    environment = {"ASAN_OPTIONS": "detect_leaks=0"}
    words = ["--iterations", "1"]
    for ranks in (1, 4):
        done = run_ranks(ranks, program, *words, environment=environment)
        assert (done.returncode, result_of(done)["verified"]) == (0, True), done.stderr
