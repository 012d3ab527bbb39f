# SPDX-License-Identifier: BSD-3-Clause
"""What papers measured, measured again: `beowire reproduce NUMBER`.

A paper is a module `paper_NUMBER.py` with a `PAPER` (base.py), found by its name: nothing else has
to be told of it. It has the figures that the paper gives in numbers, names the commands of Beowire
that measure the same here (steps.py runs them and keeps their records), and puts both into tables
and pictures (shared.py).
"""
