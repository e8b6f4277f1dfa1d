# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Lives of nodes on daemons of their own; they mostly wait, so all of them are lived at the same time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.integration.server.daemon_house import until
from tests.integration.server.lab.faults import WRONG_SUM
from tests.integration.server.lab.image_server import ImageServer, serve_images
from tests.integration.server.lab.lab_daemon import DRIVE, LabDaemon
from tests.integration.server.lab.light_rack import LightRack, Machine
from tests.integration.server.lab.relay import Call, Relay, SlowPower, relay
from tests.integration.server.lab.search import CANARY, Search

_ERASES = "Asynchronous command execute_clean_step started execution"
_WRITES = "Asynchronous command execute_deploy_step started execution"


@dataclass
class Survival:
    """What became of a node whose daemon was killed while it was cleaned, and again while it was deployed."""

    uuid: str
    cleaned: dict[str, Any]
    boots: int
    erased: int
    is_on: bool
    medium: str | None
    deployed: dict[str, Any] = field(default_factory=dict)
    fetched: list[int] = field(default_factory=list)
    written: int = 0
    ready: str = ""
    left: list[Path] = field(default_factory=list)


@dataclass
class Searched:
    """What a search for secrets saw during a life with a deployment that failed and one that did not."""

    search: Search
    nodes: str
    logs: list[Path]
    left: list[Path]


@dataclass
class Ejected:
    """What went to the BMC in each verb, with the state that the verb ended in."""

    system: str
    calls: dict[str, tuple[str, list[Call]]]


def kill_the_daemon(daemon: LabDaemon) -> None:
    """Kill all of it, and start it again."""
    daemon.kill_all()
    daemon.start()


def kill_the_conductor(daemon: LabDaemon) -> None:
    """Kill one process of it, and wait until there is another one."""
    before = daemon.child("conductor")
    daemon.kill("conductor")
    until(lambda: daemon.child("conductor") not in (None, before), 30, "another conductor")


def booting(daemon: LabDaemon, uuid: str) -> bool:
    """Tell whether the machine boots."""
    return bool(daemon.node(uuid)["provision_state"] == "clean wait")


def erasing(daemon: LabDaemon, uuid: str) -> bool:
    """Tell whether the agent works on the disks."""
    return bool(daemon.node(uuid)["clean_step"].get("step") == "erase_devices_metadata")


@dataclass
class Survivor:
    """A node whose daemon is killed in a way, and at a moment of cleaning."""

    kill: Callable[[LabDaemon], None]
    moment: Callable[[LabDaemon, str], bool]

    def live(self, daemon: LabDaemon, machine: Machine, server: ImageServer) -> Survival:
        """Kill it while the node is cleaned, and in the middle of the image."""
        uuid = daemon.enroll(machine)
        daemon.go(uuid, "manage", "manageable")
        daemon.ask(uuid, "provide")
        until(lambda: self.moment(daemon, uuid), 60, "the moment")
        self.kill(daemon)
        cleaned = daemon.rest(uuid)
        erased = machine.said().count(_ERASES)
        seen = Survival(uuid, cleaned, machine.boots(), erased, machine.is_on(), machine.medium())
        daemon.change(uuid, instance_info=server.image("lab-os.raw"))
        server.stop_in_the_middle()
        daemon.ask(uuid, "active", configdrive=DRIVE)
        until(server.stopped.is_set, 90, "the middle of the image")
        self.kill(daemon)
        server.go_on()
        seen.deployed = daemon.rest(uuid)
        seen.fetched = [fetch.sent for fetch in server.whole(machine.address)]
        seen.written = machine.said().count(_WRITES)
        seen.ready = until(machine.ready, 20, "the deployed system")
        seen.left = list((daemon.state / "http" / "boot").iterdir())
        return seen


def be_searched(daemon: LabDaemon, machine: Machine, server: ImageServer) -> Searched:
    """Search for secrets while a node is inspected, cleaned, deployed in vain and deployed."""
    search = Search(daemon)
    search.start()
    with relay(daemon.rack.host, daemon.rack.redfish) as bmc:
        try:
            _live_with_canary(daemon, machine, server, bmc)
        finally:
            search.end()
    nodes = daemon.client.get("/v1/nodes/detail").text
    logs = list(daemon.state.glob("logs/deploy/*.tar.gz"))
    return Searched(search, nodes, logs, list(daemon.state.rglob("*.iso")))


def _live_with_canary(daemon: LabDaemon, machine: Machine, server: ImageServer, bmc: Relay) -> None:
    bmc.login = (daemon.rack.facts["username"], daemon.rack.facts["password"])
    info = {"redfish_address": bmc.url, "redfish_password": CANARY, "redfish_auth_type": "basic"}
    good = server.image("lab-os.raw")
    uuid = daemon.enroll(machine, info=info, instance_info={**good, "image_os_hash_value": WRONG_SUM})
    for verb, state in (("manage", "manageable"), ("inspect", "manageable"), ("provide", "available")):
        daemon.go(uuid, verb, state)
    daemon.ask(uuid, "active", configdrive=DRIVE)
    assert daemon.rest(uuid)["provision_state"] == "deploy failed"
    daemon.change(uuid, instance_info=good)
    daemon.go(uuid, "active", "active", configdrive=DRIVE)


def be_slow_to_switch_off(daemon: LabDaemon, machine: Machine, server: ImageServer) -> Ejected:
    """Inspect, clean and, in vain, deploy a node whose BMC takes its time."""
    seen = Ejected(machine.system, {})
    with relay(daemon.rack.host, daemon.rack.redfish) as bmc:
        SlowPower(bmc, machine.system)
        wrong = {**server.image("lab-os.raw"), "image_os_hash_value": WRONG_SUM}
        uuid = daemon.enroll(machine, info={"redfish_address": bmc.url}, instance_info=wrong)
        daemon.go(uuid, "manage", "manageable")
        for verb in ("inspect", "provide", "active"):
            bmc.calls.clear()
            daemon.ask(uuid, verb)
            seen.calls[verb] = (daemon.rest(uuid)["provision_state"], list(bmc.calls))
    return seen


@dataclass
class Lives:
    """The lives, each of which can be waited for."""

    killed_daemon: Future[Survival]
    killed_conductor: Future[Survival]
    searched: Future[Searched]
    ejected: Future[Ejected]


def begin(rack: LightRack, images: Path, folder: Path, stack: ExitStack) -> Lives:
    """Begin all of them, each on a machine of its own; ``stack`` waits for them."""
    pool = stack.enter_context(ThreadPoolExecutor())

    def submit(name: str, number: int, live: Callable[[LabDaemon, Machine, ImageServer], Any], **more: str) -> Any:
        machine = rack.machines[number]
        machine.reset()
        server = stack.enter_context(serve_images(rack.host, images))

        def whole() -> Any:
            daemon = LabDaemon(folder / name, rack, images, **more)
            stack.callback(daemon.end)  # for a test that is interrupted: the life breaks off then
            try:
                return live(daemon, machine, server)
            finally:
                daemon.end()  # it would go on to look after the power of a machine that others use

        return pool.submit(whole)

    return Lives(
        submit("killed-daemon", 1, Survivor(kill_the_daemon, booting).live),
        submit("killed-conductor", 2, Survivor(kill_the_conductor, erasing).live),
        submit("searched", 3, be_searched, log_level="DEBUG"),
        submit("ejected", 5, be_slow_to_switch_off),
    )
