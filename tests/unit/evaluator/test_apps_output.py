# SPDX-License-Identifier: BSD-3-Clause
"""What programs print is read without trust."""

import pytest

from beowire.apps import output
from beowire.apps.output import Unreadable

OWN = (
    '{"app":"cg","class":"S","ranks":2,"seconds":0.0312,"figure":2134.5,"unit":"MOP/s",'
    '"verified":true,"check":"zeta 8.59","communication_share":0.12}'
)

NPB = """\
 CG Benchmark Completed.
 Class           =                        S
 Time in seconds =                     0.05
 Total processes =                        2
 Mop/s total     =                  1428.57
 Mop/s/process   =                   714.28
 Operation type  =           floating point
 Verification    =               SUCCESSFUL
"""

HPCC = """\
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0031 ...... PASSED
HPL_Tflops=0.00935
HPL_time=0.0091
"""

OPEN_MPI = """\
[node0:03278] plm:rsh: Warning: setpgid(3288,3288) failed in parent
{}--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
"""


def test_own__among_other_lines() -> None:
    said = output.own(f"hello\n{{broken\n{OWN}\n")
    assert (said.seconds, said.figure, said.unit) == (0.0312, 2134.5, "MOP/s")
    assert said.verified
    assert said.communication_share == 0.12


def test_own__has_no_share_where_the_program_has_no_clock() -> None:
    assert output.own(OWN.replace(',"communication_share":0.12', "")).communication_share is None


@pytest.mark.parametrize(
    "text", ["", "done", "{}", "[1]", '{"figure": 1}', OWN.replace("2134.5", '"fast"')]
)
def test_own__without_a_result(text: str) -> None:
    with pytest.raises(Unreadable):
        output.own(text)


def test_npb__summary() -> None:
    said = output.npb(NPB)
    assert (said.figure, said.seconds, said.verified) == (1428.57, 0.05, True)


def test_npb__not_verified() -> None:
    said = output.npb(NPB.replace("SUCCESSFUL", "UNSUCCESSFUL"))
    assert not said.verified
    assert said.check == "Verification = UNSUCCESSFUL"


@pytest.mark.parametrize("text", ["", NPB.replace("Mop/s total", "x"), NPB.replace("1428.57", "-")])
def test_npb__without_a_summary(text: str) -> None:
    with pytest.raises(Unreadable):
        output.npb(text)


def test_hpcc__figure_and_residual() -> None:
    said = output.hpcc(HPCC)
    assert said.figure == pytest.approx(9.35)
    assert (said.unit, said.verified) == ("Gflop/s", True)
    assert not output.hpcc(HPCC.replace("PASSED", "FAILED")).verified
    assert not output.hpcc(HPCC[HPCC.index("HPL_T") :]).verified


def test_hpcc__without_linpack() -> None:
    with pytest.raises(Unreadable):
        output.hpcc("HPL_time=1\n")


def test_profile__among_other_lines() -> None:
    line = (
        'beowire-apps-profile {"ranks":2,"seconds":1.23,"mpi_seconds":0.4,"mpi_share":0.32,'
        '"messages":10,"bytes":80,"sizes":{"8":10},"collectives":{"messages":3,"bytes":24},'
        '"calls":{"MPI_Send":{"count":10,"seconds":0.01}}}'
    )
    calls = output.profile(f"warning\n[1] {line}\n")
    assert (calls.ranks, calls.messages, calls.bytes, calls.mpi_share) == (2, 10, 80, 0.32)
    assert calls.sizes == {8: 10}
    assert (calls.collectives, calls.collective_bytes) == (3, 24)


@pytest.mark.parametrize("text", ["", "beowire-apps-profile {", "beowire-apps-profile []"])
def test_profile__that_is_not_there(text: str) -> None:
    with pytest.raises(Unreadable):
        output.profile(text)


def test_reason__the_programs_own_line_before_all_others() -> None:
    said = OPEN_MPI.format("beowire: node0: something\ncg: this class is too small for 64 ranks\n")
    assert output.reason("cg", [said, ""]) == "this class is too small for 64 ranks"


def test_reason__a_line_of_beowire() -> None:
    said = OPEN_MPI.format("some warning\nbeowire: node0: no permission\n")
    assert output.reason("cg", [said, ""]) == "beowire: node0: no permission"


def test_reason__what_was_said_outside_of_the_launchers_banners() -> None:
    assert output.reason("x", [OPEN_MPI.format("cannot open data\n")]) == "cannot open data"


def test_reason__nobody_says_why() -> None:
    assert output.reason("x", [OPEN_MPI.format(""), ""]) == ""


@pytest.mark.parametrize(
    "text",
    [
        "mpirun noticed that process rank 0 exited on signal 11 (Segmentation fault).\n",
        "=   BAD TERMINATION OF ONE\n=   EXIT CODE: 139\n"
        "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)\n",
    ],
)
def test_reason__a_signal(text: str) -> None:
    assert "Segmentation fault" in output.reason("x", [text])
    assert output.reason("x", [text]).startswith("ended by signal")


def test_phases__of_the_rank_that_took_longest_and_without_trust() -> None:
    said = (
        'noise\n[1,0]<stderr>: beowire-apps-phases {"init_s":0.1,"run_s":2,"finalize_s":0.3}\n'
        'beowire-apps-phases {"init_s":0.2,"run_s":1,"finalize_s":0.1}\n'
        'beowire-apps-phases {"init_s":-1,"run_s":9,"finalize_s":9}\nbeowire-apps-phases {}\n'
    )
    assert output.phases(said) == output.Phases(init_s=0.2, run_s=2.0, finalize_s=0.3)
    assert output.phases("noise\n") is None
    assert output.without_phases(said) == "noise\n"
