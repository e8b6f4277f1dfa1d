# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Two secrets, the BMC's password and the agent's token, are where they are needed and nowhere else."""

from __future__ import annotations

from tests.integration.server.lab.lives import Lives
from tests.integration.server.lab.search import CANARY


def test_secrets_are_where_they_are_needed_and_nowhere_else(lives: Lives) -> None:
    seen = lives.searched.result()
    assert len(seen.search.tokens) == 4, "each boot has a token of its own, and was looked at"
    assert seen.search.runs > 5, "runs were looked at"
    assert seen.logs, "the agent's logs were looked at"
    assert seen.search.found == set()
    assert CANARY not in seen.nodes
    assert seen.left == [], "media with tokens are removed"
