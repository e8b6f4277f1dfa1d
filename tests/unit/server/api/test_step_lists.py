# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Deploy templates and runbooks as resources."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlmodel import Session, select

from rackwright.store.deploy_template import DeployTemplate
from rackwright.store.runbook import Runbook
from tests.unit.server.api_house import LATEST, House

TEMPLATE = {"interface": "bios", "step": "apply_configuration", "args": {}, "priority": 95}
RUNBOOK = {"interface": "bios", "step": "factory_reset", "args": {}, "order": 1}
STEP: dict[str, dict[str, Any]] = {"deploy_templates": TEMPLATE, "runbooks": RUNBOOK}
TABLE: dict[str, type[Any]] = {"deploy_templates": DeployTemplate, "runbooks": Runbook}
FIRST = {"deploy_templates": 55, "runbooks": 92}
SECRET = "correct horse"


def body(collection: str, **changes: Any) -> dict[str, Any]:
    return {"name": "CUSTOM_ONE", "steps": [STEP[collection]]} | changes


@pytest.fixture(params=["deploy_templates", "runbooks"])
def collection(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def stored(house: House, collection: str) -> House:
    """Return a house with one resource, CUSTOM_ONE."""
    assert house.call("POST", f"/{collection}", body(collection)).status_code == 201
    return house


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"name": None}, 400),
        ({"steps": []}, 400),
        ({"steps": None}, 400),
        ({"name": "CUSTOM_ONE"}, 409),
        ({"colour": "red"}, 400),
        ({"name": "CUSTOM_TWO", "extra": {"a": 1}}, 201),
        ({"name": "HW_CPU_X86_VMX", "description": "Text."}, 201),
    ],
)
def test_a_list_of_steps_is_checked(stored: House, collection: str, changes: dict[str, Any], status: int) -> None:
    assert stored.call("POST", f"/{collection}", body(collection, **changes)).status_code == status


@pytest.mark.parametrize(
    "changes",
    [
        {"interface": "network"},
        {"step": ""},
        {"args": []},
        {"priority": -1, "order": -1},
        {"priority": "high", "order": "high"},
        {"colour": "red"},
    ],
)
def test_a_step_that_is_none_is_refused(house: House, collection: str, changes: dict[str, Any]) -> None:
    known = {name: value for name, value in changes.items() if name in STEP[collection] or name == "colour"}
    answer = house.call("POST", f"/{collection}", body(collection, steps=[STEP[collection] | known]))
    assert answer.status_code == 400


@pytest.mark.parametrize("missing", ["interface", "step", "args", "priority", "order"])
def test_a_step_needs_its_keys(house: House, collection: str, missing: str) -> None:
    short = {name: value for name, value in STEP[collection].items() if name != missing}
    optional = short == STEP[collection] or (collection, missing) == ("runbooks", "args")
    answer = house.call("POST", f"/{collection}", body(collection, steps=[short]))
    assert answer.status_code == (201 if optional else 400)
    assert not optional or answer.json()["steps"] == [STEP[collection]]


def test_a_step_stands_in_a_list_once(house: House, collection: str) -> None:
    twice = [STEP[collection], STEP[collection] | {"args": {"a": 1}}]
    answer = house.call("POST", f"/{collection}", body(collection, steps=twice))
    assert answer.status_code == 400
    assert "2 times" in answer.text


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
def test_older_versions_know_no_such_resource(stored: House, collection: str, method: str) -> None:
    path = f"/{collection}" if method in ("GET", "POST") else f"/{collection}/CUSTOM_ONE"
    version = f"1.{FIRST[collection] - 1}"
    answer = stored.call(method, path, body(collection) if method == "POST" else None, version=version)
    assert answer.status_code == (404 if method == "GET" else 405)


def test_a_list_is_short_unless_details_are_wanted(stored: House, collection: str) -> None:
    (short,) = stored.call("GET", f"/{collection}").json()[collection]
    (whole,) = stored.call("GET", f"/{collection}?detail=true").json()[collection]
    (chosen,) = stored.call("GET", f"/{collection}?fields=steps").json()[collection]
    assert short.keys() == {"uuid", "name", "links"}
    assert whole == stored.call("GET", f"/{collection}/{short['uuid']}").json()
    assert chosen.keys() == {"steps", "links"}


@pytest.mark.parametrize(
    ("operation", "status"),
    [
        ({"op": "replace", "path": "/name", "value": "CUSTOM_THREE"}, 200),
        ({"op": "replace", "path": "/name", "value": "CUSTOM_TWO"}, 409),
        ({"op": "remove", "path": "/name"}, 400),
        ({"op": "remove", "path": "/steps"}, 400),
        ({"op": "remove", "path": "/steps/0"}, 400),
        ({"op": "replace", "path": "/steps/0/step", "value": "other"}, 200),
        ({"op": "replace", "path": "/steps/0/interface", "value": "network"}, 400),
        ({"op": "add", "path": "/steps/0/args/name", "value": "x"}, 200),
        ({"op": "add", "path": "/extra/a", "value": 1}, 200),
        ({"op": "replace", "path": "/uuid", "value": "11111111-1111-4111-8111-111111111111"}, 400),
    ],
)
def test_a_patch_changes_what_it_may(stored: House, collection: str, operation: dict[str, Any], status: int) -> None:
    stored.call("POST", f"/{collection}", body(collection, name="CUSTOM_TWO"))
    before = stored.call("GET", f"/{collection}/CUSTOM_ONE").json()
    answer = stored.call("PATCH", f"/{collection}/CUSTOM_ONE", [operation])
    assert answer.status_code == status, answer.text
    after = stored.call("GET", f"/{collection}/{before['uuid']}").json()
    assert (after == before) == (status != 200)


@pytest.mark.parametrize("value", [10, "10"])
def test_the_number_of_one_step_changes_alone(stored: House, collection: str, value: object) -> None:
    number = "priority" if collection == "deploy_templates" else "order"
    patch = [{"op": "replace", "path": f"/steps/0/{number}", "value": value}]
    answer = stored.call("PATCH", f"/{collection}/CUSTOM_ONE", patch)
    assert answer.json()["steps"] == [STEP[collection] | {number: 10}]


def test_a_removed_list_is_gone(stored: House, collection: str) -> None:
    assert stored.call("DELETE", f"/{collection}/CUSTOM_ONE").status_code == 204
    assert stored.call("DELETE", f"/{collection}/CUSTOM_ONE").status_code == 404


def test_secrets_in_arguments_are_masked_in_answers_and_sealed_in_rows(house: House, collection: str) -> None:
    steps = [STEP[collection] | {"args": {"new_password": SECRET, "nested": {"token": SECRET}, "user": "root"}}]
    masked = {"new_password": "******", "nested": {"token": "******"}, "user": "root"}
    answer = house.call("POST", f"/{collection}", body(collection, steps=steps))
    assert answer.json()["steps"][0]["args"] == masked
    patch = [{"op": "add", "path": "/steps/0/args/other_secret", "value": SECRET}]
    patched = house.call("PATCH", f"/{collection}/CUSTOM_ONE", patch)
    assert patched.json()["steps"][0]["args"] == masked | {"other_secret": "******"}
    with Session(house.parts.engine) as session:
        row = session.exec(select(TABLE[collection])).one()
    assert SECRET not in json.dumps(row.steps)
    opened = house.parts.sealer.unseal(row.steps[0]["args"])
    assert opened == steps[0]["args"] | {"other_secret": SECRET}


def test_a_secret_cannot_be_copied_where_it_shows(stored: House, collection: str) -> None:
    patch = [{"op": "copy", "from": "/steps/0/args", "path": "/extra/args"}]
    assert stored.call("PATCH", f"/{collection}/CUSTOM_ONE", patch).status_code == 400


def test_the_description_of_a_deploy_template_is_taken_and_not_kept(house: House) -> None:
    answer = house.call("POST", "/deploy_templates", body("deploy_templates", description="Text."))
    assert answer.status_code == 201
    assert "description" not in answer.json()


@pytest.mark.parametrize(
    ("changes", "version", "status"),
    [
        ({"name": "any.name"}, LATEST, 201),
        ({"name": "any.name"}, "1.111", 400),
        ({"name": "11111111-1111-4111-8111-111111111111"}, LATEST, 400),
        ({"description": "Text."}, LATEST, 201),
        ({"description": "Text."}, "1.111", 406),
        ({"traits": ["CUSTOM_A"]}, LATEST, 400),
        ({"owner": "p"}, LATEST, 201),
        ({"owner": "p", "public": True}, LATEST, 400),
    ],
)
def test_a_runbook_is_checked(house: House, changes: dict[str, Any], version: str, status: int) -> None:
    answer = house.call("POST", "/runbooks", body("runbooks", **changes), version=version)
    assert answer.status_code == status, answer.text


def test_what_is_newer_than_the_version_is_hidden(house: House) -> None:
    answer = house.call("POST", "/runbooks", body("runbooks"), version="1.111")
    assert not {"traits", "description"} & answer.json().keys()


def test_a_runbook_that_becomes_public_loses_its_owner(house: House) -> None:
    house.call("POST", "/runbooks", body("runbooks", owner="p"))
    patch = [{"op": "replace", "path": "/public", "value": True}]
    answer = house.call("PATCH", "/runbooks/CUSTOM_ONE", patch).json()
    assert (answer["public"], answer["owner"]) == (True, None)
    owned = [{"op": "replace", "path": "/owner", "value": "p"}]
    assert house.call("PATCH", "/runbooks/CUSTOM_ONE", owned).status_code == 400


def test_the_traits_of_a_runbook_are_a_resource_of_their_own(house: House) -> None:
    house.call("POST", "/runbooks", body("runbooks"))
    path = "/runbooks/CUSTOM_ONE/traits"

    def traits() -> list[str]:
        found: list[str] = house.call("GET", path).json()["traits"]
        return found

    assert house.call("PUT", path, {"traits": ["CUSTOM_B", "CUSTOM_A"]}).status_code == 204
    assert traits() == ["CUSTOM_A", "CUSTOM_B"]
    added = house.call("PUT", f"{path}/CUSTOM_C")
    assert (added.status_code, added.headers["Location"].partition("/v1")[2]) == (204, f"{path}/CUSTOM_C")
    assert house.call("DELETE", f"{path}/CUSTOM_A").status_code == 204
    assert house.call("DELETE", f"{path}/CUSTOM_A").status_code == 204
    assert traits() == ["CUSTOM_B", "CUSTOM_C"]
    assert house.call("GET", "/runbooks/CUSTOM_ONE").json()["traits"] == traits()
    assert house.call("DELETE", path).status_code == 204
    assert traits() == []


@pytest.mark.parametrize(
    ("method", "below", "sent", "version", "status"),
    [
        ("PUT", "/lower", None, LATEST, 400),
        ("PUT", "", {"traits": ["lower"]}, LATEST, 400),
        ("PUT", "", {}, LATEST, 400),
        ("PUT", "", {"traits": [f"CUSTOM_{number}" for number in range(51)]}, LATEST, 400),
        ("PUT", "/CUSTOM_A", {"a": 1}, LATEST, 400),
        ("GET", "", None, "1.111", 404),
        ("PUT", "/CUSTOM_A", None, "1.111", 404),
        ("DELETE", "", None, "1.111", 404),
    ],
)
def test_traits_that_are_none_are_refused(
    house: House, method: str, below: str, sent: Any, version: str, status: int
) -> None:
    house.call("POST", "/runbooks", body("runbooks"))
    assert house.call(method, f"/runbooks/CUSTOM_ONE/traits{below}", sent, version=version).status_code == status
