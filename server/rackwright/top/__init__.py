# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""``rackwright top``: the fleet in a terminal, from wherever the API is reached; it needs nothing of the daemon."""
