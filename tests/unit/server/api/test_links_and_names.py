# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What an answer links to is there, and no name hides behind a word of the paths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from rackwright.store import hardware, history
from rackwright.store.history import NodeHistory
from rackwright.store.session import writing
from tests.unit.server.api_house import HOST, NODE, PUBLIC, House, fault

_WORD = re.compile(r"/v1/(\w+)/([a-z_]+)")
_STEP = {"interface": "deploy", "step": "erase_devices", "args": {}}
NAMED: dict[str, dict[str, Any]] = {
    "nodes": {"driver": "fake-hardware"},
    "ports": {"node_uuid": NODE, "address": "52:54:00:aa:bb:02"},
    "portgroups": {"node_uuid": NODE},
    "allocations": {"resource_class": "baremetal"},
    "deploy_templates": {"steps": [{**_STEP, "priority": 1}]},
    "runbooks": {"steps": [{**_STEP, "order": 1}]},
}
"""Each collection whose items have names, and what one needs besides its name."""
MADE: dict[str, dict[str, Any]] = {
    "nodes": {"uuid": NODE, "driver": "fake-hardware"},
    "chassis": {},
    **{name: body | {"name": "CUSTOM_A"} for name, body in NAMED.items() if name != "nodes"},
    "volume/connectors": {"node_uuid": NODE, "type": "iqn", "connector_id": "iqn.2026-11.example:a"},
    "volume/targets": {"node_uuid": NODE, "volume_type": "iscsi", "volume_id": "a", "boot_index": 0},
}
"""Every collection in which clients make items, in an order in which they can be made.

Not that of inspection rules, whose links lead nowhere in Ironic either (contract/api.yaml: "Links use
/v1/inspection/<uuid>").
"""
FOUND = {
    "drivers": "/drivers/fake-hardware",
    "conductors": f"/conductors/{HOST}",
    "history": f"/nodes/{NODE}/history/{{uuid}}",
    "bios": f"/nodes/{NODE}/bios/boot_order",
}
"""What is there without them."""
_ASKED_OTHERWISE = ("lookup", "heartbeat", "continue_inspection", "events")
"""What the root links to, though one sends a body or arguments there."""


@pytest.mark.parametrize("collection", NAMED)
def test_a_word_of_the_paths_is_no_name(house: House, collection: str) -> None:
    house.node(uuid=NODE)
    paths = [_WORD.fullmatch(path) for path in house.app.openapi()["paths"]]
    words = [found[2] for found in paths if found and found[1] == collection]
    assert ("detail" in words) == (collection in ("nodes", "ports", "portgroups"))
    body, before = NAMED[collection], house.call("GET", f"/{collection}").json()
    for word in words:
        answer = house.call("POST", f"/{collection}", {**body, "name": word})
        assert (answer.status_code, "word of the API's paths" in fault(answer)) == (400, True)
    assert house.call("GET", f"/{collection}").json() == before


def selves(answer: Any) -> Iterator[str]:
    """Yield each link by which an answer says where something is."""
    if isinstance(answer, dict) and answer.get("rel") == "self":
        yield answer["href"]
    for each in answer.values() if isinstance(answer, dict) else answer if isinstance(answer, list) else ():
        yield from selves(each)


def dead(house: House, answer: Any) -> list[str]:
    """Return the links of an answer that do not lead anywhere."""
    links = list(selves(answer))
    assert links and all(each.startswith(PUBLIC) for each in links)
    return [each for each in links if house.call("GET", f"/{each.removeprefix(PUBLIC)}").status_code != 200]


def test_what_a_resource_links_to_is_there(house: House) -> None:
    for collection, body in MADE.items():
        made = house.call("POST", f"/{collection}", body)
        assert made.status_code == 201, made.text
        assert house.call("GET", f"/{made.headers['Location'].removeprefix(PUBLIC)}").json() == made.json()
        assert dead(house, made.json()) == []
        assert dead(house, house.call("GET", f"/{collection}").json()) == []


def test_what_a_node_and_its_site_tell_links_to_what_is_there(house: House) -> None:
    node_id = house.stored(house.node(uuid=NODE)).id or 0
    entry = NodeHistory(node_id=node_id, event="x")
    uuid = entry.uuid
    with writing(house.parts.engine) as session:
        history.add(entry, session=session)
        hardware.replace_settings(node_id, [{"name": "boot_order", "value": "net"}], session=session)
        session.commit()
    for path in FOUND.values():
        assert dead(house, house.call("GET", path.format(uuid=uuid)).json()) == []


def test_what_the_root_links_to_is_there(house: House) -> None:
    for path in ("//", ""):
        found = dead(house, house.call("GET", path).json())
        assert [each for each in found if each.strip("/").rpartition("/")[2] not in _ASKED_OTHERWISE] == []
