# SPDX-License-Identifier: BSD-3-Clause
"""NetPIPE's command lines: what each option means, and what is refused."""

import pytest

from beowire.compare import netpipe
from beowire.errors import BeowireError
from beowire.mpi import drivers as mpi_drivers
from beowire.sizes import schedule


def parsed(line: str) -> netpipe.Wanted:
    return netpipe.parse(line.split())


def test_parse__a_usual_line_of_3_7__is_understood() -> None:
    wanted = parsed("NPtcp -h nodeB -l 8 -u 65536 -p 0 -o my.out -O 1,3 -b 65536")
    assert (wanted.driver, wanted.socket_buffer) == ("tcp-buffer", "65536")
    assert (wanted.host, wanted.output, wanted.version) == ("nodeB", "my.out", 3)
    assert wanted.offsets == (1, 3)
    assert wanted.sizes() == schedule(8, 65536, 0)
    assert wanted.notes == []


def test_parse__nothing__is_tcp_over_the_whole_schedule() -> None:
    wanted = parsed("")
    assert (wanted.driver, wanted.pattern, wanted.output) == ("tcp", "pingpong", "np.out")
    assert wanted.sizes() == schedule()


@pytest.mark.parametrize(
    ("option", "pattern"),
    [
        *(("-s", "stream"), ("-2", "bidirectional"), ("-B", "burst"), ("-I", "cold")),
        *(("-i", "integrity"), ("--stream", "stream"), ("--bidir", "bidirectional")),
        *(("--nocache", "cold"), ("-integrity", "integrity"), ("--burst", "burst")),
    ],
)
def test_parse__a_mode__is_a_pattern(option: str, pattern: str) -> None:
    assert parsed(f"-h b {option}").pattern == pattern


def test_parse__words_of_5__ask_for_its_columns() -> None:
    wanted = parsed("NPmemcpy --start 1000 --end=4096 --fac2 --soffset 4 --roffset 8 --outfile x")
    assert wanted.version == 5
    assert wanted.sizes() == [1024, 2048, 4096]
    assert wanted.offsets == (4, 8) and wanted.output == "x"
    assert parsed("-u 64 --outfile x").version == 3


def test_parse__letters_as_getopt_reads_them__stand_together() -> None:
    wanted = parsed("-ra2u64 -hnodeB")
    assert (wanted.pattern, wanted.high, wanted.host) == ("bidirectional", 64, "nodeB")
    assert len(wanted.notes) == 2


@pytest.mark.parametrize("option", ["-a", "-n 50", "-P 5002", "-r", "-X", "--repeats 9", "--cache"])
def test_parse__what_cannot_matter_here__is_noted_and_passed_over(option: str) -> None:
    wanted = parsed(f"-h b {option} -u 64")
    (note,) = wanted.notes
    assert note.startswith(f"{option.split(maxsplit=1)[0]} changes nothing: ")
    assert wanted.high == 64


@pytest.mark.parametrize("letter", [*"hlupoObs2BIianPrXgfSzAmtcdD"])
def test_options__each_letter_of_3_7__is_known(letter: str) -> None:
    try:
        parsed(f"-{letter} 1")
    except BeowireError as error:
        assert "NetPIPE has no option" not in str(error)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("NPmpi -S", "MPI_Ssend"),
        ("NPmpi -z", "MPI_ANY_SOURCE"),
        ("-A", "SDP"),
        ("-m 1024", "InfiniBand"),
        ("--workload matrix", "overlap"),
        ("-Q", "NetPIPE has no option -Q"),
        ("--frob", "NetPIPE has no option --frob"),
        ("--s", "NetPIPE has no option --s"),
        ("-u", "-u needs a value"),
        ("-u 1q", "the upper bound (-u) is a number of bytes"),
        ("-u 0", "the upper bound (-u) is a number of bytes"),
        ("-O 1,2,3", "one offset, or two"),
        ("-s -2", "-s and -2 exclude each other"),
        ("-l 9 -u 8", "is above the upper one"),
        ("NPmpi -b 1024", "-b sets TCP's buffers"),
        ("NPib", "no counterpart"),
        ("tcp extra", "'extra' is no option"),
    ],
)
def test_parse__what_cannot_be_done__is_one_line(line: str, said: str) -> None:
    with pytest.raises(BeowireError) as caught:
        parsed(line)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_sizes__none_of_the_schedule__is_an_error() -> None:
    with pytest.raises(BeowireError, match="no size of NetPIPE's schedule"):
        parsed("-l 9 -u 10 -p 0").sizes()


def test_needs_other_end__memory__does_not() -> None:
    assert not parsed("NPmemcpy").needs_other_end()
    assert not parsed("pipe").needs_other_end()
    assert parsed("NPtcp").needs_other_end() and parsed("NPmpi").needs_other_end()


def test_resolved__an_mpi_without_a_way__is_the_first_over_its_tcp(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        mpi_drivers, "expanded", lambda name: (f"{name}:mpich/tcp,{name}:mpich/x", [])
    )
    assert netpipe.resolved("mpi") == "mpi:mpich/tcp"
    assert netpipe.resolved("mpi:intel/beowire") == "mpi:intel/beowire"
    assert netpipe.resolved("tcp") == "tcp"
