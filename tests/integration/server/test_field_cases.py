# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What operators of other provisioners ran into with their services; each case has its name on our list of them."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._client import API_OPTIONS, ApiClient
from ansible_collections.rackwright.metal.plugins.module_utils._converge import converge, foresee
from ansible_collections.rackwright.metal.plugins.module_utils._goal import Goal
from tests.integration.server.daemon_house import until
from tests.integration.server.simulated_house import QUICK, Data, Fleet, Rack, running

PERIOD = 2
"""Seconds between two rounds of the power sync."""

ACTIVE, AVAILABLE = ("node-1", "node-2", "node-3"), "node-4"
HALF_CLEAN, HALF_DEPLOYED = "node-5", "node-6"
HEALTHY, DEAD, LOST = ("node-7", "node-8"), "node-9", "node-10"
STUBBORN = "node-11"
"""It boots its disk whatever was set."""

RUNNING = (*ACTIVE, HALF_CLEAN, HALF_DEPLOYED)


class Plant:
    """A daemon that has just been told of machines, some of which run already."""

    def __init__(self, rack: Rack, fleet: Fleet) -> None:
        self.rack, self.fleet = rack, fleet
        self.machines = {machine["name"]: machine for machine in rack.machines}
        login = (rack.facts["username"], rack.facts["password"])
        self.bmc = httpx.Client(base_url=rack.machines[0]["redfish"], auth=login, trust_env=False, timeout=10)

    def reset(self, name: str, kind: str) -> None:
        """Change the power of a machine behind the daemon's back."""
        path = f"{self.machines[name]['system']}/Actions/ComputerSystem.Reset"
        self.bmc.post(path, json={"ResetType": kind}).raise_for_status()
        until(lambda: self.rack.machine(name)["power"] == kind.removeprefix("Force"), 5, kind)

    def insert(self, name: str, url: str) -> None:
        """Insert a medium behind the daemon's back."""
        manager = self.machines[name]["system"].replace("Systems", "Managers")
        path = f"{manager}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia"
        self.bmc.post(path, json={"Image": url}).raise_for_status()

    def power(self, name: str, target: str) -> float:
        """Have the daemon change the power; return the seconds that took."""
        began = time.monotonic()
        self.fleet.done("PUT", f"/v1/nodes/{name}/states/power", {"target": target})
        until(lambda: self._rests(name, target), 30, f"{target} of {name}")
        return time.monotonic() - began

    def _rests(self, name: str, target: str) -> bool:
        node = self.fleet.done("GET", f"/v1/nodes/{name}")
        return (node["power_state"], node["target_power_state"], node["reservation"]) == (target, None, None)


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    folder = tmp_path_factory.mktemp("plant")
    settings = {"sync_power_state_interval": PERIOD, "clean_callback_timeout": 3, "automated_clean": False}
    with ExitStack() as stack:
        rack = stack.enter_context(running(folder / "rack", 11, *QUICK))
        rack.faults({"fault": "boot-override-accepted-but-ignored", "machines": STUBBORN})
        fleet = Fleet(folder / "daemon", rack, run_slots=4, graceful_shutdown_timeout=1, **settings)
        stack.callback(fleet.stop)
        made = Plant(rack, fleet)
        stack.enter_context(made.bmc)
        for name in RUNNING:
            made.reset(name, "On")
        made.insert(HALF_DEPLOYED, "http://192.0.2.1/boot/earlier.iso")
        fleet.bring(fleet.enroll(), "manage", "manageable")
        steps = [{"interface": "deploy", "step": "erase_devices_metadata"}]
        fleet.verb([STUBBORN], "clean", clean_steps=steps)
        yield made


def test_service_database_lost(plant: Plant) -> None:
    fleet = plant.fleet
    defaults = {name: option.get("default") for name, option in API_OPTIONS.items()}
    client = ApiClient({**defaults, "api_url": f"http://127.0.0.1:{fleet.port}"})
    image = {"image_source": "http://images.example/os.raw", "image_os_hash_value": "ab"}
    goals = [Goal(name, "active", image, inspect=False, running="adopt") for name in (*ACTIVE, HALF_DEPLOYED)]
    goals += [Goal(name, "available", inspect=False, running="adopt") for name in (AVAILABLE, HALF_CLEAN)]
    before = {name: len(plant.rack.history(name)) for name in RUNNING}

    plan = foresee(client, goals)
    assert {name: result["verbs"] for name, result in plan.items() if not result["failed"]} == {
        **{name: ["adopt"] for name in ACTIVE},
        AVAILABLE: ["provide"],
    }
    done = converge(client, goals, timeout=60, tell=lambda _: None)
    assert {name for name, result in done.items() if result["failed"]} == {HALF_CLEAN, HALF_DEPLOYED}
    assert "earlier.iso in its virtual drive" in done[HALF_DEPLOYED]["msg"]
    states = {name: fleet.done("GET", f"/v1/nodes/{name}")["provision_state"] for name in (*RUNNING, AVAILABLE)}
    assert states == {
        **dict.fromkeys(ACTIVE, "active"),
        **dict.fromkeys((HALF_CLEAN, HALF_DEPLOYED), "manageable"),
        AVAILABLE: "available",
    }
    for name in (HALF_CLEAN, HALF_DEPLOYED):
        assert fleet.client.get("/v1/lookup", params={"addresses": plant.machines[name]["mac"]}).status_code == 404
    for name, count in before.items():
        asked = [each for each in plant.rack.history(name)[count:] if each["what"] == "request"]
        assert asked == [], "nobody touched a machine that was running"


@contextmanager
def black_hole() -> Iterator[int]:
    """Return a port at which nobody answers when a connection is opened, as with a host that is gone."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(3):  # the queue is full then, and the system drops what more comes
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield server.getsockname()[1]


def test_dead_bmcs_starve_workers(plant: Plant) -> None:
    with black_hole() as port:
        patch = [{"op": "add", "path": "/driver_info/redfish_address", "value": f"http://127.0.0.1:{port}"}]
        plant.fleet.done("PATCH", f"/v1/nodes/{LOST}", patch)
        since = len(plant.rack.history(DEAD))
        plant.rack.faults(
            {"fault": "dead-bmcs-starve-workers", "machines": DEAD},
            {"fault": "boot-override-accepted-but-ignored", "machines": STUBBORN},
        )
        began = time.monotonic()
        until(lambda: len(plant.rack.history(DEAD)) > since, 10, "a look at the dead one")
        spent = [plant.power(name, target) for target in ("power on", "power off") for name in HEALTHY]
        assert max(spent) < 10
        plant.reset(HEALTHY[0], "On")
        until(lambda: plant.rack.machine(HEALTHY[0])["power"] == "Off", 15, "the end of what the daemon did not want")
        for _ in range(20):
            asked = time.monotonic()
            plant.fleet.done("GET", "/v1/nodes/detail")
            assert time.monotonic() - asked < 1
        periods = (time.monotonic() - began) / PERIOD
        looks = [each for each in plant.rack.history(DEAD)[since:] if each["what"] == "fault"]
        assert 1 <= len(looks) <= periods + 1


def test_boot_override_accepted_but_ignored(plant: Plant) -> None:
    def ended() -> Any:
        node: Data = plant.fleet.done("GET", f"/v1/nodes/{STUBBORN}")
        return node if node["provision_state"] == "clean failed" else None

    node = until(ended, 60, "the end of cleaning")
    for part in ("boot.boot_ramdisk", "clean_callback_timeout", "seems to boot something else", "boot override"):
        assert part in node["last_error"]
    told = plant.rack.history(STUBBORN)
    assert [each["from"] for each in told if each["what"] == "boots"] == ["nothing", "nothing"]
    assert [each["enabled"] for each in told if each["what"] == "boot override"] == ["Once", "Continuous"]
    assert plant.rack.machine(STUBBORN)["power"] == "Off"
    assert plant.rack.machine(STUBBORN)["media"]["Cd"] is None
