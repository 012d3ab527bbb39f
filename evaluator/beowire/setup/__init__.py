# SPDX-License-Identifier: BSD-3-Clause
"""`beowire setup`: makes hosts ready for MPI over Beowire, and undoes that."""
