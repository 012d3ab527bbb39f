# SPDX-License-Identifier: BSD-3-Clause
"""The figures that the transport is built for, each with the command that measures it.

`scripts/bench NAME` prints what was asked, what was measured, and whether that meets it. Nothing is
measured here: that is `beowire compare` (and, for memory and other people's libraries, programs of
their own), whose records are kept beside the figures.
"""
