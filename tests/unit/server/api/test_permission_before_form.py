# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Who may not do something learns nothing of what is wrong with the form of the request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from rackwright.api.permissions import ASKS
from rackwright.api.v1 import ROUTERS
from tests.unit.server.api.test_every_route_asks import PUBLIC, new
from tests.unit.server.keystone_house import FOREIGN, LEASED, OWN, GuardedHouse, Keystone, rack

WITH_BODY = {
    (method, route.path)
    for router in ROUTERS
    for route in router.routes
    for method in route.methods & {"POST", "PUT", "PATCH"}
    if route.path not in PUBLIC and not route.endpoint.__module__.endswith(".items")  # those refuse whatever is sent
}
OF_NODE = sorted((method, path) for method, path in WITH_BODY if path.startswith("/v1/nodes/"))
OTHERS = sorted(WITH_BODY - set(OF_NODE))
MALFORMED = (b"{", b"7", b'{"no_such_argument": 1}', b'[{"op": "explode", "path": "no path"}]')
OWNED = ("/v1/ports", "/v1/portgroups", "/v1/volume", "/v1/allocations", "/v1/runbooks")
PARTS = {"method": "paint", "trait": "x y", "name": "redfish"}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, keystone: Keystone) -> Iterator[GuardedHouse]:
    found = rack(GuardedHouse(tmp_path_factory.mktemp("state"), keystone))
    yield found


@pytest.fixture(scope="module")
def idents(house: GuardedHouse) -> dict[str, str]:
    """Make one object of each kind that belongs to the own node or to everybody; return their idents by path."""
    found = {}
    for path, body in new(OWN).items():
        body |= {"address": "52:54:00:aa:bb:55"} if path == "/v1/ports" else {}
        if path == "/v1/allocations":
            body = {"resource_class": "x"}
        if path in ("/v1/allocations", "/v1/runbooks"):
            body |= {"owner": "p1"}
        answer = house.call("POST", f"/{path}", body)
        assert answer.status_code == 201, answer.text
        found[path] = answer.json()["uuid"]
    return found


def statuses(house: GuardedHouse, method: str, path: str, ident: str, who: str) -> set[int]:
    whole = re.sub(r"\{(\w+)\}", lambda part: PARTS.get(part[1], ident), path)
    whole = whole.replace("redfish", "led@system") if "indicators" in path else whole
    headers = {"Content-Type": "application/json"}
    answers = [house.call(method, f"/{whole}", content=body, headers=headers, who=who) for body in MALFORMED]
    return {answer.status_code for answer in answers}


def ident_of(path: str, idents: dict[str, str]) -> str:
    return next((ident for base, ident in idents.items() if path.startswith(base)), "")


def test_every_route_with_a_body_says_what_it_asks() -> None:
    named = {tuple(each.split(" ", 1)) for each in ASKS}
    assert {(method, path) for method, path in WITH_BODY} <= named


@pytest.mark.parametrize(("method", "path"), OF_NODE)
def test_a_malformed_body_for_a_node_is_403_to_who_only_reads_it_and_404_to_who_does_not_see_it(
    house: GuardedHouse, method: str, path: str
) -> None:
    assert statuses(house, method, path, OWN, "reader@p1") == {403}
    assert statuses(house, method, path, LEASED, "reader@p1") == {403}
    assert statuses(house, method, path, FOREIGN, "admin@p1") == {404}
    assert statuses(house, method, path, FOREIGN, "reader@system") == {403}


@pytest.mark.parametrize(("method", "path"), OTHERS)
def test_a_malformed_body_is_403_to_who_only_reads(
    house: GuardedHouse, idents: dict[str, str], method: str, path: str
) -> None:
    ident = ident_of(path, idents)
    assert statuses(house, method, path, ident, "reader@p1") == {403}
    assert statuses(house, method, path, ident, "reader@system") == {403}
    if "{" in path and path.startswith(OWNED):
        assert statuses(house, method, path, ident, "admin@p2") == {404}


@pytest.mark.parametrize(("method", "path"), sorted(WITH_BODY))
def test_a_malformed_body_is_400_to_who_may(
    house: GuardedHouse, idents: dict[str, str], method: str, path: str
) -> None:
    if not path.endswith(("vendor_passthru", "/{method}", "inject_nmi")):  # these take any object
        assert 400 in statuses(house, method, path, ident_of(path, idents) or OWN, "admin@system")


@pytest.mark.parametrize(
    ("path", "who"),
    [
        ("/nodes", "admin@p1"),
        ("/ports", "admin@p1"),
        ("/volume/connectors", "manager@p1"),
        ("/allocations", "member@p1"),
    ],
)
def test_who_may_do_it_for_the_own_project_learns_what_is_wrong(house: GuardedHouse, path: str, who: str) -> None:
    assert house.call("POST", path, {"no_such_field": 1}, who=who).status_code == 400


def test_a_lessee_who_may_change_something_of_a_node_learns_what_is_wrong_with_a_patch(house: GuardedHouse) -> None:
    assert house.call("PATCH", f"/nodes/{LEASED}", {"op": "x"}, who="member@p1").status_code == 400


def test_a_field_of_a_newer_version_is_no_news_for_who_may_not(house: GuardedHouse) -> None:
    body: dict[str, Any] = {"driver": "redfish", "network_data": {}}
    assert house.call("POST", "/nodes", body, version="1.30", who="reader@p1").status_code == 403
    assert house.call("POST", "/nodes", body, version="1.30", who="admin@p1").status_code == 406


def test_an_endpoint_of_a_newer_version_is_not_there_for_anybody(house: GuardedHouse) -> None:
    assert house.call("POST", "/runbooks", {}, version="1.50", who="reader@p1").status_code in (404, 405)
