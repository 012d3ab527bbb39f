# SPDX-License-Identifier: BSD-3-Clause
"""What papers measured, measured again: `beowire reproduce NUMBER`.

A paper is a file `papers/NUMBER.toml`, found by its name: nothing else has to be told of it. It has
the figures that the paper gives in numbers, the commands of Beowire that measure the same here
(steps.py runs them and keeps their records), and the tables and pictures (page.py, charts.py) whose
values are expressions of these records (values.py). paper.py reads it.
"""
