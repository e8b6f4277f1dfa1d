# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import gzip
from pathlib import Path
from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import AgentServer, always


def test_logs_are_saved_for_the_owner_under_a_safe_name_and_without_the_token(
    agent: AgentServer, module: Any, tmp_path: Path
) -> None:
    told = gzip.compress(f"kernel: ipa-agent-token={agent.options()['token']} quiet".encode())
    agent.answers["log.collect_system_logs"] = lambda _: {"system_logs": base64.b64encode(told).decode()}
    answer = module("agent_logs", **agent.options(), dest=str(tmp_path / "logs"), label="../../etc/n$(x) \n1")
    saved = Path(answer["path"])
    assert saved.parent == tmp_path / "logs"
    assert saved.name.startswith("etc-n-x-1_")
    stars = "*" * len(agent.options()["token"])
    assert gzip.decompress(saved.read_bytes()).decode() == f"kernel: ipa-agent-token={stars} quiet"
    assert saved.stat().st_mode & 0o777 == 0o600


def test_logs_that_are_no_archive_are_refused(agent: AgentServer, module: Any, tmp_path: Path) -> None:
    for told in (
        "no base64!",
        base64.b64encode(b"no archive").decode(),
        base64.b64encode(gzip.compress(b"x")[:9]).decode(),
    ):
        agent.answers["log.collect_system_logs"] = always({"system_logs": told})
        answer = module("agent_logs", **agent.options(), dest=str(tmp_path / "logs"))
        assert "gzip archive" in answer["msg"]
    assert not (tmp_path / "logs").exists()


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
