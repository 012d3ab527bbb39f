# SPDX-License-Identifier: BSD-3-Clause
"""The virtual cluster: nodes are network namespaces, the wire between them has chosen properties.

`options.py` says what a lab can be (`cards.py`: its network cards), `cluster.py` is what other code
calls. The rest makes it: `keeper.py` is the process that a lab lives and dies with, `network.py`
turns options into commands for ip, tc and nft, `enter.py` runs a program in a node, `state.py` and
`processes.py` find labs and what sits in them, `kernel.py` wraps the system calls that Python
lacks.
"""
