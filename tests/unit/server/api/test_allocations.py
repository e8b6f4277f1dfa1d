# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rackwright.engine.conductor import Conductor
from rackwright.engine.world import World
from rackwright.runner.fake import FakeRunner
from rackwright.store import conductor as conductors
from rackwright.store.session import writing
from tests.unit.server.api_house import HOST, LATEST, NODE, PUBLIC, House, fault
from tests.unit.server.conversation import answers, recorded

OTHER = "22222222-2222-4222-8222-222222222222"
TRAIT = "CUSTOM_A"
FREE = {"provision_state": "available", "power_state": "power on"}


class Rack(House):
    """An API with a conductor that looks when it is told to."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        parts = self.parts
        self.conducting = Conductor(World(parts.engine, self.settings, parts.catalog, parts.sealer), FakeRunner())
        self.conducting.start()

    def allocation(self, **fields: Any) -> dict[str, Any]:
        """Create an allocation and let the conductor look; return it as it is then."""
        answer = self.call("POST", "/allocations", {"resource_class": "metal"} | fields)
        assert answer.status_code == 201, answer.text
        self.conducting.tick()
        return self.shown(answer.json()["uuid"])

    def shown(self, ident: str) -> dict[str, Any]:
        found: dict[str, Any] = self.call("GET", f"/allocations/{ident}").json()
        return found


@pytest.fixture
def rack(tmp_path: Path) -> Iterator[Rack]:
    built = Rack(tmp_path)
    yield built
    built.conducting.finish()


@pytest.fixture
def held(rack: Rack) -> Rack:
    """Return a rack whose one node has an allocation by the name of mine."""
    rack.node(uuid=NODE, name="node-1", resource_class="metal", traits=[TRAIT], **FREE)
    assert rack.allocation(name="mine", traits=[TRAIT])["node_uuid"] == NODE
    return rack


def test_a_recorded_conversation_is_answered_as_ironic_answers_it(rack: Rack) -> None:
    rack.node(uuid=NODE, name="node-1", resource_class="baremetal", traits=[TRAIT], **FREE)
    found = {}
    for sample in recorded("api_samples_wishes"):
        if different := list(answers(rack, sample)):
            found[sample["label"]] = different
        rack.conducting.tick()
    assert found == {}


def test_a_node_with_an_allocation_shows_it(held: Rack) -> None:
    node = held.call("GET", "/nodes/node-1").json()
    uuid = held.shown("mine")["uuid"]
    assert (node["instance_uuid"], node["allocation_uuid"]) == (uuid, uuid)
    assert node["instance_info"] == {"traits": [TRAIT]}
    assert held.call("GET", "/nodes/node-1/allocation").json() == held.shown("mine")


@pytest.mark.parametrize(
    ("body", "version", "status"),
    [
        ({}, LATEST, 400),
        ({"resource_class": "x" * 81}, LATEST, 400),
        ({"resource_class": "metal", "name": "no name"}, LATEST, 400),
        ({"resource_class": "metal", "name": OTHER}, LATEST, 400),
        ({"resource_class": "metal", "traits": ["lower"]}, LATEST, 400),
        ({"resource_class": "metal", "candidate_nodes": ["none-such"]}, LATEST, 400),
        ({"resource_class": "metal", "state": "active"}, LATEST, 400),
        ({"resource_class": "metal", "node": "none-such"}, LATEST, 400),
        ({"resource_class": "metal", "name": "mine"}, LATEST, 409),
        ({"resource_class": "metal"}, "1.51", 405),
        ({"resource_class": "metal", "owner": "p"}, "1.59", 406),
        ({"resource_class": "metal", "node": "node-1"}, "1.57", 406),
        ({"resource_class": "metal", "uuid": None, "name": None, "traits": None, "owner": None}, LATEST, 201),
    ],
)
def test_a_wish_is_checked_before_it_is_stored(held: Rack, body: dict[str, Any], version: str, status: int) -> None:
    before = len(held.call("GET", "/allocations").json()["allocations"])
    answer = held.call("POST", "/allocations", body, version=version)
    assert answer.status_code == status, answer.text
    assert len(held.call("GET", "/allocations").json()["allocations"]) == before + (status == 201)


def test_a_wish_without_a_running_conductor_is_refused(house: House) -> None:
    with writing(house.parts.engine) as session:
        conductors.sign_off(HOST, session=session)
        session.commit()
    assert house.call("POST", "/allocations", {"resource_class": "metal"}).status_code == 503


def test_candidates_are_kept_as_uuids(held: Rack) -> None:
    assert held.allocation(candidate_nodes=["node-1"])["candidate_nodes"] == [NODE]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["mine", "second"]),
        ("node=node-1", ["mine"]),
        ("state=error", ["second"]),
        ("resource_class=none-such", ["second"]),
        ("owner=p", ["second"]),
        ("sort_key=name&sort_dir=desc", ["second", "mine"]),
        ("fields=name&limit=1", ["mine"]),
    ],
)
def test_a_filter_finds_what_it_says(held: Rack, query: str, names: list[str]) -> None:
    held.allocation(name="second", resource_class="none-such", owner="p")
    found = held.call("GET", f"/allocations?{query}").json()
    assert [each["name"] for each in found["allocations"]] == names
    if "limit" in query:
        assert found["next"].startswith(f"{PUBLIC}/v1/allocations?")


@pytest.mark.parametrize(
    ("path", "version", "status"),
    [
        ("/allocations?node=none-such", LATEST, 400),
        ("/allocations?state=asleep", LATEST, 400),
        ("/allocations?detail=true", LATEST, 400),
        ("/allocations?sort_key=traits", LATEST, 400),
        ("/allocations?owner=p", "1.59", 406),
        ("/allocations", "1.51", 404),
        ("/allocations/none-such", LATEST, 404),
        ("/nodes/node-2/allocation", LATEST, 404),
        ("/nodes/node-1/allocation", "1.51", 404),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(held: Rack, path: str, version: str, status: int) -> None:
    held.node(name="node-2")
    assert held.call("GET", path, version=version).status_code == status


def test_the_owner_is_hidden_from_versions_that_do_not_know_it(held: Rack) -> None:
    assert "owner" not in held.call("GET", "/allocations/mine", version="1.59").json()


@pytest.mark.parametrize(
    ("patch", "version", "status"),
    [
        ({"op": "replace", "path": "/name", "value": "yours"}, LATEST, 200),
        ({"op": "remove", "path": "/name"}, LATEST, 200),
        ({"op": "add", "path": "/extra/rack", "value": "7"}, LATEST, 200),
        ({"op": "replace", "path": "/extra", "value": None}, LATEST, 200),
        ({"op": "replace", "path": "/name", "value": "taken"}, LATEST, 409),
        ({"op": "replace", "path": "/traits", "value": []}, LATEST, 400),
        ({"op": "replace", "path": "/state", "value": "error"}, LATEST, 400),
        ({"op": "replace", "path": "/name", "value": "yours"}, "1.56", 405),
    ],
)
def test_only_name_and_extra_change(held: Rack, patch: dict[str, Any], version: str, status: int) -> None:
    held.allocation(name="taken", resource_class="none-such")
    before = held.shown("mine")
    answer = held.call("PATCH", "/allocations/mine", [patch], version=version)
    assert answer.status_code == status, answer.text
    after = held.shown(before["uuid"])
    changed = {name for name in before if before[name] != after[name]} - {"updated_at"}
    expected = {patch["path"].split("/")[1]} if status == 200 and patch.get("value", 1) is not None else set()
    assert changed == expected


@pytest.mark.parametrize("path", ["/allocations/mine", "/nodes/node-1/allocation"])
def test_deleting_an_allocation_frees_its_node(held: Rack, path: str) -> None:
    assert held.call("DELETE", path).status_code == 204
    node = held.stored(NODE)
    assert (node.instance_uuid, node.allocation_uuid, node.instance_info) == (None, None, {})
    assert held.call("GET", "/allocations/mine").status_code == 404
    assert held.call("DELETE", path).status_code == 404
    assert held.allocation()["node_uuid"] == NODE


@pytest.mark.parametrize(
    ("columns", "status"),
    [
        ({"provision_state": "active"}, 409),
        ({"provision_state": "deploying", "target_provision_state": "active"}, 409),
        ({"provision_state": "deploy failed", "target_provision_state": "active"}, 204),
        ({"provision_state": "active", "maintenance": True}, 204),
        ({"reservation": "conductor-1.example"}, 409),
    ],
)
def test_the_allocation_of_a_node_in_use_stays(held: Rack, columns: dict[str, Any], status: int) -> None:
    held.set(NODE, **columns)
    assert held.call("DELETE", "/allocations/mine").status_code == status
    assert (held.stored(NODE).instance_uuid is None) == (status == 204)


@pytest.mark.parametrize(
    ("columns", "status"),
    [
        ({}, 200),
        ({"provision_state": "manageable"}, 200),
        ({"provision_state": "active"}, 409),
        ({"provision_state": "active", "maintenance": True}, 200),
    ],
)
def test_unsetting_the_instance_removes_the_allocation(held: Rack, columns: dict[str, Any], status: int) -> None:
    held.set(NODE, **columns)
    answer = held.call("PATCH", "/nodes/node-1", [{"op": "remove", "path": "/instance_uuid"}])
    assert answer.status_code == status, answer.text
    assert held.call("GET", "/allocations/mine").status_code == (404 if status == 200 else 200)
    assert (held.stored(NODE).allocation_uuid is None) == (status == 200)


def test_the_owner_of_a_node_stays_while_an_allocation_of_a_project_has_it(rack: Rack) -> None:
    rack.node(uuid=NODE, resource_class="metal", owner="p", **FREE)
    rack.allocation(owner="p")
    change = [{"op": "replace", "path": "/owner", "value": "q"}]
    assert rack.call("PATCH", f"/nodes/{NODE}", change).status_code == 409
    assert rack.stored(NODE).owner == "p"


def test_a_node_takes_its_allocation_with_it(held: Rack) -> None:
    held.set(NODE, maintenance=True)
    assert held.call("DELETE", "/nodes/node-1").status_code == 204
    assert held.call("GET", "/allocations").json() == {"allocations": []}


def test_a_node_that_is_taken_says_what_frees_it(held: Rack) -> None:
    refused = held.call("DELETE", "/nodes/node-1")
    uuid = held.shown("mine")["uuid"]
    assert (refused.status_code, f"Delete allocation {uuid} first." in fault(refused)) == (409, True)
    assert held.call("DELETE", f"/allocations/{uuid}").status_code == 204
    assert held.call("DELETE", "/nodes/node-1").status_code == 204


def test_a_node_with_an_instance_of_a_client_says_what_frees_it(rack: Rack) -> None:
    rack.node(uuid=NODE, instance_uuid=OTHER, **FREE)
    another = [{"op": "add", "path": "/instance_uuid", "value": NODE}]
    refused = rack.call("DELETE", f"/nodes/{NODE}")
    assert (refused.status_code, "Unset its instance_uuid first." in fault(refused)) == (409, True)
    assert fault(rack.call("PATCH", f"/nodes/{NODE}", another)) == fault(refused)
    rack.set(NODE, provision_state="active")
    assert "Undeploy it first (target deleted)." in fault(rack.call("DELETE", f"/nodes/{NODE}"))
    rack.set(NODE, provision_state="available")
    assert rack.call("PATCH", f"/nodes/{NODE}", [{"op": "remove", "path": "/instance_uuid"}]).status_code == 200
    assert rack.call("DELETE", f"/nodes/{NODE}").status_code == 204


def test_a_wish_that_failed_says_that_it_must_go_before_the_next(rack: Rack) -> None:
    rack.node(uuid=NODE, resource_class="metal", **FREE)
    wish = {"node": NODE, "name": "mine"}
    assert "delete it before you ask again" in fault(rack.call("POST", "/allocations", wish))
    again = rack.call("POST", "/allocations", wish)
    assert (again.status_code, "It failed; delete allocation mine first" in fault(again)) == (409, True)
    assert rack.call("DELETE", "/allocations/mine").status_code == 204
    rack.set(NODE, provision_state="active")
    assert rack.call("POST", "/allocations", wish).status_code == 201
    assert "It failed" not in fault(rack.call("POST", "/allocations", {"name": "mine", "resource_class": "metal"}))


def test_an_active_node_is_given_at_once(rack: Rack) -> None:
    rack.node(uuid=NODE, name="node-1", resource_class="metal", provision_state="active")
    answer = rack.call("POST", "/allocations", {"node": "node-1", "name": "old"})
    assert answer.status_code == 201, answer.text
    given = answer.json()
    assert (given["state"], given["node_uuid"], given["resource_class"]) == ("active", NODE, "metal")
    assert rack.stored(NODE).instance_uuid == given["uuid"]


def test_an_active_node_with_an_instance_gives_its_uuid_to_the_allocation(rack: Rack) -> None:
    rack.node(uuid=NODE, resource_class="metal", provision_state="active", instance_uuid=OTHER)
    assert rack.call("POST", "/allocations", {"node": NODE}).json()["uuid"] == OTHER
    assert rack.call("POST", "/allocations", {"node": NODE}).status_code == 409


@pytest.mark.parametrize(
    ("columns", "body", "reason"),
    [
        ({"provision_state": "available"}, {}, "is in state available"),
        ({}, {"resource_class": "other"}, "has the resource class other"),
        ({}, {"traits": [TRAIT]}, "has all of the traits CUSTOM_A"),
        ({}, {"owner": "p"}, "belongs to project p"),
    ],
)
def test_a_node_that_does_not_fit_is_not_given(
    rack: Rack, columns: dict[str, Any], body: dict[str, Any], reason: str
) -> None:
    rack.node(uuid=NODE, resource_class="metal")
    rack.set(NODE, **({"provision_state": "active"} | columns))
    answer = rack.call("POST", "/allocations", {"node": NODE, **body})
    assert (answer.status_code, reason in fault(answer)) == (409, True), answer.text
    (kept,) = rack.call("GET", "/allocations").json()["allocations"]
    assert (kept["state"], kept["last_error"], kept["node_uuid"]) == ("error", fault(answer), None)
    assert rack.stored(NODE).allocation_uuid is None


@pytest.mark.parametrize(
    ("columns", "body", "reason"),
    [({"reservation": "somebody"}, {}, "locked"), ({"instance_uuid": OTHER}, {"uuid": NODE}, OTHER)],
)
def test_a_node_that_is_taken_leaves_nothing_of_the_wish(
    rack: Rack, columns: dict[str, Any], body: dict[str, Any], reason: str
) -> None:
    rack.node(uuid=NODE, resource_class="metal")
    rack.set(NODE, provision_state="active", **columns)
    answer = rack.call("POST", "/allocations", {"node": NODE, **body})
    assert (answer.status_code, reason in fault(answer)) == (409, True), answer.text
    assert rack.call("GET", "/allocations").json() == {"allocations": []}


def test_an_allocation_by_the_uuid_of_an_instance_elsewhere_fails(held: Rack) -> None:
    held.node(name="node-2", instance_uuid=OTHER)
    assert "an instance with this UUID is on a node already" in held.allocation(uuid=OTHER)["last_error"]
