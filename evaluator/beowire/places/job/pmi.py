# SPDX-License-Identifier: BSD-3-Clause
"""The launcher's side of PMI-1, by which the processes of a job find one another.

The wire protocol is that of MPICH's simple PMI: lines of text, `cmd=NAME key=value ...`, one answer
to each question. Its other side is `transport/job/pmi.c`, or an MPI library. Pure: lines in, lines
out.
"""

from dataclasses import dataclass, field

from beowire.errors import BeowireError

_TABLE = "beowire"

#: MPICH's own limits: a line has 1024 bytes in all.
_MAXES = "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024"
LINE_BYTES_MAX = 4096


@dataclass(frozen=True)
class Reply:
    """A line for the process `rank`."""

    rank: int
    line: str


@dataclass
class Board:
    """What the processes of one job have told each other. They meet at a barrier, again and
    again; those that wait there are `waiting`."""

    size: int
    waiting: set[int] = field(default_factory=set)
    _values: dict[str, str] = field(default_factory=dict)

    def handle(self, rank: int, line: str) -> list[Reply]:
        """The replies to one line of a process; raises BeowireError where there can be none."""
        words = dict(word.partition("=")[::2] for word in line.split())
        match words.get("cmd"):
            case "barrier_in":
                return self._barrier(rank)
            case "abort":
                raise BeowireError(
                    f"rank {rank} aborts the job: {words.get('error_msg', 'it gives no reason')}",
                    exit_code=_exit_code(words.get("exitcode", "")),
                )
            case _:
                return [Reply(rank, self._answer(rank, line, words))]

    def _answer(self, rank: int, line: str, words: dict[str, str]) -> str:
        simple = {
            "init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
            "get_maxes": _MAXES,
            "get_appnum": "cmd=appnum appnum=0",
            "get_universe_size": f"cmd=universe_size size={self.size}",
            "get_my_kvsname": f"cmd=my_kvsname kvsname={_TABLE}",
            "finalize": "cmd=finalize_ack",
            "spawn": "cmd=spawn_result rc=-1",
        }
        match words.get("cmd"):
            case "put":
                return self._put(words.get("key", ""), words.get("value", ""))
            case "get":
                return self._get(words.get("key", ""))
            case known if known in simple:
                return simple[known]
            case _:
                raise BeowireError(f"rank {rank} does not speak PMI-1: {line[:80]!r}", exit_code=1)

    def _put(self, key: str, value: str) -> str:
        if not key or key in self._values:
            return "cmd=put_result rc=-1 msg=duplicate_key"
        self._values[key] = value
        return "cmd=put_result rc=0 msg=success"

    def _get(self, key: str) -> str:
        if key not in self._values:
            return "cmd=get_result rc=-1 msg=key_not_found value=unknown"
        return f"cmd=get_result rc=0 msg=success value={self._values[key]}"

    def _barrier(self, rank: int) -> list[Reply]:
        self.waiting.add(rank)
        if len(self.waiting) < self.size:
            return []
        self.waiting.clear()
        return [Reply(each, "cmd=barrier_out rc=0") for each in range(self.size)]


def _exit_code(text: str) -> int:
    code = int(text) if text.lstrip("-").isdecimal() else 1
    return code & 0xFF or 1
