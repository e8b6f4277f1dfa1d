# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import event

from tests.unit.server.api_house import HOST, NODE, PUBLIC, House, fault

OTHER = "22222222-2222-4222-8222-222222222222"


def names(house: House, query: str, version: str = "1.115") -> list[str]:
    answer = house.call("GET", f"/nodes?{query}", version=version)
    assert answer.status_code == 200, answer.text
    shown = [house.call("GET", f"/nodes/{each['uuid']}").json()["name"] for each in answer.json()["nodes"]]
    return [str(name) for name in shown]


@pytest.fixture
def fleet(house: House) -> House:
    house.conductor("fake-hardware", host="conductor-2.example", group="far")
    house.node(name="a", owner="p1", resource_class="big", description="50% Off", shard="one")
    house.node(name="b", lessee="p1", maintenance=True, fault="power failure", instance_uuid=OTHER)
    house.node(name="c", driver="redfish", retired=True, provision_state="available", instance_name="vm")
    house.node(name="d", conductor_group="Far", shard="two")
    house.node(name="child", parent_node="a", owner="p1")
    return house


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", "abcd"),
        (f"instance_uuid={OTHER}", "b"),
        (f"instance_uuid={NODE}", ""),
        ("associated=true", "b"),
        ("associated=no", "acd"),
        ("maintenance=True", "b"),
        ("retired=1", "c"),
        ("provision_state=available", "c"),
        ("driver=redfish", "c"),
        ("resource_class=big", "a"),
        ("fault=power%20failure", "b"),
        ("conductor_group=FAR", "d"),
        (f"conductor={HOST}", "abc"),
        ("conductor=nobody", ""),
        ("owner=p1", "a"),
        ("lessee=p1", "b"),
        ("project=p1", "ab"),
        ("description_contains=50%25%20off", "a"),
        ("description_contains=5__", ""),
        ("shard=one,two", "ad"),
        ("shard=one&shard=two", "ad"),
        ("sharded=true", "ad"),
        ("sharded=false", "bc"),
        ("instance_name=vm", "c"),
        ("maintenance=false&driver=fake-hardware", "ad"),
        ("sort_key=name&sort_dir=desc", "dcba"),
        ("sort_key=resource_class", "bcda"),
        ("limit=2", "ab"),
    ],
)
def test_a_filter_finds_what_it_says(fleet: House, query: str, found: str) -> None:
    assert names(fleet, query) == list(found)


def test_child_nodes_are_listed_when_asked_for(fleet: House) -> None:
    assert names(fleet, "include_children=true") == ["a", "b", "c", "d", "child"]
    assert names(fleet, "parent_node=a") == ["child"]
    answer = fleet.call("GET", "/nodes/a/children").json()
    uuid = fleet.call("GET", "/nodes/a").json()["uuid"]
    assert len(answer["children"]) == 1
    assert answer["links"] == {"href": f"{PUBLIC}/v1/nodes?parent_node={uuid}", "rel": "children"}


@pytest.mark.parametrize("key", ["id", "name", "resource_class", "created_at", "instance_uuid"])
@pytest.mark.parametrize("direction", ["asc", "desc"])
@pytest.mark.parametrize("query", ["", "&maintenance=false", f"&conductor={HOST}"])
def test_following_next_gives_every_node_once(fleet: House, key: str, direction: str, query: str) -> None:
    whole = names(fleet, f"sort_key={key}&sort_dir={direction}{query}")
    path, found = f"/nodes?limit=2&fields=uuid,name&sort_key={key}&sort_dir={direction}{query}", []
    while path:
        page = fleet.call("GET", path).json()
        found += [each["name"] for each in page["nodes"]]
        link = urlsplit(page.get("next", ""))
        assert not page.get("next") or page["next"].startswith(f"{PUBLIC}/v1/nodes?")
        path = f"{link.path.removeprefix('/v1')}?{link.query}" if link.path else ""
    assert found == whole


def test_a_marker_at_the_end_gives_an_empty_page(fleet: House) -> None:
    last = fleet.call("GET", "/nodes").json()["nodes"][-1]["uuid"]
    assert fleet.call("GET", f"/nodes?marker={last}").json() == {"nodes": []}


def test_pages_are_limited_by_the_setting(tmp_path: Any) -> None:
    house = House(tmp_path, max_limit=2)
    for _ in range(3):
        house.node()
    answer = house.call("GET", "/nodes?limit=50").json()
    assert (len(answer["nodes"]), "limit=2" in answer["next"]) == (2, True)


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("fields=uuid,NAME", {"uuid", "name", "links"}),
        ("fields=name&fields=power_state", {"name", "power_state", "links"}),
        ("fields=conductor", {"conductor", "links"}),
        ("fields=links", {"links"}),
        (
            "",
            {"uuid", "name", "instance_uuid", "maintenance", "power_state", "provision_state", "links"},
        ),
    ],
)
def test_lists_show_the_chosen_fields(house: House, query: str, keys: set[str]) -> None:
    house.node()
    assert set(house.call("GET", f"/nodes?{query}").json()["nodes"][0]) == keys


def test_detail_shows_everything_in_both_forms(house: House) -> None:
    uuid = house.node()
    one = house.call("GET", f"/nodes/{uuid}").json()
    assert house.call("GET", "/nodes/detail").json()["nodes"] == [one]
    assert house.call("GET", "/nodes?detail=true").json()["nodes"] == [one]


@pytest.mark.parametrize("path", ["/nodes", "/nodes/detail", "/nodes?fields=conductor,name", "/ports/detail"])
def test_a_list_takes_few_queries_however_long_it_is(house: House, path: str) -> None:
    for number in range(50):
        uuid = house.node(name=f"n{number}")
        house.port(uuid, f"52:54:00:00:00:{number:02x}")
    statements: list[str] = []
    event.listen(house.parts.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    answer = house.call("GET", path).json()
    assert len(next(iter(answer.values()))) == 50
    assert len([each for each in statements if each.startswith("SELECT")]) <= 2


@pytest.mark.parametrize("ident", [NODE, NODE.upper(), f"{{{NODE}}}", NODE.replace("-", ""), "n1"])
def test_a_node_is_found_by_uuid_in_any_spelling_and_by_name(house: House, ident: str) -> None:
    house.node(uuid=NODE.upper(), name="n1")
    assert house.call("GET", f"/nodes/{ident}").json()["uuid"] == NODE


def test_names_are_unknown_before_5(house: House) -> None:
    uuid = house.node(name="n1")
    assert house.call("GET", "/nodes/n1", version="1.4").status_code == 404
    assert house.call("GET", f"/nodes/{uuid}", version="1.4").status_code == 200


def test_names_are_host_names_before_10(house: House) -> None:
    body = {"driver": "fake-hardware", "name": "under_score~"}
    assert house.call("POST", "/nodes", body, version="1.9").status_code == 400
    assert house.call("POST", "/nodes", body, version="1.10").status_code == 201


def test_creation_tells_where_the_node_is(house: House) -> None:
    answer = house.call("POST", "/nodes", {"driver": "fake-hardware"})
    assert answer.headers["Location"] == f"{PUBLIC}/v1/nodes/{answer.json()['uuid']}"


def test_what_people_call_a_secret_is_never_shown(house: House) -> None:
    words = ("passwd", "root_pwd", "pass", "api_key", "credentials", "snmp_community", "ssh_key", "ipmi_hex_kg_key")
    info = dict.fromkeys(words, "geheim") | {"redfish_address": "https://admin:geheim@bmc"}
    made = house.call("POST", "/nodes", {"driver": "fake-hardware", "driver_info": info})
    assert "geheim" not in made.text
    assert made.json()["driver_info"] == dict.fromkeys(words, "******") | {
        "redfish_address": "https://admin:******@bmc"
    }
    assert "geheim" not in house.call("GET", "/nodes/detail").text


def test_links_follow_the_request_without_a_public_endpoint(tmp_path: Any) -> None:
    house = House(tmp_path, public_endpoint=None)
    answer = house.call("POST", "/nodes", {"driver": "fake-hardware"})
    assert answer.headers["Location"].startswith("http://testserver/v1/nodes/")


@pytest.mark.parametrize(("version", "state"), [("1.1", None), ("1.10", "available"), ("1.11", "enroll")])
def test_new_nodes_start_where_their_version_expects_it(house: House, version: str, state: str | None) -> None:
    answer = house.call("POST", "/nodes", {"driver": "fake-hardware"}, version=version)
    assert answer.json()["provision_state"] == state


def test_interfaces_and_resource_class_get_defaults(tmp_path: Any) -> None:
    house = House(tmp_path, default_resource_class="metal")
    node = house.call("POST", "/nodes", {"driver": "redfish", "bios_interface": None}).json()
    assert (node["resource_class"], node["deploy_interface"], node["bios_interface"]) == ("metal", "direct", "no-bios")


def test_a_conductor_group_may_be_the_default_of_new_nodes(tmp_path: Any) -> None:
    house = House(tmp_path, default_conductor_group="Far")
    assert "far" in fault(house.call("POST", "/nodes", {"driver": "redfish"}))
    house.conductor("redfish", host="far-away", group="far")
    assert house.call("POST", "/nodes", {"driver": "redfish"}).json()["conductor_group"] == "far"
    assert house.call("POST", "/nodes", {"driver": "redfish", "conductor_group": ""}).json()["conductor_group"] == ""


@pytest.mark.parametrize("field", [{"uuid": NODE}, {"name": "n1"}, {"instance_uuid": OTHER}])
def test_what_must_be_unique_is_409_the_second_time(house: House, field: dict[str, str]) -> None:
    house.node(uuid=NODE, name="n1", instance_uuid=OTHER)
    answer = house.call("POST", "/nodes", {"driver": "fake-hardware", **field})
    assert (answer.status_code, next(iter(field.values())) in fault(answer)) == (409, True)


def test_a_node_without_conductor_has_none(house: House) -> None:
    uuid = house.node()
    assert house.call("GET", f"/nodes/{uuid}").json()["conductor"] == HOST
    house.conductor("redfish")
    assert house.call("GET", f"/nodes/{uuid}").json()["conductor"] is None


def test_removal_takes_everything_with_it(house: House) -> None:
    uuid = house.node()
    port = house.port(uuid)
    house.call("PUT", f"/nodes/{uuid}/states/provision", {"target": "manage"})
    house.set(uuid, reservation=None, maintenance=True)
    assert house.call("DELETE", f"/nodes/{uuid}").status_code == 204
    assert house.call("GET", f"/ports/{port}").status_code == 404
    assert house.call("DELETE", f"/nodes/{uuid}").status_code == 404


def test_validate_takes_the_node_as_an_argument_too(house: House) -> None:
    uuid = house.node(name="n1")
    one = house.call("GET", f"/nodes/{uuid}/validate").json()
    assert house.call("GET", "/nodes/validate?node=n1").json() == one
    assert house.call("GET", f"/nodes/validate?node_uuid={uuid}").json() == one
    nobody = house.call("GET", "/nodes/validate")
    assert (nobody.status_code, "give its UUID or name as node=" in fault(nobody)) == (404, True)


def test_what_only_a_machine_can_have_told_is_shown_as_it_was(house: House) -> None:
    uuid, told = house.node(), {"number": 10**30, "text": "half a pair: \ud800"}
    house.set(uuid, driver_internal_info=told)
    answer = house.call("GET", f"/nodes/{uuid}")
    assert (answer.status_code, answer.json()["driver_internal_info"]) == (200, told)
