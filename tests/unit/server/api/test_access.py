# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Who may change what, asked over HTTP (contract: policies.yaml)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.server.api_house import House, fault
from tests.unit.server.keystone_house import FOREIGN, FREE, LEASED, OWN, SECRET_ERROR, GuardedHouse, Keystone, rack

_PATCH = [{"op": "add", "path": "/extra/x", "value": 1}]


@pytest.fixture
def house(keystone: Keystone, tmp_path: Path) -> GuardedHouse:
    return rack(GuardedHouse(tmp_path, keystone))


@pytest.fixture(scope="module")
def empty(keystone: Keystone, tmp_path_factory: pytest.TempPathFactory) -> GuardedHouse:
    """Return an API without nodes."""
    return GuardedHouse(tmp_path_factory.mktemp("state"), keystone)


# What may be changed

SENDS: dict[str, tuple[str, str, Any]] = {
    "power": ("PUT", "/states/power", {"target": "power on"}),
    "provide": ("PUT", "/states/provision", {"target": "provide"}),
    "maintenance": ("PUT", "/maintenance", {}),
    "traits": ("PUT", "/traits", {"traits": ["CUSTOM_X"]}),
    "validate": ("GET", "/validate", None),
    "history": ("GET", "/history", None),
    "states": ("GET", "/states", None),
    "operations": ("GET", "/operations", None),
}


@pytest.mark.parametrize(
    ("who", "node", "allowed"),
    [
        ("reader@system", FREE, {"history", "states", "operations"}),
        ("member@system", FREE, {*SENDS}),
        ("reader@p1", OWN, {"history", "states", "operations"}),
        ("member@p1", OWN, {*SENDS} - {"traits"}),
        ("manager@p1", OWN, {*SENDS}),
        ("reader@p1", LEASED, {"states"}),
        ("member@p1", LEASED, {"states", "power"}),
        ("manager@p1", LEASED, {"states", "power", "provide", "maintenance", "validate"}),
        ("service@service", FOREIGN, {*SENDS}),
        ("service@p2", FOREIGN, {*SENDS} - {"power"}),
    ],
)
def test_an_action_is_for_those_whom_the_contract_names(
    house: GuardedHouse, who: str, node: str, allowed: set[str]
) -> None:
    statuses = {}
    for action, (method, path, body) in SENDS.items():
        prefix = "//rackwright/v1" if action == "operations" else ""
        statuses[action] = house.call(method, f"{prefix}/nodes/{node}{path}", body, who=who).status_code
        house.settle(node, "manageable")
    assert {action for action, status in statuses.items() if status in (200, 202, 204)} == allowed
    assert {status for action, status in statuses.items() if action not in allowed} <= {403}


FIELDS: dict[str, Any] = {
    "extra": {"a": 1},
    "description": "text",
    "instance_info": {"image_source": "https://images.example/a"},
    "properties": {"cpus": 4},
    "driver_info": {"fake": 1},
    "name": "renamed",
    "retired": True,
    "lessee": "p9",
    "bios_interface": "no-bios",
    "automated_clean": True,
    "maintenance": True,
    "owner": "p9",
    "conductor_group": "",
    "shard": "s1",
    "disable_power_off": True,
}
LESSEE_MEMBER = {"extra", "description", "automated_clean"}
LESSEE_MANAGER = {*LESSEE_MEMBER, "instance_info", "maintenance"}
OWNER_MEMBER = {*LESSEE_MANAGER, "properties", "driver_info", "name", "retired", "lessee"}
SYSTEM_MEMBER = {*OWNER_MEMBER, "bios_interface", "owner"}


@pytest.mark.parametrize(
    ("who", "node", "allowed"),
    [
        ("reader@p1", OWN, set()),
        ("member@p1", LEASED, LESSEE_MEMBER),
        ("manager@p1", LEASED, LESSEE_MANAGER),
        ("member@p1", OWN, OWNER_MEMBER),
        ("manager@p1", OWN, {*OWNER_MEMBER, "bios_interface"}),
        ("reader@system", FREE, set()),
        ("member@system", FREE, SYSTEM_MEMBER),
        ("admin@system", FREE, {*SYSTEM_MEMBER, "shard", "disable_power_off"}),
    ],
)
def test_a_field_of_a_node_changes_by_the_rule_of_the_field(
    house: GuardedHouse, who: str, node: str, allowed: set[str]
) -> None:
    wanted = {name: value for name, value in FIELDS.items() if name != "conductor_group"}
    for name in sorted(wanted, key=["owner", "lessee"].count):
        patch = [{"op": "add", "path": f"/{name}", "value": wanted[name]}]
        answer = house.call("PATCH", f"/nodes/{node}", patch, who=who)
        assert answer.status_code == (200 if name in allowed else 403), (name, answer.text)


def test_a_patch_with_one_forbidden_field_changes_nothing(house: GuardedHouse) -> None:
    patch = [{"op": "add", "path": f"/{name}", "value": FIELDS[name]} for name in ("extra", "shard")]
    answer = house.call("PATCH", f"/nodes/{OWN}", patch, who="admin@p1")
    assert answer.status_code == 403
    assert "baremetal:node:update:shard" in fault(answer)
    assert house.stored(OWN).extra == {}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "/driver_info/missing", "value": 1},
        {"op": "replace", "path": "/instance_uuid", "value": "no UUID"},
        {"op": "add", "path": "/nonsense", "value": 1},
        {"op": "add"},
    ],
)
def test_who_may_not_change_a_node_learns_that_before_what_is_wrong_with_the_patch(
    house: GuardedHouse, operation: dict[str, Any]
) -> None:
    assert house.call("PATCH", f"/nodes/{FREE}", [operation], who="reader@system").status_code == 403
    assert house.call("PATCH", f"/nodes/{FREE}", [operation], who="admin@system").status_code == 400


@pytest.mark.parametrize(("who", "status"), [("reader@system", 403), ("member@system", 404), ("reader@p2", 404)])
@pytest.mark.parametrize("name", ["boot_mode", "secure_boot"])
def test_who_may_not_set_a_boot_mode_learns_that_before_what_is_wrong_with_the_version(
    house: GuardedHouse, name: str, who: str, status: int
) -> None:
    answer = house.call("PUT", f"/nodes/{FREE}/states/{name}", {"target": "uefi"}, who=who, version="1.75")
    assert answer.status_code == status, answer.text


def test_switching_cleaning_off_is_for_administrators_of_the_deployment(house: GuardedHouse) -> None:
    patch = [{"op": "add", "path": "/automated_clean", "value": False}]
    assert house.call("PATCH", f"/nodes/{OWN}", patch, who="admin@p1").status_code == 403
    assert house.call("PATCH", f"/nodes/{OWN}", patch, who="admin@system").status_code == 200


def test_the_owner_of_a_deployed_node_changes_by_the_will_of_an_administrator(house: GuardedHouse) -> None:
    house.set(FREE, provision_state="active")
    patch = [{"op": "add", "path": "/owner", "value": "p9"}]
    assert house.call("PATCH", f"/nodes/{FREE}", patch, who="member@system").status_code == 403
    assert house.call("PATCH", f"/nodes/{FREE}", patch, who="admin@system").status_code == 200


def test_a_project_creates_and_removes_its_own_nodes(house: GuardedHouse) -> None:
    answer = house.call("POST", "/nodes", {"driver": "fake-hardware", "name": "new"}, who="admin@p1")
    assert (answer.status_code, answer.json()["owner"]) == (201, "p1")
    assert house.call("DELETE", "/nodes/new", who="manager@p1").status_code == 403
    assert house.call("DELETE", "/nodes/new", who="admin@p2").status_code == 404
    assert house.call("DELETE", "/nodes/new", who="admin@p1").status_code == 204
    assert house.call("DELETE", f"/nodes/{LEASED}", who="admin@p1").status_code == 403


@pytest.mark.parametrize(
    ("who", "more", "status"),
    [
        ("admin@p1", {"owner": "p1"}, 201),
        ("admin@p1", {"owner": None}, 201),
        ("service@p1", {}, 201),
        ("admin@p1", {"owner": "p2"}, 403),
        ("manager@p1", {}, 403),
        ("member@system", {}, 403),
        ("admin@system", {"owner": "p2"}, 201),
        ("service@system", {}, 201),
        ("admin@p1", {"shard": "s1"}, 403),
        ("admin@p1", {"disable_power_off": True}, 403),
        ("admin@p1", {"automated_clean": False}, 403),
        ("admin@p1", {"automated_clean": True}, 201),
        ("admin@p1", {"conductor_group": ""}, 403),
    ],
)
def test_a_new_node_belongs_to_the_project_of_who_creates_it_unless_he_may_create_any(
    empty: GuardedHouse, who: str, more: dict[str, Any], status: int
) -> None:
    answer = empty.call("POST", "/nodes", {"driver": "fake-hardware", **more}, who=who)
    assert answer.status_code == status, answer.text
    if status == 201 and who.endswith("@p1"):
        assert answer.json()["owner"] == "p1"


def test_projects_manage_their_own_nodes_only_as_long_as_the_setting_lets_them(
    keystone: Keystone, tmp_path: Path
) -> None:
    house = rack(GuardedHouse(tmp_path, keystone, project_admin_can_manage_own_nodes=False))
    assert house.call("POST", "/nodes", {"driver": "fake-hardware"}, who="admin@p1").status_code == 403
    assert house.call("DELETE", f"/nodes/{OWN}", who="admin@p1").status_code == 403
    assert house.call("DELETE", f"/nodes/{OWN}", who="admin@system").status_code == 204


# Rules of operators


def test_a_step_may_have_a_rule_of_its_own(keystone: Keystone, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text('"baremetal:step:execute:bios.factory_reset": role:admin and system_scope:all\n')
    house = rack(GuardedHouse(tmp_path, keystone, policy_file=file))
    wish = {"target": "clean", "clean_steps": [{"interface": "bios", "step": "factory_reset"}]}
    answer = house.call("PUT", f"/nodes/{OWN}/states/provision", wish, who="admin@p1")
    assert answer.status_code == 403
    assert "baremetal:step:execute:bios.factory_reset" in fault(answer)
    assert house.stored(OWN).provision_state == "manageable"
    assert house.call("PUT", f"/nodes/{OWN}/states/provision", wish, who="admin@system").status_code == 202


def test_a_step_of_child_nodes_is_for_those_who_may_work_on_the_children(house: GuardedHouse) -> None:
    house.set(FOREIGN, parent_node=OWN)
    step = {"interface": "power", "step": "power_on", "execute_on_child_nodes": True}

    def clean(who: str, **more: Any) -> int:
        wish = {"target": "clean", "clean_steps": [step | more]}
        status = house.call("PUT", f"/nodes/{OWN}/states/provision", wish, who=who).status_code
        house.settle(OWN, "manageable")
        return status

    assert clean("admin@p1") == 403
    assert clean("admin@p1", limit_child_node_execution=[FOREIGN]) == 403
    assert clean("member@system") == 202
    house.set(FOREIGN, owner="p1")
    assert clean("admin@p1") == 202


def test_shards_count_only_nodes_that_the_caller_may_list(keystone: Keystone, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text('"baremetal:shards:get": role:reader\n')
    house = rack(GuardedHouse(tmp_path, keystone, policy_file=file))
    for uuid in (OWN, LEASED, FOREIGN):
        house.set(uuid, shard="s1")

    def counts(who: str) -> dict[str, int]:
        return {each["name"]: each["count"] for each in house.call("GET", "/shards", who=who).json()["shards"]}

    assert counts("reader@p1")["s1"] == 2
    assert counts("reader@system")["s1"] == 3


# Allocations and runbooks


def test_allocations_are_seen_and_changed_by_their_owners(house: GuardedHouse) -> None:
    for name, who in (("mine", "member@p1"), ("theirs", "member@p2")):
        answer = house.call("POST", "/allocations", {"name": name, "resource_class": "x"}, who=who)
        assert answer.status_code == 201, answer.text
        assert answer.json()["owner"] == who.partition("@")[2]
    listed = house.call("GET", "/allocations", who="reader@p1").json()["allocations"]
    assert [each["name"] for each in listed] == ["mine"]
    assert len(house.call("GET", "/allocations", who="reader@system").json()["allocations"]) == 2
    assert house.call("GET", "/allocations?owner=p2", who="reader@p1").status_code == 403
    for method, body in (("GET", None), ("DELETE", None), ("PATCH", _PATCH)):
        assert house.call(method, "/allocations/theirs", body, who="admin@p1").status_code == 404
        status = house.call(method, "/allocations/mine", body, who="reader@p1").status_code
        assert status == (200 if method == "GET" else 403)
    wish = {"resource_class": "x", "owner": "p2"}
    assert house.call("POST", "/allocations", wish, who="admin@p1").status_code == 403
    assert house.call("POST", "/allocations", wish, who="member@system").status_code == 201


def test_runbooks_are_seen_by_their_owners_and_when_public_by_all(house: GuardedHouse) -> None:
    def create(name: str, who: str, **more: Any) -> int:
        steps = [{"interface": "bios", "step": "factory_reset", "args": {}, "order": 1}]
        return house.call("POST", "/runbooks", {"name": name, "steps": steps, **more}, who=who).status_code

    assert create("CUSTOM_OPEN", "admin@system", public=True) == 201
    assert create("CUSTOM_CLOSED", "admin@system") == 201
    assert create("CUSTOM_MINE", "manager@p1") == 201
    assert create("CUSTOM_THEIRS", "manager@p2") == 201
    assert create("CUSTOM_NO", "member@p1") == 403
    assert create("CUSTOM_NO", "manager@p1", public=True) == 403
    found = house.call("GET", "/runbooks", who="reader@p1").json()["runbooks"]
    assert sorted(each["name"] for each in found) == ["CUSTOM_MINE", "CUSTOM_OPEN"]
    statuses = {
        name: house.call("GET", f"/runbooks/CUSTOM_{name}", who="reader@p1").status_code
        for name in ("OPEN", "CLOSED", "MINE", "THEIRS")
    }
    assert statuses == {"OPEN": 200, "CLOSED": 404, "MINE": 200, "THEIRS": 404}
    assert house.call("DELETE", "/runbooks/CUSTOM_OPEN", who="manager@p1").status_code == 403
    assert house.call("DELETE", "/runbooks/CUSTOM_MINE", who="manager@p1").status_code == 204


# Who vouches


def test_a_service_vouches_for_a_user_whose_token_has_expired(empty: GuardedHouse, keystone: Keystone) -> None:
    expired = {"X-Auth-Token": keystone.token("reader", system=True, seconds=-5)}
    service = {"X-Service-Token": keystone.token("service", project="service")}
    reader = {"X-Service-Token": keystone.token("reader", project="service")}
    for headers, status in (({}, 401), (service, 200), (reader, 401), ({"X-Service-Token": "unknown"}, 401), ({}, 401)):
        assert empty.call("GET", "/nodes", headers=expired | headers).status_code == status
    chassis = empty.call("POST", "/chassis", {}, headers=expired | service)
    assert chassis.status_code == 403, "the roles are those of the user, not of the service"


# Who it was


def test_operations_and_history_tell_user_and_project(house: GuardedHouse) -> None:
    wish = {"target": "clean", "clean_steps": [{"interface": "bios", "step": "factory_reset"}]}
    assert house.call("PUT", f"/nodes/{OWN}/states/provision", wish, who="member@p1").status_code == 202
    (operation,) = house.call("GET", f"//rackwright/v1/nodes/{OWN}/operations").json()["operations"]
    assert operation["user"] == "p1-member"
    (entry,) = house.call("GET", f"/nodes/{OWN}/history?detail=true").json()["history"]
    assert (entry["user"], entry["project"]) == ("p1-member", "p1")


def test_without_keystone_everybody_who_is_let_in_may_do_everything(tmp_path: Path) -> None:
    house = House(tmp_path)
    node = house.node(owner="p1", lessee="p2", shard="s1", last_error=SECRET_ERROR)
    assert house.call("GET", f"/nodes/{node}").json()["last_error"] == SECRET_ERROR
    assert house.call("GET", "/nodes?owner=p1").status_code == 200
    assert house.call("DELETE", f"/nodes/{node}").status_code == 204


@pytest.mark.parametrize(("source", "lessee"), [("instance", "p7"), ("request", "p1"), ("none", None)])
def test_a_deployed_node_is_lent_to_the_project_that_the_setting_names(
    keystone: Keystone, tmp_path: Path, source: str, lessee: str | None
) -> None:
    house = rack(GuardedHouse(tmp_path, keystone, automatic_lessee_source=source))
    house.set(OWN, provision_state="available", instance_info={"project_id": "p7", "image_source": "file:///x"})
    answer = house.call("PUT", f"/nodes/{OWN}/states/provision", {"target": "active"}, who="member@p1")
    assert answer.status_code == 202, answer.text
    assert house.stored(OWN).lessee == lessee
