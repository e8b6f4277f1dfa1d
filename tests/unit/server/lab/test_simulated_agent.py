# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What simulated agents say to whom, by their kernel's parameters."""

import asyncio
import random
from collections.abc import Mapping
from pathlib import Path

import aiohttp

from rackwright_lab.simulated.agent import Agent
from rackwright_lab.simulated.faults import MachineFaults
from rackwright_lab.simulated.history import History
from rackwright_lab.simulated.http import Answer, Request, listen
from rackwright_lab.simulated.machine import Machine, Surroundings
from rackwright_lab.simulated.options import SimulatedOptions

CALLBACK = "/v1/continue_inspection"
ENDS = ("agent ends", "heartbeat")


async def _requests(folder: Path, parameters: Mapping[str, str]) -> list[str]:
    """Boot an agent; return the paths of its requests until it ends or has sent a heartbeat."""
    seen: list[str] = []

    async def answer(request: Request) -> Answer:
        seen.append(request.path)
        if request.path == "/v1/lookup":
            return Answer(200, {"node": {"uuid": "a"}, "config": {"heartbeat_timeout": 300, "agent_token": "t" * 32}})
        return Answer(202 if request.method == "POST" else 200, {})

    port, server = await listen(answer, "127.0.0.1")
    given = {name: value.format(api=f"http://127.0.0.1:{port}") for name, value in parameters.items()}
    history = History(folder / "node-1.jsonl", 0)
    async with aiohttp.ClientSession() as client:
        around = Surroundings(SimulatedOptions(directory=folder), client, lambda *_: agent)
        machine = Machine(1, around, MachineFaults(random.Random(0)), history)
        agent = Agent(machine, given, "http://127.0.0.1:1/node-1", None)
        async with asyncio.timeout(20):
            while not any(entry["what"] in ENDS for entry in history.last):
                await asyncio.sleep(0.01)
        agent.end()
    server.close()
    return seen


def test_an_agent_that_knows_only_where_to_report_does_that_and_no_more(tmp_path: Path) -> None:
    assert asyncio.run(_requests(tmp_path, {"ipa-inspection-callback-url": f"{{api}}{CALLBACK}"})) == [CALLBACK]


def test_an_agent_that_knows_nobody_asks_nobody(tmp_path: Path) -> None:
    assert asyncio.run(_requests(tmp_path, {})) == []


def test_an_agent_that_knows_the_api_too_goes_on_with_lookup_and_heartbeat(tmp_path: Path) -> None:
    parameters = {"ipa-api-url": "{api}", "ipa-inspection-callback-url": f"{{api}}{CALLBACK}"}
    seen = asyncio.run(_requests(tmp_path, parameters))
    assert [path for path in seen if path != "/"] == [CALLBACK, "/v1/lookup", "/v1/heartbeat/a"]
