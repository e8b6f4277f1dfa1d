# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What refusals say: in plain words what is wrong, where, and what to do; short whatever was sent."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

from rackwright import api
from rackwright.api.deps import Arg
from rackwright.api.fields import Resource
from rackwright.api.kinds import Kind
from rackwright.api.v1 import nodes as node_router
from rackwright.domain.wording import expected
from tests.unit.server.api_house import House, fault

STEP = {"interface": "deploy", "step": "erase_devices", "args": {}}
TEMPLATE = {"name": "CUSTOM_ONE", "steps": [{**STEP, "priority": "high"}]}
LONG = "n" * 5000


@pytest.mark.parametrize(
    ("method", "path", "body", "text"),
    [
        ("GET", "/nodes?provision_state=nope", None, '"nope" is not one of enroll, verifying'),
        ("GET", "/allocations?state=x", None, '"x" is not one of allocating, active, error'),
        ("POST", "/nodes", {"driver": "fake-hardware", "name": 5}, "name: 5 is not a text or null"),
        (
            "POST",
            "/nodes",
            {"driver": "fake-hardware", "resource_class": 5},
            "resource_class: 5 is not a text of at most 80 characters or null",
        ),
        ("POST", "/deploy_templates", TEMPLATE, 'steps[0].priority: "high" is not a whole number from 0'),
        ("POST", "/nodes", {"driver": "fake-hardware", "network_data": {"a": 1}}, "an object with the lists links"),
    ],
)
def test_a_wrong_value_is_told_in_plain_words(house: House, method: str, path: str, body: Any, text: str) -> None:
    answer = house.call(method, path, body)
    assert answer.status_code == 400
    assert text in fault(answer)
    assert "<" not in fault(answer)


def test_a_wrong_step_is_named_by_its_place_and_key(house: House) -> None:
    uuid = house.node(provision_state="manageable")
    body = {"target": "clean", "clean_steps": [STEP, {**STEP, "args": []}]}
    answer = house.call("PUT", f"/nodes/{uuid}/states/provision", body)
    assert answer.status_code == 400
    assert "clean_steps[1].args: a list is not a JSON object" in fault(answer)


@pytest.mark.parametrize("name", ["{{ 7 * 7 }}", "../../etc/passwd", "7up", "a step"])
def test_a_name_that_no_step_has_is_told_what_names_consist_of(house: House, name: str) -> None:
    uuid = house.node(provision_state="manageable")
    body = {"target": "clean", "clean_steps": [{**STEP, "step": name}]}
    answer = house.call("PUT", f"/nodes/{uuid}/states/provision", body)
    assert answer.status_code == 400
    assert "letters, digits and _" in fault(answer) and "pattern" not in fault(answer)


def test_a_failed_test_of_a_patch_shows_both_values_as_json_but_no_secret(house: House) -> None:
    uuid = house.node(name="node-1", driver_info={"redfish_password": "correct horse"})
    named = house.call("PATCH", f"/nodes/{uuid}", [{"op": "test", "path": "/name", "value": "node-2"}])
    assert 'its value is not "node-2" but "node-1"' in fault(named)
    secret = [{"op": "test", "path": "/driver_info/redfish_password", "value": "guess"}]
    guessed = house.call("PATCH", f"/nodes/{uuid}", secret)
    assert (guessed.status_code, "but" in fault(guessed), "horse" in guessed.text) == (400, False, False)


def test_a_path_that_leads_nowhere_does_not_show_the_node(house: House) -> None:
    uuid = house.node(extra={"own": "correct horse"})
    answer = house.call("PATCH", f"/nodes/{uuid}", [{"op": "add", "path": "/extra/a/b", "value": 1}])
    assert (answer.status_code, "horse" in answer.text) == (400, False)
    assert "nothing at this path" in fault(answer)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", f"/nodes/{LONG}", None),
        ("GET", f"/nodes?driver={LONG}&colour{LONG}=1", None),
        ("GET", f"/{LONG}", None),
        ("POST", "/nodes", {"driver": LONG}),
        ("POST", "/nodes", {"driver": "fake-hardware", "name": LONG}),
        ("POST", "/nodes", {"driver": "fake-hardware", LONG: 1}),
        ("POST", "/deploy_templates", {**TEMPLATE, "name": LONG}),
    ],
)
def test_what_is_longer_than_any_name_is_not_repeated_in_full(house: House, method: str, path: str, body: Any) -> None:
    answer = house.call(method, path, body)
    assert answer.status_code in (400, 404)
    assert "n" * 256 not in answer.text
    assert "characters)" in answer.text


@pytest.mark.parametrize(
    ("method", "path", "content"),
    [
        ("PATCH", "/nodes/{uuid}", b'[{"op": "add", "path": "/name", "value": "a"}]'),
        ("POST", "/nodes", b'{"driver": "fake-hardware"}'),
        ("PUT", "/nodes/{uuid}/states/provision", b'{"target": "manage"}'),
    ],
)
def test_a_body_of_another_type_is_told_what_it_says_of_itself_and_what_to_send(
    house: House, method: str, path: str, content: bytes
) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = house.call(method, path.format(uuid=house.node()), content=content, headers=headers)
    assert answer.status_code == 400
    assert "Its Content-Type is application/x-www-form-urlencoded" in fault(answer)
    assert "Content-Type: application/json" in fault(answer)


def test_an_unknown_path_or_method_is_named_with_the_place_of_the_list(house: House) -> None:
    for method, path, status, text in (
        ("GET", "/nowhere", 404, "There is nothing at /v1/nowhere"),
        ("PUT", "/nodes", 405, "Method PUT is not possible at /v1/nodes"),
    ):
        answer = house.call(method, path)
        description = json.loads(answer.json()["error_message"])["description"]
        assert answer.status_code == status
        assert text in description and "/openapi.json" in description


def test_what_an_active_node_forbids_says_what_to_do_first(house: House) -> None:
    uuid = house.node(provision_state="active")
    answer = house.call("DELETE", f"/nodes/{uuid}")
    assert answer.status_code == 409
    assert "in provision state active. Bring it into state manageable" in fault(answer)


def test_a_full_disk_is_told(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        with house.parts.engine.connect() as connection:
            connection.exec_driver_sql("CREATE TABLE filled (bytes BLOB)")
            connection.exec_driver_sql("PRAGMA max_page_count = 4")
            connection.exec_driver_sql("INSERT INTO filled VALUES (zeroblob(10000000))")

    monkeypatch.setattr(node_router, "listing", full)
    answer = house.call("GET", "/nodes")
    assert answer.status_code == 503
    assert "is full; free space on it; try again later" in fault(answer)


def kinds() -> Iterator[Kind]:
    """Yield every kind of value that a module of the API names, has in a resource or takes as an argument."""
    for found in pkgutil.walk_packages(api.__path__, f"{api.__name__}."):
        for value in vars(importlib.import_module(found.name)).values():
            if isinstance(value, Resource):
                yield from (each.kind for each in value.fields)
            elif isinstance(value, dict):
                yield from (each.kind for each in value.values() if isinstance(each, Arg))
            elif isinstance(value, Kind):
                yield value


def parts(schema: Any) -> Iterator[Any]:
    """Yield a schema and those of its parts."""
    yield schema
    below = [*schema.get("properties", {}).values(), *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    for each in (*below, *([schema["items"]] if "items" in schema else [])):
        yield from parts(each)


def test_what_a_value_may_be_is_told_without_gaps_and_repetition() -> None:
    told = {expected(each) for kind in kinds() for each in parts(kind.schema)}
    assert len(told) > 30
    for text in told:
        ways = text.split(" or ")
        assert all(ways) and len(set(ways)) == len(ways), text
