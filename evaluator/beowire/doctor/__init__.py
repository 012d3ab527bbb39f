# SPDX-License-Identifier: BSD-3-Clause
"""`beowire doctor`: what of a host, its card and the way to others costs Beowire time."""
