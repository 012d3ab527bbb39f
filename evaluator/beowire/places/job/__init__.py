# SPDX-License-Identifier: BSD-3-Clause
"""`beowire run`: the processes of one parallel program, wherever they run."""
