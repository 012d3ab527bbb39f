# SPDX-License-Identifier: BSD-3-Clause
"""`beowire explain`: what each layer adds, and where the time of a message goes."""
