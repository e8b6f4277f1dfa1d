# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils import _agent, _agent_steps
from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import AgentServer


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentServer]:
    """Run an agent with TLS, and shorten the pauses of those who talk to it."""
    monkeypatch.setattr(_agent, "PAUSE", 0.01)
    monkeypatch.setattr(_agent_steps, "POLL", 0.01)
    with AgentServer(tmp_path).running() as server:
        yield server
