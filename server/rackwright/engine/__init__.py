# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Takes a node from a verb to a stable state (docs/explanation/architecture.md).

``plan`` writes what is to be done; the rest runs in the conductor process. Small parts without effects
(``composition``, ``waves``, ``context``) stand apart from those that write to the database.
"""
