# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._agent import Agent, AgentBusy
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import TOKEN, AgentServer, certificate

STEP = "deploy.execute_deploy_step"
PARAMS = {"step": {"interface": "deploy", "step": "write_image"}}


def client(server: AgentServer, token: str = TOKEN) -> Agent:
    return Agent(server.url, token, ca=server.ca, timeout=5)


def test_a_synchronous_command_returns_its_result(agent: AgentServer) -> None:
    agent.answers["poll.get_hardware_info"] = lambda _: {"disks": []}
    assert client(agent).call("poll.get_hardware_info", {}) == {"disks": []}


def test_agent_commands_without_token(agent: AgentServer) -> None:
    """Every request carries the token, reads too; no text of an error holds it."""
    asked = client(agent)
    asked.status()
    asked.commands()
    asked.start(STEP, PARAMS)
    agent.end()
    asked.call("standby.sync", {})
    assert agent.tokens == [TOKEN] * len(agent.requests)
    agent.stop()
    with pytest.raises(OperationError) as caught:
        asked.commands()
    assert TOKEN not in str(caught.value)


def test_a_wrong_token_is_an_error_that_says_what_to_do(agent: AgentServer) -> None:
    with pytest.raises(OperationError, match=r"HTTP 401: Token invalid.*start it again") as caught:
        client(agent, "another-token").commands()
    assert "another-token" not in str(caught.value)


def test_an_agent_that_is_gone_is_tried_three_times_and_named(
    agent: AgentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    agent.stop()
    with pytest.raises(OperationError, match=rf"list the commands on the agent at {agent.url}.*Check that the machine"):
        client(agent).commands()
    assert len(pauses) == 2


def test_a_busy_agent_is_no_failure(agent: AgentServer) -> None:
    client(agent).start(STEP, PARAMS)
    with pytest.raises(AgentBusy):
        client(agent).call("poll.get_hardware_info", {})


def test_a_dropped_post_counts_when_the_command_runs(agent: AgentServer) -> None:
    agent.drop_after_post = True
    command = client(agent).start(STEP, PARAMS)
    assert (command.name, command.status) == ("execute_deploy_step", "RUNNING")
    assert len(agent.posted) == 1


def test_a_dropped_post_fails_when_the_command_does_not_run(agent: AgentServer) -> None:
    agent.drop_before_post = True
    with pytest.raises(OperationError, match=rf"run {STEP}"):
        client(agent).start(STEP, PARAMS)
    assert agent.posted == []


def test_a_dropped_post_is_not_taken_for_an_earlier_command_that_has_ended(agent: AgentServer) -> None:
    client(agent).start(STEP, PARAMS)
    agent.end_step("deploy")
    agent.drop_before_post = True
    with pytest.raises(OperationError, match=rf"run {STEP}"):
        client(agent).start(STEP, PARAMS)


def test_a_failed_command_raises_the_words_of_the_agent(agent: AgentServer) -> None:
    agent.answers["clean.get_clean_steps"] = lambda _: {
        "error": {"type": "HardwareManagerNotFound", "code": 500, "message": "No manager", "details": "none loaded"}
    }
    with pytest.raises(OperationError, match=r"the agent says: No manager: none loaded"):
        client(agent).call("clean.get_clean_steps", {})


def test_only_the_certificate_of_the_heartbeat_is_trusted(agent: AgentServer, tmp_path: Path) -> None:
    other, _file = certificate(datetime.now(UTC) - timedelta(hours=1), tmp_path)
    with pytest.raises(OperationError, match="certificate is not the one of its heartbeat"):
        Agent(agent.url, TOKEN, ca=other).commands()
    assert agent.requests == []


def test_a_certificate_for_another_address_is_refused(agent: AgentServer) -> None:
    with pytest.raises(OperationError, match="Hostname mismatch"):
        Agent(agent.url.replace("127.0.0.1", "localhost"), TOKEN, ca=agent.ca).commands()


@pytest.mark.parametrize(
    ("clock", "said"),
    [
        (timedelta(minutes=45), None),
        (timedelta(days=-1), None),
        (timedelta(days=1), r"clock differs by (1 day, 0:00:0\d|23:59:5\d) \(ahead\)"),
        (timedelta(days=-40), r"clock differs by (40|39) days, .* \(behind\)"),
        (datetime(1970, 1, 1, 2, tzinfo=UTC) - datetime.now(UTC), r"clock differs by \d{5} days, .* \(behind\)"),
    ],
    ids=["45_minutes_ahead", "a_day_behind", "a_day_ahead", "40_days_behind", "1970"],
)
def test_clock_skew_breaks_agent_tls(tmp_path: Path, clock: timedelta, said: str | None) -> None:
    """A small skew works; a larger one is named, soon, and never gets past the verification."""
    with AgentServer(tmp_path, clock=clock).running() as server:
        begin = time.monotonic()
        if said is None:
            assert client(server).commands() == []
            return
        with pytest.raises(OperationError, match=said):
            client(server).commands()
        assert time.monotonic() - begin < 5
        assert TOKEN not in server.tokens


def test_an_answer_that_is_no_command_is_an_error(agent: AgentServer) -> None:
    agent.commands.append({"id": "1"})
    with pytest.raises(OperationError, match="understand the answer of the agent"):
        client(agent).commands()


@pytest.mark.parametrize("url", ["", "ftp://127.0.0.1", "https://", "https://[::1", "file:///etc/passwd"])
def test_an_address_that_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(OperationError, match="reach the agent"):
        Agent(url, TOKEN)


def test_a_certificate_that_is_no_pem_is_refused() -> None:
    with pytest.raises(OperationError, match="no PEM certificate"):
        Agent("https://127.0.0.1:9999", TOKEN, ca="garbage")


def test_an_agent_without_tls_can_be_asked(tmp_path: Path) -> None:
    with AgentServer(tmp_path, tls=False).running() as server:
        assert Agent(server.url, TOKEN).status()["version"] == "13.0.0"
