# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Requests that nobody would send on purpose: every one is answered with a 4xx that says what is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from httpx2 import Response
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.server.api_house import NODE, House, fault

OTHER = "22222222-2222-4222-8222-222222222222"
JSON = {"Content-Type": "application/json"}
few = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = (
    *("uuid", "name", "driver", "driver_info", "extra", "properties", "instance_uuid", "maintenance", "owner", "shard"),
    *("resource_class", "network_data", "parent_node", "chassis_uuid", "power_interface", "retired"),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    made = House(tmp_path_factory.mktemp("hostile"))
    made.node(uuid=NODE, name="node-1", extra={"a/b": 1, "list": [1, {"x": 2}], "": {"": 3}})
    yield made
    made.parts.engine.dispose()


def told(answer: Response) -> bool:
    """Return whether an answer is right: a success, or a 4xx with a text."""
    if answer.status_code < 300:
        return True
    body = answer.json()
    text = fault(answer) if "error_message" in body else body["faultstring"]
    return 400 <= answer.status_code < 500 and bool(text)


@few
@given(st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=8), values, max_size=5))
def test_any_object_is_a_node_or_is_refused(place: House, body: dict[str, Any]) -> None:
    content = json.dumps({"driver": "fake-hardware", **body})
    before = len(place.call("GET", "/nodes").json()["nodes"])
    answer = place.call("POST", "/nodes", content=content, headers=JSON)
    assert told(answer), answer.text
    after = place.call("GET", "/nodes?include_children=true").json()["nodes"]
    assert len(after) == before + (answer.status_code == 201)
    if answer.status_code == 201:
        made = f"/nodes/{answer.json()['uuid']}"
        assert place.call("GET", made).status_code == 200
        assert place.call("PUT", f"{made}/maintenance", {}).status_code == 202
        assert place.call("DELETE", made).status_code == 204


steps = st.sampled_from(["extra", "a~1b", "list", "0", "1", "-", "x", "", "~", "~2", "properties", "name", "uuid", "é",
                         "driver_info", "$sealed", "99999999999999999999", "-1", "01"])  # fmt: skip
pointers = st.lists(steps, max_size=5).map(lambda parts: "/" + "/".join(parts)) | st.text(max_size=10)
operations = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "replace", "remove", "move", "copy", "test", "mix"]), "path": pointers},
    optional={"value": values, "from": pointers},
)


@few
@given(st.lists(operations | values, max_size=4))
def test_any_patch_is_applied_whole_or_refused_whole(place: House, patch: list[Any]) -> None:
    before = place.call("GET", f"/nodes/{NODE}").json()
    answer = place.call("PATCH", f"/nodes/{NODE}", content=json.dumps(patch), headers=JSON)
    assert told(answer), answer.text
    if answer.status_code != 200:
        assert place.call("GET", f"/nodes/{NODE}").json() == before
    json.dumps(place.call("GET", f"/nodes/{NODE}").json(), allow_nan=False)


@few
@given(st.binary(max_size=12), st.sampled_from(["", "/states", "/traits/", "/history/", "/vifs/"]))
def test_any_bytes_may_stand_in_a_path(place: House, name: bytes, below: str) -> None:
    path = f"//v1/nodes/{quote(name, safe='')}{below}{quote(name, safe='') if below.endswith('/') else ''}"
    for method in ("GET", "PUT", "DELETE"):
        answer = place.client.request(method, path[1:], headers={"X-OpenStack-Ironic-API-Version": "1.115"})
        assert told(answer), (method, path, answer.text)


@few
@given(st.lists(st.tuples(st.sampled_from(["limit", "marker", "sort_key", "fields", "driver", "owner", "shard", "x"]),
                          st.binary(max_size=10)), max_size=3))  # fmt: skip
def test_any_bytes_may_stand_in_a_query(place: House, items: list[tuple[str, bytes]]) -> None:
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in items)
    answer = place.call("GET", f"/nodes?{query}")
    assert told(answer), (query, answer.text)
    names = [name for name, _ in items]
    if any(names.count(name) > 1 for name in names if name not in ("fields", "shard")):
        assert answer.status_code >= 400


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (b'{"driver": "fake-hardware", "driver": "redfish"}', "duplicate"),
        (b'{"driver": "fake-hardware", "extra": {"a": {"b": 1, "b": 2}}}', "duplicate"),
        (b'{"driver": "fake-hardware", "extra": {"a": 1e999}}', "too large"),
        (b'{"driver": "fake-hardware", "extra": {"a": -1e999}}', "too large"),
        (b'{"driver": "fake-hardware", "extra": {"a": 18446744073709551616}}', "64 bits"),
        (b'{"driver": "fake-hardware", "extra": {"a": [-9223372036854775809]}}', "64 bits"),
        (b'{"driver": "fake-hardware", "extra": {"a": ' + b"9" * 6000 + b"}}", "out of range"),
        (b'{"driver": "fake-hardware", "extra": {"a": NaN}}', "not valid JSON"),
        (b'{"driver": "fake-hardware", "extra": {"a": "\xc3\x28"}}', "not valid JSON"),
    ],
)
def test_what_json_readers_read_differently_is_refused(house: House, body: bytes, hint: str) -> None:
    answer = house.call("POST", "/nodes", content=body, headers=JSON)
    assert (answer.status_code, hint in fault(answer)) == (400, True), answer.text
    assert house.call("GET", "/nodes").json() == {"nodes": []}


def test_the_largest_numbers_are_kept_as_they_are(house: House) -> None:
    body = b'{"driver": "fake-hardware", "extra": {"a": 18446744073709551615, "b": -9223372036854775808, "c": 1e300}}'
    uuid = house.call("POST", "/nodes", content=body, headers=JSON).json()["uuid"]
    extra = house.call("GET", f"/nodes/{uuid}").json()["extra"]
    assert extra == {"a": 2**64 - 1, "b": -(2**63), "c": 1e300}


def test_an_argument_is_given_once(house: House) -> None:
    assert "twice" in fault(house.call("GET", "/nodes?limit=1&limit=2"))
    assert "twice" in fault(house.call("GET", "/nodes?owner=a&owner=a"))
    assert house.call("GET", "/nodes?fields=uuid&fields=name").status_code == 200


@pytest.mark.parametrize("limit", ["1e3", "1_0", "0x1", "1.0", "9" * 40, "٣", "-9223372036854775809", "+", ""])
def test_a_limit_is_a_number_as_people_write_it(house: House, limit: str) -> None:
    assert house.call("GET", f"/nodes?limit={quote(limit)}").status_code == 400
    assert house.call("GET", "/nodes?limit=+1").status_code in (200, 400)
    assert house.call("GET", "/nodes?limit=9223372036854775807").status_code == 200


def test_a_marker_that_vanished_is_404(house: House) -> None:
    first, second = house.node(), house.node()
    page = house.call("GET", "/nodes?limit=1").json()
    assert first in page["next"]
    house.call("DELETE", f"/nodes/{first}")
    assert house.call("GET", f"/nodes?limit=1&marker={first}").status_code == 404
    assert house.call("GET", f"/nodes?limit=1&marker={second}").json()["nodes"] == []


@pytest.mark.parametrize("name", [NODE, NODE.upper(), NODE.replace("-", ""), f"{{{NODE}}}", f"urn:uuid:{NODE}"])
def test_a_name_that_looks_like_a_uuid_is_refused(house: House, name: str) -> None:
    assert house.call("POST", "/nodes", {"driver": "fake-hardware", "name": name}).status_code == 400
    uuid = house.node()
    patch = [{"op": "add", "path": "/name", "value": name}]
    assert house.call("PATCH", f"/nodes/{uuid}", patch).status_code == 400
    assert house.call("GET", f"/nodes/{uuid}").json()["name"] is None


@pytest.mark.parametrize(
    "patch",
    [
        [{"op": "test", "path": "/extra", "value": {}}] * 1001,
        [{"op": "add", "path": "/extra/l", "value": ["x" * 1000]}]
        + [{"op": "copy", "from": "/extra/l", "path": "/extra/l/-"}] * 15,
        [{"op": "add", "path": "/extra/l", "value": ["x" * 500_000]}]
        + [{"op": "copy", "from": "/extra/l/0", "path": f"/extra/l{n}"} for n in range(4)],
        [{"op": "add", "path": "/extra/a", "value": {}}]
        + [{"op": "add", "path": "/extra" + "/a" * n, "value": {}} for n in range(2, 30)],
        [{"op": "copy", "from": "/extra", "path": f"/extra/{n}"} for n in range(30)],
        [{"op": "add", "path": "/driver_info/p/$sealed", "value": "x"}],
        [{"op": "add", "path": "/driver_info/$sealed", "value": "x"}],
    ],
)
def test_a_patch_cannot_make_a_monster(house: House, patch: Any) -> None:
    uuid = house.node()
    answer = house.call("PATCH", f"/nodes/{uuid}", patch)
    assert answer.status_code == 400, answer.text[:300]
    assert house.call("GET", f"/nodes/{uuid}").json()["extra"] == {}


@pytest.mark.parametrize("path", ["/nodes/%", "/nodes/%zz", "/nodes/%c3%28", "/nodes/..%2f..%2fetc", "/nodes/%2e%2e",
                                  "/nodes/a%2fb", "/nodes/%20", "/nodes/%0a", "/nodes//", "/nodes/%25", "//v1//nodes",
                                  "/nodes/a;b", "/nodes/%F0%9F%98%80"])  # fmt: skip
def test_odd_escapes_in_a_path_find_nothing(house: House, path: str) -> None:
    answer = house.call("GET", path)
    assert answer.status_code in (400, 404) or path == "/nodes//", answer.text
    assert told(answer)
