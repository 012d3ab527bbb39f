# SPDX-License-Identifier: BSD-3-Clause
"""Two records compared (`beowire diff`): their launches, what they tell, and how it is said."""
