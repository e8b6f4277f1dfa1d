# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.api_house import PUBLIC, House, fault

UUID = "55555555-5555-4555-8555-555555555555"
RULE: dict[str, Any] = {
    "uuid": UUID,
    "description": "r",
    "conditions": [{"op": "eq", "args": {"values": ["{node.driver}", "redfish"]}}],
    "actions": [{"op": "set-attribute", "args": {"path": "/extra/x", "value": "y"}}],
}


def created(house: House, **fields: Any) -> dict[str, Any]:
    answer = house.call("POST", "/inspection_rules", {**RULE, **fields})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def patched(house: House, *operations: Any) -> Any:
    return house.call("PATCH", f"/inspection_rules/{UUID}", list(operations))


def test_a_rule_is_created_shown_listed_and_removed(house: House) -> None:
    answer = house.call("POST", "/inspection_rules", RULE)
    assert (answer.status_code, answer.headers["Location"]) == (201, f"{PUBLIC}/v1/inspection_rules/{UUID}")
    shown = house.call("GET", f"/inspection_rules/{UUID}").json()
    assert shown == answer.json()
    links = [
        {"href": f"{PUBLIC}/v1/inspection/{UUID}", "rel": "self"},
        {"href": f"{PUBLIC}/inspection/{UUID}", "rel": "bookmark"},
    ]
    assert shown | {"created_at": None} == {
        **RULE,
        "created_at": None,
        "updated_at": None,
        "priority": 0,
        "sensitive": False,
        "phase": "main",
        "links": links,
    }
    short = {name: shown[name] for name in ("uuid", "description", "priority", "phase", "links")}
    assert house.call("GET", "/inspection_rules").json() == {"inspection_rules": [short]}
    assert house.call("GET", "/inspection_rules?phase=main&detail=true").json() == {"inspection_rules": [shown]}
    assert house.call("DELETE", f"/inspection_rules/{UUID}").status_code == 204
    assert house.call("GET", f"/inspection_rules/{UUID}").status_code == 404
    assert house.call("DELETE", f"/inspection_rules/{UUID}").status_code == 404


def test_all_rules_are_removed_at_once(house: House) -> None:
    created(house)
    created(house, uuid="66666666-6666-4666-8666-666666666666")
    assert house.call("DELETE", "/inspection_rules").status_code == 204
    assert house.call("GET", "/inspection_rules").json() == {"inspection_rules": []}


def test_a_rule_without_conditions_always_runs_and_is_fine(house: House) -> None:
    body = {name: value for name, value in RULE.items() if name != "conditions"}
    answer = house.call("POST", "/inspection_rules", body)
    assert (answer.status_code, answer.json()["conditions"]) == (201, [])


def test_before_96_there_are_no_rules(house: House) -> None:
    assert house.call("GET", "/inspection_rules", version="1.95").status_code == 404
    assert house.call("POST", "/inspection_rules", RULE, version="1.95").status_code == 405
    assert house.call("DELETE", "/inspection_rules", version="1.95").status_code == 405


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"actions": []}, "actions"),
        ({"actions": None}, "actions"),
        ({"actions": [{"op": "explode", "args": {}}]}, "action 1: op explode is unknown"),
        ({"actions": [{"op": "fail", "args": {}}]}, "action 1: op fail: the key msg is missing"),
        ({"actions": [{"op": "fail", "args": {"msg": "a", "more": 1}}]}, "more"),
        ({"actions": [{"args": {"msg": "a"}}]}, "op"),
        ({"conditions": {"op": "eq"}}, "conditions"),
        ({"conditions": [{"op": "matches", "args": {"value": "a", "regex": "("}}]}, "regular expression"),
        (
            {"conditions": [{"op": "in-net", "args": ["{inventory[bmc_address]}", "y"]}]},
            "condition 1: op in-net: subnet",
        ),
        ({"actions": [{"op": "api-call", "args": {"url": "file:///etc/passwd"}}]}, "no http or https URL"),
        ({"actions": [{"op": "set-attribute", "args": ["/uuid", "x"]}]}, "cannot be changed by a rule"),
        ({"actions": [{"op": "add-trait", "args": ["x"]}]}, "no trait"),
        ({"priority": -1}, "priority"),
        ({"priority": 10000}, "priority"),
        ({"priority": "high"}, "priority"),
        ({"priority": 10**30}, "whole number"),
        ({"phase": "early"}, "phase"),
        ({"sensitive": "perhaps"}, "sensitive"),
        ({"description": "x" * 256}, "description"),
        ({"uuid": "rule-1"}, "uuid"),
        ({"name": "rule-1"}, "name"),
    ],
)
def test_a_wrong_rule_is_400_and_not_stored(house: House, fields: dict[str, Any], hint: str) -> None:
    answer = house.call("POST", "/inspection_rules", {**RULE, **fields})
    assert (answer.status_code, hint in fault(answer)) == (400, True), answer.text
    assert house.call("GET", "/inspection_rules").json() == {"inspection_rules": []}


def test_a_uuid_is_taken_once(house: House) -> None:
    created(house)
    assert house.call("POST", "/inspection_rules", RULE).status_code == 409


def test_a_rule_is_patched_down_to_an_argument(house: House) -> None:
    created(house)
    answer = patched(
        house,
        {"op": "replace", "path": "/priority", "value": 7},
        {"op": "replace", "path": "/actions/0/args/value", "value": "z"},
        {"op": "remove", "path": "/conditions"},
    )
    assert answer.status_code == 200
    changed = answer.json()
    assert (changed["priority"], changed["conditions"]) == (7, [])
    assert changed["actions"] == [{"op": "set-attribute", "args": {"path": "/extra/x", "value": "z"}}]
    assert changed["updated_at"]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/actions"},
        {"op": "replace", "path": "/actions", "value": []},
        {"op": "replace", "path": "/actions/0/op", "value": "explode"},
        {"op": "replace", "path": "/uuid", "value": "66666666-6666-4666-8666-666666666666"},
        {"op": "replace", "path": "/phase", "value": "early"},
        {"op": "replace", "path": "/sensitive", "value": 0},
        {"op": "add", "path": "/priority", "value": False},
        {"op": "add", "path": "/colour", "value": "red"},
    ],
)
def test_a_patch_that_makes_a_wrong_rule_is_400_and_changes_nothing(house: House, operation: Any) -> None:
    before = created(house)
    assert patched(house, {"op": "replace", "path": "/priority", "value": 7}, operation).status_code == 400
    assert house.call("GET", f"/inspection_rules/{UUID}").json() == before


def test_headers_and_urls_of_a_rule_are_shown_without_their_passwords(house: House) -> None:
    headers, proxies = {"Authorization": "Bearer geheim", "Accept": "*/*"}, {"http": "http://a:geheim@proxy"}
    call = {"op": "api-call", "args": {"url": "http://a:geheim@cmdb/x", "headers": headers, "proxies": proxies}}
    shown = created(house, actions=[call])
    assert "geheim" not in str(shown)
    assert shown["actions"][0]["args"] == {
        "url": "http://a:******@cmdb/x",
        "headers": {"Authorization": "******", "Accept": "*/*"},
        "proxies": {"http": "http://a:******@proxy"},
    }
    copy = {"op": "copy", "from": "/actions/0/args/headers/Authorization", "path": "/description"}
    assert patched(house, copy).status_code == 400
    assert patched(house, {"op": "replace", "path": "/priority", "value": 3}).status_code == 200
    assert "geheim" not in house.call("GET", "/inspection_rules?detail=true").text


def test_a_sensitive_rule_hides_what_it_does_and_stays_sensitive(house: House) -> None:
    shown = created(house, sensitive=True)
    assert (shown["conditions"], shown["actions"]) == (None, None)
    listed = house.call("GET", "/inspection_rules?fields=uuid,actions").json()["inspection_rules"]
    assert [each["actions"] for each in listed] == [None]
    assert patched(house, {"op": "replace", "path": "/sensitive", "value": False}).status_code == 400
    assert patched(house, {"op": "remove", "path": "/sensitive"}).status_code == 400
    answer = patched(house, {"op": "replace", "path": "/priority", "value": 1})
    assert (answer.status_code, answer.json()["actions"]) == (200, None)


_CALL = {"op": "api-call", "args": {"url": "http://a.example", "headers": {"Authorization": "geheim"}}}


@pytest.mark.parametrize("sensitive", [True, False])
@pytest.mark.parametrize(
    "operation",
    [
        {"op": "copy", "from": "/actions/0/args/headers/Authorization", "path": "/description"},
        {"op": "copy", "from": "/conditions/0/args/values/1", "path": "/description"},
        {"op": "copy", "from": "/actions/0/args/headers/Authorization", "path": "/actions/0/args/headers/Accept"},
        {"op": "move", "from": "/actions/0/args/headers/Authorization", "path": "/actions/0/args/headers/Accept"},
        {"op": "test", "path": "/actions/0/args/headers/Authorization", "value": "geheim"},
        {"op": "test", "path": "/actions", "value": [_CALL]},
        {"op": "test", "path": "/conditions/0/op", "value": "eq"},
        {"op": "copy", "from": "/actions/0/args/headers/Authorization", "path": "/actions/0/op"},
    ],
)
def test_a_patch_does_not_give_away_what_a_rule_hides(house: House, operation: Any, sensitive: bool) -> None:
    before = created(house, sensitive=sensitive, actions=[_CALL])
    answer = patched(house, operation)
    assert (answer.status_code, "geheim" in answer.text) == (400, False)
    assert house.call("GET", f"/inspection_rules/{UUID}").json() == before


def test_a_sensitive_rule_can_be_changed_unseen(house: House) -> None:
    created(house, sensitive=True)
    assert patched(house, {"op": "replace", "path": "/actions/0/args/value", "value": "z"}).status_code == 200


def test_a_rule_is_known_by_its_uuid_only(house: House) -> None:
    assert house.call("GET", "/inspection_rules/rule-1").status_code == 400
    assert house.call("GET", f"/inspection_rules/{UUID.upper()}").status_code == 404
    created(house)
    assert house.call("GET", f"/inspection_rules/{UUID.upper()}").status_code == 200


def test_rules_are_paged_and_sorted(house: House) -> None:
    for place in range(3):
        created(house, uuid=f"{place}5555555-5555-4555-8555-555555555555", priority=place)
    first = house.call("GET", "/inspection_rules?limit=2&sort_key=priority&sort_dir=desc").json()
    assert [each["priority"] for each in first["inspection_rules"]] == [2, 1]
    rest = house.call("GET", "/" + first["next"].removeprefix(PUBLIC)).json()
    assert [each["priority"] for each in rest["inspection_rules"]] == [0]
    assert house.call("GET", "/inspection_rules?sort_key=actions").status_code == 400
