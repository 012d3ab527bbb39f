# SPDX-License-Identifier: BSD-3-Clause
"""Labs whose nodes are machines: kernels booted for them, under QEMU or as user-mode Linux.

`keeper.py` is the process that such a lab lives and dies with. It starts the machines (`guest.py`;
`qemu.py` and `uml.py` say how each kind is started, `parts.py` finds what that takes,
`initramfs.py` brings a kernel of QEMU to the host's files, `wire.py` joins more than two). In each
machine `agent.py` is the first process, and runs programs (`program.py`). `call.py` runs a program
in a machine, for whoever wants that; between the two `broker.py` passes frames on (`frames.py`),
all of them over `loop.py`.
"""
