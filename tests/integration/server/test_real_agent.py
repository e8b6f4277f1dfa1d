# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The real ironic-python-agent against the real API: discovery, inspection, lookup, TLS, heartbeats, commands."""

from __future__ import annotations

import importlib.metadata
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rackwright.services.agents import TOKEN
from rackwright.store import inventory as inventories
from rackwright.store.session import reading
from tests.integration.server.api_process import ServedHouse, served, wait_for
from tests.unit.server.agent_house import MAC, NODE

Boot = Callable[..., Path]
ROOT = Path(__file__).parents[3]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[ServedHouse]:
    with served(tmp_path) as made:
        yield made


@pytest.fixture
def boot(house: ServedHouse, tmp_path: Path) -> Iterator[Boot]:
    running: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> Path:
        folder = tmp_path / f"agent{len(running)}"
        folder.mkdir()
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        hosts = {"api_url": house.url, "advertise_host": "127.0.0.1", "listen_host": "127.0.0.1"}
        options = hosts | {"listen_port": port, "advertise_port": port}
        words = [f"--{name}={value}" for name, value in options.items()]
        program = [sys.executable, "-m", "tests.integration.server.real_agent", str(folder), MAC]
        log = folder / "log"
        with log.open("wb") as output:
            running.append(
                subprocess.Popen([*program, *words, *arguments], stdout=output, stderr=subprocess.STDOUT, cwd=ROOT)
            )
        return log

    yield start
    for process in running:
        process.kill()
        process.wait()


def info(house: ServedHouse) -> dict[str, Any]:
    return house.sealer.unseal(house.node().driver_internal_info)


def heard(house: ServedHouse) -> bool:
    return "agent_url" in house.node().driver_internal_info


def commands(house: ServedHouse) -> httpx.Client:
    """Return a client that trusts the certificate of the heartbeat and nothing else."""
    known = info(house)
    context = ssl.create_default_context(cadata=known["agent_verify_ca"])
    query = {"agent_token": known[TOKEN]}
    return httpx.Client(base_url=known["agent_url"], verify=context, params=query, timeout=30, trust_env=False)


def test_it_is_the_agent_of_the_contract() -> None:
    assert importlib.metadata.version("ironic-python-agent") == "13.0.0"


def test_the_agent_reports_its_inspection(house: ServedHouse, boot: Boot) -> None:
    house.add(NODE, MAC, state="inspect wait")
    house.wait("inspection")
    boot(f"--inspection_callback_url={house.url}/v1/continue_inspection", "--inspection_collectors=default")
    wait_for(lambda: house.operation_is("ready"), "the report wakes the operation")
    assert house.operation().facts == {"inventory_received": True}
    assert house.node().properties == {"cpu_arch": "x86_64"}
    with reading(house.database) as session:
        stored = inventories.of_node(house.node().id or 0, session=session)
    assert stored is not None
    assert stored.inventory["disks"][0]["serial"] == "small-1"
    assert stored.plugin_data["root_disk"]["name"] == "/dev/vda"
    assert stored.plugin_data["macs"] == [MAC]
    wait_for(lambda: info(house).get("agent_token_proved"), "lookup by the UUID of the report, and a heartbeat")
    assert not heard(house)


def test_the_agent_looks_itself_up_and_takes_commands_over_its_own_tls(house: ServedHouse, boot: Boot) -> None:
    house.add(NODE, MAC, state="clean wait")
    house.wait()
    boot()
    wait_for(lambda: heard(house), "the first heartbeat")
    assert house.operation_is("ready")
    known = info(house)
    assert known["agent_url"].startswith("https://127.0.0.1:")
    assert known["agent_version"] == "13.0.0"
    node = {"uuid": NODE, "driver_internal_info": {}, "instance_info": {}, "properties": {}}
    with commands(house) as client:
        asked = {"name": "clean.get_clean_steps", "params": {"node": node, "ports": []}}
        found = client.post("/v1/commands/", json=asked, params={"wait": "true", **client.params}).json()
        assert found["command_status"] == "SUCCEEDED"
        step = found["command_result"]["clean_steps"]["SmallMachine"][0]
        before = info(house)["agent_last_heartbeat"]
        params = {"step": step, "node": node, "ports": [], "clean_version": {"SmallMachine": "1"}}
        client.post("/v1/commands/", json={"name": "clean.execute_clean_step", "params": params})
        wait_for(lambda: info(house)["agent_last_heartbeat"] > before, "a heartbeat at the end of the step")
        last = client.get("/v1/commands/").json()["commands"][-1]
        assert (last["command_status"], last["command_result"]["clean_result"]) == ("SUCCEEDED", "settled")
        assert client.get("/v1/commands/", params={"agent_token": "x" * 43}).status_code == 401


def test_a_token_that_got_lost_on_the_way_does_not_lock_the_agent_out(house: ServedHouse, boot: Boot) -> None:
    house.add(NODE, MAC)
    lost = house.token()
    boot()
    wait_for(lambda: heard(house), "the first heartbeat")
    assert info(house)[TOKEN] != lost
    assert house.token() == "******"


def test_an_agent_with_the_token_of_its_boot_media_is_trusted(house: ServedHouse, boot: Boot) -> None:
    house.add(NODE, MAC)
    built_in = house.sealer.seal({TOKEN: "b" * 43}) | {"agent_secret_token_pregenerated": True}
    house.change(driver_internal_info=built_in)
    boot(f"--agent_token={'b' * 43}")
    wait_for(lambda: heard(house), "the first heartbeat")
    assert info(house)[TOKEN] == "b" * 43


def test_an_agent_of_an_earlier_boot_is_refused(house: ServedHouse, boot: Boot) -> None:
    house.add(NODE, MAC)
    built_in = house.sealer.seal({TOKEN: "n" * 43}) | {"agent_secret_token_pregenerated": True}
    house.change(driver_internal_info=built_in)
    house.wait()
    log = boot(f"--agent_token={'o' * 43}")
    wait_for(lambda: b"HeartbeatError" in log.read_bytes(), "the agent's heartbeat is refused")
    assert b"Error 400" in log.read_bytes()
    assert not heard(house)
    assert house.operation_is("waiting")


def test_a_second_agent_for_a_node_that_has_one_locks_itself_down(house: ServedHouse, boot: Boot) -> None:
    house.add(NODE, MAC)
    house.beat(house.token(), callback_url="https://192.0.2.1:9999")
    log = boot()
    wait_for(lambda: b"FATAL" in log.read_bytes() or b"locked down" in log.read_bytes(), "the agent gives up")
    assert info(house)["agent_url"] == "https://192.0.2.1:9999"
