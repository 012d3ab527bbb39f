# SPDX-License-Identifier: BSD-3-Clause
"""What papers measured, measured again: `beowire reproduce NUMBER`.

A paper is a module `paper_NUMBER.py` with a `PAPER` (base.py), found by its name: nothing else has
to be told of it. It has the figures that the paper gives in numbers, measures the same here
(comparison.py does so by `beowire compare`), and puts both into tables.
"""
