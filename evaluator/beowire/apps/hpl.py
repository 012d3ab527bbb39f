# SPDX-License-Identifier: BSD-3-Clause
"""LINPACK, as Debian's package hpcc has it: its input file, and who can run it.

The paper's best variants are WR00C2C2 and WR00C2L2 on a grid of 4 x 2: row-major, no look-ahead,
one ring, recursive Crout with two parts, and Crout or left-looking panels with two columns; here on
a grid as square as the ranks allow, with as many rows as columns or fewer.
"""

import math
import shutil
from pathlib import Path

from beowire.errors import BeowireError
from beowire.places.mpi.installation import Installation

_MPI = "openmpi4"
_SIZES = {"S": 500, "W": 1000, "A": 3000, "B": 8000}
_BLOCK = 64
_PANELS = {"crout": 1, "left": 0}

_INPUT = """\
HPLinpack benchmark input file
Beowire
HPL.out      output file name (if any)
6            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{size}
1            # of NBs
{block}
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
{rows}
{columns}
16.0         threshold
1            # of panel fact
{panel}
1            # of recursive stopping criterium
2
1            # of panels in recursion
2
1            # of recursive panel fact.
1
1            # of broadcast
0
1            # of lookahead depth
0
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0            Number of additional problem sizes for PTRANS
1200
0            number of additional blocking sizes for PTRANS
40
"""


def program(mpi: Installation | None) -> Path:
    """hpcc. BeowireError: it is not installed, or of another MPI; None asks for any."""
    found = shutil.which("hpcc")
    if found is None:
        raise BeowireError("hpl needs hpcc: install Debian's package hpcc", exit_code=1)
    if mpi is not None and mpi.name != _MPI:
        raise BeowireError(f"hpl is Debian's hpcc, which is built for {_MPI}", exit_code=1)
    return Path(found)


def input_file(letter: str, ranks: int, variant: str) -> str:
    """hpccinf.txt for a class and a number of ranks; `variant`: `crout` or `left`."""
    rows = max(one for one in range(1, math.isqrt(ranks) + 1) if ranks % one == 0)
    return _INPUT.format(
        size=_SIZES[letter],
        block=_BLOCK,
        rows=rows,
        columns=ranks // rows,
        panel=_PANELS[variant],
    )
