# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The database: one file per table with its queries, sessions, sealed secrets and migrations.

Functions take a keyword-only ``session`` and never commit; ``services`` and ``engine`` do.
"""
