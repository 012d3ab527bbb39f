# SPDX-License-Identifier: BSD-3-Clause
import pytest

from beowire.errors import BeowireError
from beowire.places.job.pmi import Board, Reply


def ask(board: Board, rank: int, line: str) -> str:
    (reply,) = board.handle(rank, line)
    assert reply.rank == rank
    return reply.line


def test_board__greets_as_pmi_1_does() -> None:
    board = Board(3)
    assert ask(board, 1, "cmd=init pmi_version=1 pmi_subversion=1").endswith("rc=0")
    assert ask(board, 1, "cmd=get_my_kvsname") == "cmd=my_kvsname kvsname=beowire"
    assert ask(board, 1, "cmd=get_universe_size") == "cmd=universe_size size=3"
    assert ask(board, 1, "cmd=get_appnum") == "cmd=appnum appnum=0"
    assert "vallen_max=1024" in ask(board, 1, "cmd=get_maxes")
    assert ask(board, 1, "cmd=finalize") == "cmd=finalize_ack"


def test_board__what_one_puts_others_get() -> None:
    board = Board(2)
    put = "cmd=put kvsname=beowire key=a value=1=2"
    assert ask(board, 0, put) == "cmd=put_result rc=0 msg=success"
    get = "cmd=get kvsname=beowire key=a"
    assert ask(board, 1, get) == "cmd=get_result rc=0 msg=success value=1=2"
    assert " rc=-1 " in ask(board, 1, "cmd=get kvsname=beowire key=b")
    assert " rc=-1 " in ask(board, 1, put)  # a second time
    assert " rc=-1 " in ask(board, 1, "cmd=put kvsname=beowire value=1")


def test_board__all_leave_a_barrier_when_the_last_comes() -> None:
    board = Board(3)
    for _ in range(2):
        assert board.handle(2, "cmd=barrier_in") == []
        assert board.handle(0, "cmd=barrier_in") == []
        assert board.waiting == {0, 2}
        out = board.handle(1, "cmd=barrier_in")
        assert out == [Reply(rank, "cmd=barrier_out rc=0") for rank in range(3)]
        assert board.waiting == set()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("cmd=abort exitcode=7", 7),
        ("cmd=abort exitcode=-1", 255),
        ("cmd=abort exitcode=256", 1),
        ("cmd=abort exitcode=x", 1),
        ("cmd=abort", 1),
        ("", 1),
        ("cmd=", 1),
        ("GET / HTTP/1.1", 1),
    ],
)
def test_board__what_ends_the_job(line: str, code: int) -> None:
    with pytest.raises(BeowireError, match="rank 1 ") as caught:
        Board(2).handle(1, line)
    assert caught.value.exit_code == code
    assert "\n" not in str(caught.value)
