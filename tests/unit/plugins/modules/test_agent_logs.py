# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import AgentServer


def test_logs_are_saved_for_the_owner_under_a_safe_name(agent: AgentServer, module: Any, tmp_path: Path) -> None:
    agent.answers["log.collect_system_logs"] = lambda _: {"system_logs": base64.b64encode(b"archive").decode()}
    answer = module("agent_logs", **agent.options(), dest=str(tmp_path / "logs"), label="../../etc/n$(x) \n1")
    saved = Path(answer["path"])
    assert saved.parent == tmp_path / "logs"
    assert saved.name.startswith("etc-n-x-1_")
    assert saved.read_bytes() == b"archive"
    assert saved.stat().st_mode & 0o777 == 0o600


def test_best_effort_turns_a_failure_into_a_warning(agent: AgentServer, module: Any, tmp_path: Path) -> None:
    agent.stop()
    options = {**agent.options(), "dest": str(tmp_path)}
    assert module("agent_logs", **options)["failed"]
    answer = module("agent_logs", **options, best_effort=True)
    assert not answer.get("failed")
    assert "Check that the machine is on" in str(answer["warnings"])


def test_check_mode_fetches_nothing(agent: AgentServer, module: Any, tmp_path: Path) -> None:
    assert module("agent_logs", **agent.options(), dest=str(tmp_path), _ansible_check_mode=True)["changed"]
    assert agent.requests == []
