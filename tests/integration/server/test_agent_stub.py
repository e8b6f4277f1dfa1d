# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The stand-in for the agent behaves like the agent, so that tests may trust what they prove with it."""

from __future__ import annotations

import hashlib
import json
import ssl
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from rackwright.services.agents import TOKEN
from tests.integration.server.agent_commands import HARDWARE_MANAGER, Behaviour
from tests.integration.server.agent_stub import AgentStub
from tests.integration.server.api_process import ServedHouse, served, wait_for
from tests.unit.server.agent_house import MAC, NODE

Boot = Callable[..., AgentStub]
SHOWN = {"uuid": NODE}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[ServedHouse]:
    with served(tmp_path) as made:
        yield made


@pytest.fixture
def boot(house: ServedHouse) -> Iterator[Boot]:
    running: list[AgentStub] = []

    def start(behaviour: Behaviour | None = None, **more: Any) -> AgentStub:
        running.append(AgentStub(house.url, [MAC], behaviour=behaviour, **more))
        return running[-1].start()

    yield start
    for stub in running:
        stub.stop()


def call(house: ServedHouse, name: str, params: dict[str, Any], *, wait: bool = False) -> httpx.Response:
    known = house.sealer.unseal(house.node().driver_internal_info)
    context = ssl.create_default_context(cadata=known["agent_verify_ca"])
    query = {"agent_token": known[TOKEN], "wait": str(wait).lower()}
    with httpx.Client(base_url=known["agent_url"], verify=context, trust_env=False) as client:
        return client.post("/v1/commands/", json={"name": name, "params": params}, params=query)


def step(house: ServedHouse, name: str, *, wait: bool = True, **args: Any) -> dict[str, Any]:
    params = {"step": {"interface": "deploy", "step": name, "args": args}, "node": SHOWN, "ports": []}
    params["deploy_version"] = HARDWARE_MANAGER
    return dict(call(house, "deploy.execute_deploy_step", params, wait=wait).json())


def test_it_finds_its_node_and_wakes_the_operation(house: ServedHouse, boot: Boot) -> None:
    house.add(NODE, MAC)
    house.wait()
    boot()
    wait_for(lambda: house.operation_is("ready"), "the first heartbeat")
    steps = call(house, "deploy.get_deploy_steps", {"node": SHOWN, "ports": []}).json()
    assert [each["step"] for each in steps["command_result"]["deploy_steps"]["GenericHardwareManager"]] == [
        "write_image",
        "inject_files",
    ]


def test_it_reports_an_inspection(house: ServedHouse, boot: Boot) -> None:
    house.add(NODE, MAC, state="inspect wait")
    house.wait("inspection")
    stub = boot(inspects=True)
    wait_for(lambda: house.operation_is("ready"), "the report")
    wait_for(lambda: stub.happened("heartbeat"), "the first heartbeat")
    assert stub.happened("inspected") == [{"what": "inspected", "status": 202}]


def test_it_writes_an_image_down_and_tells_the_end_by_a_heartbeat(
    house: ServedHouse, boot: Boot, tmp_path: Path
) -> None:
    house.add(NODE, MAC)
    content, disk = b"system" * 1000, tmp_path / "disk"
    (tmp_path / "http").mkdir()
    (tmp_path / "http" / "image").write_bytes(content)
    stub = boot(Behaviour(disk=disk))
    wait_for(stub.ready.is_set, "the first heartbeat")
    beats = len(stub.happened("heartbeat"))
    info = {"id": "image", "urls": [f"{house.url}/files/image"], "os_hash_algo": "sha256"}
    info["os_hash_value"] = hashlib.sha256(content).hexdigest()
    assert step(house, "write_image", wait=False, image_info=info, configdrive="cd")["command_status"] == "RUNNING"
    wait_for(lambda: len(stub.happened("heartbeat")) > beats, "the heartbeat at the end")
    assert disk.read_bytes() == content
    assert stub.happened("image written") == [{"what": "image written", "image": info, "configdrive": "cd"}]
    refused = step(house, "write_image", image_info={**info, "os_hash_value": "0" * 64})
    assert refused["command_status"] == "FAILED"
    assert "the image has the sum" in refused["command_error"]["details"]


def test_it_refuses_requests_without_its_token_and_a_second_command(house: ServedHouse, boot: Boot) -> None:
    house.add(NODE, MAC)
    stub = boot(Behaviour(step_seconds=1))
    wait_for(stub.ready.is_set, "the first heartbeat")
    context = ssl.create_default_context(cadata=house.node().driver_internal_info["agent_verify_ca"])
    with httpx.Client(base_url=stub.url, verify=context, trust_env=False) as client:
        assert client.get("/v1/commands/").status_code == 401
        assert client.post("/v1/commands/", json={}).status_code == 401
        assert client.get("/v1/status").json()["version"] == "13.0.0"
    step(house, "inject_files", wait=False)
    busy = call(house, "standby.sync", {})
    assert (busy.status_code, busy.json()["faultstring"]) == (409, "Agent is busy")
    assert call(house, "standby.dance", {}).status_code == 400
    assert call(house, "dance.now", {}).status_code == 404


def test_nobody_trusts_it_without_its_certificate(house: ServedHouse, boot: Boot) -> None:
    house.add(NODE, MAC)
    stub = boot()
    wait_for(stub.ready.is_set, "the first heartbeat")
    with httpx.Client(trust_env=False) as client, pytest.raises(httpx.ConnectError):
        client.get(f"{stub.url}/v1/status")


def test_a_step_fails_or_does_not_fit_as_it_was_told(house: ServedHouse, boot: Boot) -> None:
    house.add(NODE, MAC)
    stub = boot(Behaviour(failing={"inject_files": "no space left"}))
    wait_for(stub.ready.is_set, "the first heartbeat")
    assert step(house, "inject_files")["command_error"]["details"] == "no space left"
    params = {"step": {"step": "write_image"}, "node": SHOWN, "ports": [], "deploy_version": {"other": "1"}}
    mismatch = call(house, "deploy.execute_deploy_step", params, wait=True).json()
    assert mismatch["command_status"] == "CLEAN_VERSION_MISMATCH"


def test_it_dies_in_the_middle_of_a_step(house: ServedHouse, boot: Boot) -> None:
    house.add(NODE, MAC)
    stub = boot(Behaviour(dies_in="inject_files", heartbeat_seconds=0.1))
    wait_for(stub.ready.is_set, "the first heartbeat")
    step(house, "inject_files", wait=False)
    wait_for(stub.silent.is_set, "its death")
    stub.stop()
    beats = len(stub.happened("heartbeat"))
    time.sleep(0.5)
    assert len(stub.happened("heartbeat")) == beats
    assert not stub.happened("step ended")
    with pytest.raises(httpx.ConnectError):
        call(house, "standby.sync", {})


def test_a_heartbeat_with_a_wrong_token_or_over_http_is_refused(house: ServedHouse, boot: Boot) -> None:
    house.add(NODE, MAC)
    for behaviour in (Behaviour(heartbeat_token="w" * 43), Behaviour(plain_http=True)):
        stub = boot(behaviour)
        wait_for(partial(stub.happened, "heartbeat"), "the first heartbeat")
        stub.stop()
        assert stub.happened("heartbeat")[0]["status"] == 400
    assert "agent_url" not in house.node().driver_internal_info


def test_without_any_token_it_locks_itself_down(house: ServedHouse, boot: Boot) -> None:
    house.add(NODE, MAC)
    house.beat(house.token())
    stub = boot()
    wait_for(lambda: stub.happened("locked down"), "the lock-down")
    assert not stub.happened("heartbeat")


def test_its_certificate_follows_the_clock_of_the_machine(house: ServedHouse, boot: Boot) -> None:
    house.add(NODE, MAC)
    stub = boot(Behaviour(clock=timedelta(days=1)))
    wait_for(stub.ready.is_set, "the first heartbeat")
    with pytest.raises(httpx.ConnectError, match="not yet valid"):
        call(house, "standby.sync", {})


def test_its_log_file_tells_what_happened(house: ServedHouse, tmp_path: Path) -> None:
    house.add(NODE, MAC)
    stub = AgentStub(house.url, [MAC])
    stub.log_file = tmp_path / "log"
    stub.start()
    wait_for(stub.ready.is_set, "the first heartbeat")
    stub.stop()
    told = [json.loads(line)["what"] for line in (tmp_path / "log").read_text().splitlines()]
    assert told == ["looked up", "heartbeat"]
