# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Who sees what, asked over HTTP: what is hidden looks as if it were not there (contract: engine.md section 11)."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.unit.server.api_house import fault
from tests.unit.server.keystone_house import (
    CHILD,
    FOREIGN,
    LEASED,
    MACS,
    OWN,
    SECRET_ERROR,
    UNKNOWN,
    GuardedHouse,
    Keystone,
    rack,
)


@pytest.fixture(scope="module")
def shown(keystone: Keystone, tmp_path_factory: pytest.TempPathFactory) -> GuardedHouse:
    """Return an API that tests only read from."""
    return rack(GuardedHouse(tmp_path_factory.mktemp("state"), keystone))


@pytest.fixture
def house(keystone: Keystone, tmp_path: Path) -> GuardedHouse:
    return rack(GuardedHouse(tmp_path, keystone))


def names(house: GuardedHouse, who: str, query: str = "") -> list[str]:
    answer = house.call("GET", f"/nodes?include_children=true&{query}", who=who)
    assert answer.status_code == 200, answer.text
    return sorted(each["name"] for each in answer.json()["nodes"])


# What is listed


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ("reader@system", ["child", "foreign", "free", "leased", "own"]),
        ("service@service", ["child", "foreign", "free", "leased", "own"]),
        ("reader@p1", ["child", "leased", "own"]),
        ("service@p1", ["child", "leased", "own"]),
        ("reader@p2", ["child", "foreign", "leased"]),
        ("admin@p3", []),
    ],
)
def test_a_list_of_nodes_holds_those_that_the_project_owns_or_leases(
    shown: GuardedHouse, who: str, expected: list[str]
) -> None:
    assert names(shown, who) == expected
    assert names(shown, who, "detail=true") == expected


def test_who_has_no_role_lists_nothing(shown: GuardedHouse) -> None:
    answer = shown.call("GET", "/nodes", who="@p1")
    assert answer.status_code == 403
    assert "baremetal:node:list" in fault(answer)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("instance_uuid=" + UNKNOWN, []),
        ("parent_node=" + OWN, []),
        ("maintenance=false", ["child", "leased", "own"]),
        ("project=p1", ["child", "leased", "own"]),
        ("owner=p1", ["own"]),
        ("lessee=p1", ["child", "leased"]),
        ("description_contains=x", []),
    ],
)
def test_filters_only_narrow_what_a_project_sees(shown: GuardedHouse, query: str, expected: list[str]) -> None:
    assert names(shown, "reader@p1", query) == expected


@pytest.mark.parametrize("query", ["project=p2", "owner=p2", "owner=p3"])
def test_filters_of_another_project_are_refused(shown: GuardedHouse, query: str) -> None:
    assert shown.call("GET", f"/nodes?{query}", who="admin@p1").status_code == 403
    assert shown.call("GET", f"/nodes?{query}", who="reader@system").status_code == 200


def test_pages_of_a_restricted_list_hold_what_is_seen_and_take_no_hidden_marker(shown: GuardedHouse) -> None:
    found, query = [], "?limit=1&include_children=true"
    while query:
        page = shown.call("GET", f"/nodes{query}", who="reader@p1").json()
        found += [each["uuid"] for each in page["nodes"]]
        query = page.get("next", "").partition("/v1/nodes")[2]
    assert sorted(found) == [OWN, LEASED, CHILD]
    hidden, absent = (shown.call("GET", f"/nodes?marker={marker}", who="reader@p1") for marker in (FOREIGN, UNKNOWN))
    assert (hidden.status_code, absent.status_code) == (404, 404)
    assert hidden.text.replace(FOREIGN, UNKNOWN) == absent.text
    assert shown.call("GET", f"/nodes?marker={FOREIGN}", who="reader@system").status_code == 200


def test_ports_are_listed_with_their_nodes(shown: GuardedHouse) -> None:
    def addresses(who: str, query: str = "") -> list[str]:
        return [each["address"] for each in shown.call("GET", f"/ports{query}", who=who).json()["ports"]]

    assert addresses("reader@system") == list(MACS.values())
    assert addresses("reader@p1") == [MACS[OWN], MACS[LEASED]]
    assert addresses("reader@p1", f"?address={MACS[FOREIGN]}") == []
    assert addresses("reader@p1", "/detail?limit=1") == [MACS[OWN]]
    assert addresses("reader@p3") == []


def test_children_that_are_not_seen_are_not_listed(house: GuardedHouse) -> None:
    house.set(CHILD, parent_node=OWN)
    assert house.call("GET", f"/nodes/{OWN}/children", who="reader@p1").json()["children"] == [CHILD]
    house.set(CHILD, lessee=None)
    assert house.call("GET", f"/nodes/{OWN}/children", who="reader@p1").json()["children"] == []
    assert house.call("GET", f"/nodes/{OWN}/children", who="reader@system").json()["children"] == [CHILD]


def test_a_parent_that_is_not_seen_is_not_named(shown: GuardedHouse) -> None:
    def parents(who: str) -> list[Any]:
        listed = shown.call("GET", "/nodes/detail?include_children=true", who=who).json()["nodes"]
        chosen = shown.call("GET", "/nodes?fields=parent_node,name&include_children=true", who=who).json()["nodes"]
        one = shown.call("GET", f"/nodes/{CHILD}", who=who).json()
        return [
            next(each["parent_node"] for each in (*rows, one) if each["name"] == "child") for rows in (listed, chosen)
        ]

    assert parents("reader@p1") == [None, None]
    assert parents("reader@p2") == [FOREIGN, FOREIGN]
    assert shown.call("GET", f"/nodes/{CHILD}", who="reader@p1").json()["parent_node"] is None


# What is hidden looks as if it were not there

_PATCH = [{"op": "add", "path": "/extra/x", "value": 1}]
HIDDEN: dict[str, Any] = {
    "GET /nodes/{}": None,
    "GET /nodes/{}?fields=name": None,
    "PATCH /nodes/{}": _PATCH,
    "DELETE /nodes/{}": None,
    "GET /nodes/{}/validate": None,
    "GET /nodes/validate?node={}": None,
    "GET /nodes/{}/children": None,
    "GET /nodes?parent_node={}": None,
    "GET /nodes/{}/states": None,
    "PUT /nodes/{}/states/power": {"target": "power on"},
    "PUT /nodes/{}/states/provision": {"target": "provide"},
    "PUT /nodes/{}/states/console": {"enabled": True},
    "GET /nodes/{}/states/console": None,
    "PUT /nodes/{}/maintenance": {},
    "DELETE /nodes/{}/maintenance": None,
    "GET /nodes/{}/management/boot_device": None,
    "PUT /nodes/{}/management/inject_nmi": {},
    "GET /nodes/{}/traits": None,
    "PUT /nodes/{}/traits": {"traits": []},
    "PUT /nodes/{}/traits/CUSTOM_X": None,
    "GET /nodes/{}/history": None,
    "GET /nodes/{}/inventory": None,
    "GET /nodes/{}/vifs": None,
    "POST /nodes/{}/vifs": {"id": UNKNOWN},
    "GET /nodes/{}/ports": None,
    "GET /nodes/{}/portgroups": None,
    "GET /nodes/{}/volume": None,
    "GET /nodes/{}/volume/targets": None,
    "GET /nodes/{}/bios": None,
    "GET /nodes/{}/firmware": None,
    "GET /nodes/{}/allocation": None,
    "GET //rackwright/v1/nodes/{}/operations": None,
    "GET /ports?node={}": None,
    "GET /allocations?node={}": None,
    "POST /ports": {"node_uuid": "{}", "address": "52:54:00:99:99:99"},
    "POST /portgroups": {"node_uuid": "{}"},
    "POST /volume/connectors": {"node_uuid": "{}", "type": "iqn", "connector_id": "iqn.1"},
    "POST /allocations": {"resource_class": "x", "candidate_nodes": ["{}"]},
    "POST /nodes": {"driver": "fake-hardware", "parent_node": "{}", "owner": "p1"},
    f"PATCH /nodes/{OWN}": [{"op": "add", "path": "/parent_node", "value": "{}"}],
}


def _filled(body: Any, ident: str) -> Any:
    if isinstance(body, str):
        return body.replace("{}", ident)
    if isinstance(body, dict):
        return {key: _filled(value, ident) for key, value in body.items()}
    return [_filled(each, ident) for each in body] if isinstance(body, list) else body


@pytest.mark.parametrize("who", ["reader@p1", "admin@p1"])
@pytest.mark.parametrize("known_as", [FOREIGN, "foreign"])
@pytest.mark.parametrize("request_", HIDDEN)
def test_a_hidden_node_and_one_that_does_not_exist_get_the_same_answer(
    shown: GuardedHouse, request_: str, known_as: str, who: str
) -> None:
    method, _, path = request_.partition(" ")
    absent = UNKNOWN if known_as == FOREIGN else "nobody"
    answers = [
        shown.call(method, path.replace("{}", ident), _filled(HIDDEN[request_], ident), who=who)
        for ident in (known_as, absent)
    ]
    hidden, missing = answers
    assert hidden.status_code == missing.status_code >= 400
    assert hidden.text.replace(known_as, absent) == missing.text


def test_a_port_of_a_hidden_node_does_not_exist(shown: GuardedHouse) -> None:
    ports = {each["address"]: each["uuid"] for each in shown.call("GET", "/ports", who="reader@system").json()["ports"]}
    foreign, none = ports[MACS[FOREIGN]], str(uuid4())
    for method, body in (("GET", None), ("PATCH", _PATCH)):
        hidden = shown.call(method, f"/ports/{foreign}", body, who="admin@p1")
        missing = shown.call(method, f"/ports/{none}", body, who="admin@p1")
        assert (hidden.status_code, missing.status_code) == (404, 404)
        assert hidden.text.replace(foreign, none) == missing.text
    assert shown.call("GET", f"/ports/{ports[MACS[LEASED]]}", who="reader@p1").json()["extra"] == {"of": "leased"}


# What may be read of a node that is seen

READ = ("last_error", "reservation", "driver_info", "driver_internal_info")


@pytest.mark.parametrize(
    ("who", "node", "open_"),
    [("reader@p1", OWN, True), ("reader@system", LEASED, True), ("admin@p1", LEASED, False)],
)
def test_a_lessee_reads_neither_errors_nor_what_the_owner_told_the_driver(
    house: GuardedHouse, who: str, node: str, open_: bool
) -> None:
    house.set(node, driver_info={"fake": "1"}, driver_internal_info={"agent_url": "https://192.0.2.8"}, reservation="h")
    one = house.call("GET", f"/nodes/{node}", who=who).json()
    (listed,) = (each for each in house.call("GET", "/nodes/detail", who=who).json()["nodes"] if each["uuid"] == node)
    chosen = house.call("GET", f"/nodes/{node}?fields={','.join(READ)}", who=who).json()
    for found in (one, listed, chosen):
        assert ({name: found[name] for name in READ} == {
            "last_error": SECRET_ERROR, "reservation": "h", "driver_info": {"fake": "1"},
            "driver_internal_info": {"agent_url": "https://192.0.2.8"},
        }) is open_  # fmt: skip
        if not open_:
            assert found["last_error"] == "Hidden: seeing it needs the rule baremetal:node:get:last_error."
            assert found["driver_info"] == {
                "content": "Hidden: seeing it needs the rule baremetal:node:get:driver_info."
            }
    states = house.call("GET", f"/nodes/{node}/states", who=who).json()
    assert (states["last_error"] == SECRET_ERROR) is open_


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "copy", "from": "/last_error", "path": "/extra/stolen"},
        {"op": "copy", "from": "/driver_info/fake", "path": "/extra/stolen"},
        {"op": "test", "path": "/last_error", "value": SECRET_ERROR},
    ],
)
def test_a_patch_does_not_tell_what_must_not_be_read(house: GuardedHouse, operation: dict[str, Any]) -> None:
    house.set(LEASED, driver_info={"fake": "1"})
    answer = house.call("PATCH", f"/nodes/{LEASED}", [operation], who="admin@p1")
    assert answer.status_code in (400, 403) or (operation["op"] == "copy" and SECRET_ERROR not in answer.text)
    assert SECRET_ERROR not in str(house.stored(LEASED).extra)


def test_what_must_not_be_read_is_not_written_over(keystone: Keystone, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text('"baremetal:node:update:driver_info": "@"\n')
    house = rack(GuardedHouse(tmp_path, keystone, policy_file=file))
    house.set(LEASED, driver_info={"fake": "1"})
    patch = [{"op": "add", "path": "/driver_info/more", "value": 1}]
    assert house.call("PATCH", f"/nodes/{LEASED}", patch, who="admin@p1").status_code == 403
    assert house.stored(LEASED).driver_info == {"fake": "1"}
