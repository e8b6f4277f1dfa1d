# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What deploy templates and runbooks do to the steps of a node."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rackwright.domain.outcomes import WaitFor, Waiting
from rackwright.domain.steps import ArgInfo
from rackwright.domain.verbs import Interface, Phase
from rackwright.engine.conductor import Conductor
from rackwright.engine.world import World
from rackwright.runner.fake import FakeRunner
from rackwright.store import node as nodes
from rackwright.store import operation as operations
from rackwright.store.operation import Operation
from rackwright.store.session import reading
from tests.unit.server.api_house import LATEST, NODE, House, fault
from tests.unit.server.engine.engine_house import STEPS, offer, step

SECRET = "correct horse"
TRAITS = ["CUSTOM_BIOS", "CUSTOM_FAST", "CUSTOM_OTHER"]
_SETTINGS = {"settings": ArgInfo(), "password": ArgInfo()}
MORE = (
    step(Phase.DEPLOY, Interface.BIOS, "apply_configuration", argsinfo=_SETTINGS),
    step(Phase.SERVICE, Interface.RAID, "apply_configuration", argsinfo=_SETTINGS),
    step(Phase.CLEAN, Interface.VENDOR, "tune", argsinfo=_SETTINGS, batched=False, variables={"password": "fake_pw"}),
)
APPLY = {"interface": "bios", "step": "apply_configuration", "args": {}, "priority": 90}
RESET = {"interface": "bios", "step": "factory_reset", "order": 2}
TUNE = {"interface": "vendor", "step": "tune", "args": {"password": SECRET, "settings": "s"}, "order": 1}
DRIVER = ["deploy.deploy", "deploy.write_image", "deploy.boot_instance"]


class Rack(House):
    """An API for nodes of one hardware type whose steps are those of the tests of the engine."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.parts = replace(self.parts, catalog=offer((*STEPS, *MORE)))
        self.app.state.parts = self.parts
        self.node(uuid=NODE, name="node-1", traits=TRAITS)

    def named(self, collection: str, name: str, *steps: dict[str, Any], **fields: Any) -> None:
        """Store a deploy template or a runbook."""
        traits = fields.pop("traits", None)
        answer = self.call("POST", f"/{collection}", {"name": name, "steps": list(steps), **fields})
        assert answer.status_code == 201, answer.text
        if traits is not None:
            self.call("PUT", f"/runbooks/{name}/traits", {"traits": traits})

    def verb(self, target: str, *, version: str = LATEST, **more: Any) -> Any:
        return self.call("PUT", "/nodes/node-1/states/provision", {"target": target, **more}, version=version)

    def operation(self) -> Operation:
        """Return what goes on with the node."""
        with reading(self.parts.engine) as session:
            node = nodes.get(NODE, session=session)
            found = operations.unfinished_of(node.id or 0, session=session)
        assert found is not None
        return found

    def steps(self) -> list[str]:
        return [f"{each['interface']}.{each['name']}" for each in self.operation().steps]


@pytest.fixture
def rack(tmp_path: Path) -> Iterator[Rack]:
    yield Rack(tmp_path)


def ready(rack: Rack, *traits: str) -> Rack:
    rack.set(NODE, provision_state="available", instance_info={"traits": list(traits)})
    return rack


def test_the_template_of_a_trait_of_the_instance_changes_the_deployment(rack: Rack) -> None:
    rack.named("deploy_templates", "CUSTOM_BIOS", APPLY)
    rack.named(
        "deploy_templates", "CUSTOM_FAST", {**APPLY, "interface": "deploy", "step": "write_image", "priority": 0}
    )
    rack.named("deploy_templates", "CUSTOM_OTHER", {**APPLY, "priority": 10})
    ready(rack, "CUSTOM_BIOS", "CUSTOM_FAST")
    assert rack.verb("active").status_code == 202
    assert rack.steps() == ["deploy.deploy", "bios.apply_configuration", "deploy.boot_instance"]


def test_a_template_that_no_trait_names_changes_nothing(rack: Rack) -> None:
    rack.named("deploy_templates", "CUSTOM_BIOS", APPLY)
    assert ready(rack, "CUSTOM_OTHER").verb("active").status_code == 202
    assert rack.steps() == DRIVER


def test_rebuilding_takes_the_templates_too(rack: Rack) -> None:
    rack.named("deploy_templates", "CUSTOM_BIOS", APPLY)
    info = {"traits": ["CUSTOM_BIOS"], "image_source": "http://images.example/disk"}
    rack.set(NODE, provision_state="active", instance_info=info)
    assert rack.verb("rebuild").status_code == 202
    assert "bios.apply_configuration" in rack.steps()


def test_steps_of_the_client_win_over_those_of_a_template(rack: Rack) -> None:
    rack.named("deploy_templates", "CUSTOM_BIOS", APPLY)
    wanted = [{**APPLY, "priority": 10}]
    assert ready(rack, "CUSTOM_BIOS").verb("active", deploy_steps=wanted).status_code == 202
    assert rack.steps() == [*DRIVER, "bios.apply_configuration"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (APPLY, {**APPLY, "priority": 10}),
        ({**APPLY, "step": "none_such"}, {**APPLY, "interface": "raid"}),
        ({**APPLY, "args": {"colour": "red"}}, {**APPLY, "interface": "deploy", "step": "write_image"}),
        ({**APPLY, "interface": "deploy", "step": "deploy"}, APPLY),
    ],
)
def test_templates_that_cannot_be_carried_out_start_nothing(
    rack: Rack, first: dict[str, Any], second: dict[str, Any]
) -> None:
    rack.named("deploy_templates", "CUSTOM_BIOS", first)
    rack.named("deploy_templates", "CUSTOM_FAST", second)
    answer = ready(rack, "CUSTOM_BIOS", "CUSTOM_FAST").verb("active")
    assert answer.status_code == 400
    assert f"{first['interface']}.{first['step']}" in fault(answer)
    assert rack.stored(NODE).provision_state == "available"


def test_a_runbook_cleans_in_its_own_order(rack: Rack) -> None:
    rack.named("runbooks", "CUSTOM_BIOS", RESET, TUNE)
    rack.set(NODE, provision_state="manageable")
    assert rack.verb("clean", runbook="CUSTOM_BIOS", version="1.92").status_code == 202
    assert [each for each in rack.steps() if each.startswith(("bios", "vendor"))] == [
        "vendor.tune",
        "bios.factory_reset",
    ]
    assert rack.stored(NODE).target_provision_state == "manageable"


def test_a_runbook_serves_an_active_node(rack: Rack) -> None:
    rack.named("runbooks", "raid-1", {**TUNE, "interface": "raid", "step": "apply_configuration"}, traits=TRAITS[:1])
    rack.set(NODE, provision_state="active")
    assert rack.verb("service", runbook="raid-1").status_code == 202
    assert rack.steps() == ["raid.apply_configuration"]


def test_a_runbook_says_whether_the_ramdisk_is_needed(rack: Rack) -> None:
    rack.named("runbooks", "CUSTOM_BIOS", {**RESET, "step": "unknown_yet"}, disable_ramdisk=True, traits=TRAITS)
    rack.set(NODE, provision_state="manageable")
    answer = rack.verb("clean", runbook="CUSTOM_BIOS")
    assert (answer.status_code, "bios.unknown_yet" in fault(answer)) == (400, True), "no agent could offer it later"
    rack.call("PATCH", "/runbooks/CUSTOM_BIOS", [{"op": "replace", "path": "/disable_ramdisk", "value": False}])
    assert rack.verb("clean", runbook="CUSTOM_BIOS").status_code == 202


@pytest.mark.parametrize(
    ("name", "traits", "version", "status"),
    [
        ("free", ["CUSTOM_NO", "CUSTOM_BIOS"], LATEST, 202),
        ("free", ["CUSTOM_NO"], LATEST, 400),
        ("CUSTOM_BIOS", [], LATEST, 400),
        ("CUSTOM_BIOS", [], "1.111", 202),
        ("CUSTOM_NO", ["CUSTOM_BIOS"], "1.111", 400),
    ],
)
def test_a_runbook_matches_a_node_by_trait_and_before_that_by_name(
    rack: Rack, name: str, traits: list[str], version: str, status: int
) -> None:
    rack.named("runbooks", name, RESET, traits=traits)
    rack.set(NODE, provision_state="manageable")
    answer = rack.verb("clean", runbook=name, version=version)
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize(
    ("target", "more", "version", "status"),
    [
        ("clean", {"runbook": "none-such"}, LATEST, 404),
        ("clean", {"runbook": "CUSTOM_BIOS"}, "1.91", 406),
        (
            "clean",
            {"runbook": "CUSTOM_BIOS", "clean_steps": [{"interface": "bios", "step": "factory_reset"}]},
            LATEST,
            400,
        ),
        ("inspect", {"runbook": "CUSTOM_BIOS"}, LATEST, 400),
        ("clean", {"runbook": None}, LATEST, 400),
    ],
)
def test_a_runbook_out_of_place_is_refused(
    rack: Rack, target: str, more: dict[str, Any], version: str, status: int
) -> None:
    rack.named("runbooks", "CUSTOM_BIOS", RESET, traits=TRAITS)
    rack.set(NODE, provision_state="manageable")
    assert rack.verb(target, version=version, **more).status_code == status


@pytest.mark.parametrize("named", [True, False])
def test_a_secret_of_a_step_is_open_only_where_the_step_runs(rack: Rack, named: bool) -> None:
    rack.named("runbooks", "CUSTOM_BIOS", TUNE, traits=TRAITS)
    rack.set(NODE, provision_state="manageable")
    more = {"runbook": "CUSTOM_BIOS"} if named else {"clean_steps": [TUNE]}
    assert rack.verb("clean", **more).status_code == 202
    row = rack.operation()
    assert SECRET not in json.dumps([row.steps, row.request])
    told = _run_until(rack, "tune")
    shown = rack.call("GET", "/nodes/node-1").json()["clean_step"]
    assert (shown["step"], shown["args"]) == ("tune", {"password": "******", "settings": "s"})
    assert SECRET not in json.dumps(rack.stored(NODE).model_dump(mode="json"))
    assert told["step"]["args"] == TUNE["args"]
    assert told["variables"] == {"fake_pw": SECRET}


def _run_until(rack: Rack, name: str) -> dict[str, Any]:
    """Let a conductor work until a step runs; return what the door tells about it."""
    told: dict[str, Any] = {}

    def play(node: str, step: Any) -> Waiting | None:
        if step["name"] != name:
            return None
        run = runner.runs[-1].run_id
        told.update(_ask(conductor, node, run=run, step=step["index"]))
        told["variables"] = _ask(conductor, node, run=run)["variables"]
        return Waiting(WaitFor.POLL, 600)

    parts, runner = rack.parts, FakeRunner(play)
    conductor = Conductor(World(parts.engine, rack.settings, parts.catalog, parts.sealer), runner)
    conductor.start()
    end = time.monotonic() + 20
    while not told or not conductor.idle():
        assert time.monotonic() < end, f"step {name} does not run"
        conductor.tick()
        time.sleep(0.01)
    conductor.finish()
    return told


def _ask(conductor: Conductor, node: str, **question: Any) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(conductor.door_path))
        connection.sendall(json.dumps(question).encode() + b"\n")
        with connection.makefile("rb") as stream:
            found: dict[str, Any] = json.loads(stream.read())["nodes"][node]
    return found
