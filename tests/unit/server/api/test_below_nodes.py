# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What stands below a node: traits, history, inventory, virtual interfaces, boot device."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlmodel import select

from rackwright.services import management
from rackwright.store import history, inventory
from rackwright.store import node as nodes
from rackwright.store.columns import now
from rackwright.store.history import NodeHistory
from rackwright.store.operation import Operation
from rackwright.store.session import writing
from tests.unit.server.api_house import NODE, PUBLIC, House, fault


def traits(house: House, uuid: str) -> list[str]:
    found: list[str] = house.call("GET", f"/nodes/{uuid}/traits").json()["traits"]
    return found


def test_traits_are_replaced_added_and_removed(house: House) -> None:
    uuid = house.node()
    assert house.call("PUT", f"/nodes/{uuid}/traits", {"traits": ["CUSTOM_B", "HW_CPU_X86_VMX"]}).status_code == 204
    answer = house.call("PUT", f"/nodes/{uuid}/traits/CUSTOM_A")
    assert (answer.status_code, answer.headers["Location"]) == (204, f"{PUBLIC}/v1/nodes/{uuid}/traits/CUSTOM_A")
    assert house.call("PUT", f"/nodes/{uuid}/traits/CUSTOM_A", {}).status_code == 204
    assert traits(house, uuid) == ["CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_VMX"]
    assert house.call("DELETE", f"/nodes/{uuid}/traits/CUSTOM_B").status_code == 204
    assert house.call("DELETE", f"/nodes/{uuid}/traits/CUSTOM_B").status_code == 404
    assert house.call("GET", f"/nodes/{uuid}").json()["traits"] == ["CUSTOM_A", "HW_CPU_X86_VMX"]
    assert house.call("DELETE", f"/nodes/{uuid}/traits").status_code == 204
    assert traits(house, uuid) == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"traits": None},
        {"traits": "CUSTOM_A"},
        {"traits": ["custom_a"]},
        {"traits": ["CUSTOM_"]},
        {"traits": ["HW_UNHEARD_OF"]},
        {"traits": [5]},
        {"traits": ["CUSTOM_" + "A" * 249]},
        {"traits": [f"CUSTOM_{number}" for number in range(51)]},
        {"traits": [], "colour": "red"},
    ],
)
def test_wrong_traits_are_400(house: House, body: dict[str, Any]) -> None:
    uuid = house.node()
    assert house.call("PUT", f"/nodes/{uuid}/traits", body).status_code == 400
    assert traits(house, uuid) == []


def test_traits_of_a_locked_node_and_bodies_for_one_trait_are_refused(house: House) -> None:
    uuid = house.node()
    assert house.call("PUT", f"/nodes/{uuid}/traits/CUSTOM_A", {"a": 1}).status_code == 400
    house.set(uuid, reservation="host")
    assert house.call("PUT", f"/nodes/{uuid}/traits", {"traits": []}).status_code == 409


@pytest.fixture
def eventful(house: House) -> tuple[House, str]:
    uuid = house.node()
    node_id = house.stored(uuid).id or 0
    with writing(house.parts.engine) as session:
        for number in range(3):
            entry = NodeHistory(node_id=node_id, event=f"{number}" * 300, state="deploying", duration_seconds=7)
            history.add(entry, session=session)
            session.flush()
        session.commit()
    return house, uuid


def test_history_is_short_in_lists_and_whole_in_detail(eventful: tuple[House, str]) -> None:
    house, uuid = eventful
    entries = house.call("GET", f"/nodes/{uuid}/history").json()["history"]
    assert set(entries[0]) == {"uuid", "created_at", "severity", "event", "links"}
    assert entries[0]["event"] == "0" * 251 + "..."
    one = entries[0]["uuid"]
    assert entries[0]["links"] == [{"href": f"{PUBLIC}/v1/nodes/{uuid}/history/{one}", "rel": "self"}]
    whole = house.call("GET", f"/nodes/{uuid}/history?detail=true").json()["history"][0]
    assert (whole["event"], whole["state"], whole["duration_seconds"]) == ("0" * 300, "deploying", 7)
    assert house.call("GET", f"/nodes/{uuid}/history/{one}").json() == whole


def test_history_has_pages_and_versions(eventful: tuple[House, str]) -> None:
    house, uuid = eventful
    page = house.call("GET", f"/nodes/{uuid}/history?limit=2").json()
    rest = house.call("GET", f"/nodes/{uuid}/history?{page['next'].partition('?')[2]}").json()
    assert [each["event"][0] for each in page["history"] + rest["history"]] == ["0", "1", "2"]
    old = house.call("GET", f"/nodes/{uuid}/history?detail=true", version="1.112").json()["history"][0]
    assert not {"project", "state", "duration_seconds"} & old.keys()


def test_an_entry_of_another_node_is_not_found(eventful: tuple[House, str]) -> None:
    house, uuid = eventful
    entry = house.call("GET", f"/nodes/{uuid}/history").json()["history"][0]["uuid"]
    other = house.node()
    assert house.call("GET", f"/nodes/{other}/history").json() == {"history": []}
    assert house.call("GET", f"/nodes/{other}/history/{entry}").status_code == 404


@pytest.mark.parametrize("marker", ["x", NODE])
def test_a_marker_that_is_no_entry_of_the_history_is_not_found(eventful: tuple[House, str], marker: str) -> None:
    house, uuid = eventful
    answer = house.call("GET", f"/nodes/{uuid}/history?marker={marker}")
    assert (answer.status_code, marker in fault(answer)) == (404, True)


def test_a_marker_below_another_node_is_not_found(eventful: tuple[House, str]) -> None:
    house, uuid = eventful
    group = house.call("POST", "/portgroups", {"node_uuid": uuid, "name": "bond0"}).json()["uuid"]
    house.port(uuid, portgroup_uuid=group)
    connector = {"node_uuid": uuid, "type": "iqn", "connector_id": "iqn.2026-11.example:a"}
    target = {"node_uuid": uuid, "volume_type": "iscsi", "volume_id": "a", "boot_index": 0}
    house.set(uuid, power_state="power off")
    for kind, body in (("connectors", connector), ("targets", target)):
        assert house.call("POST", f"/volume/{kind}", body).status_code == 201
    other = house.node()
    empty = house.call("POST", "/portgroups", {"node_uuid": other, "name": "bond1"}).json()["uuid"]
    lists = {
        **dict.fromkeys(
            ("history", "ports", "portgroups", "volume/connectors", "volume/targets"), ("nodes", uuid, other)
        ),
        "ports?": ("portgroups", group, empty),
    }
    found = {}
    for path, (above, full, foreign) in lists.items():
        listed = house.call("GET", f"/{above}/{full}/{path}").json()
        last = {"marker": next(iter(listed.values()))[0]["uuid"]}
        found[path] = [
            house.call("GET", f"/{above}/{each}/{path}", params=last).status_code for each in (full, foreign)
        ]
    assert found == {path: [200, 404] for path in lists}


def test_inventory_is_shown_once_there_is_one(house: House) -> None:
    uuid = house.node()
    assert house.call("GET", f"/nodes/{uuid}/inventory").status_code == 404
    with writing(house.parts.engine) as session:
        inventory.save(house.stored(uuid).id or 0, {"cpu": {}}, {"a": 1}, session=session)
        session.commit()
    assert house.call("GET", f"/nodes/{uuid}/inventory").json() == {"inventory": {"cpu": {}}, "plugin_data": {"a": 1}}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"id": "vif-1"}, 204),
        ({"id": "vif-1", "own": {"a": 1}}, 204),
        ({"id": "a b"}, 400),
        ({}, 400),
        ([], 400),
        ({"id": "v", "port_uuid": "11111111-1111-4111-8111-111111111111"}, 204),
        (
            {
                "id": "v",
                "port_uuid": "11111111-1111-4111-8111-111111111111",
                "portgroup_uuid": "11111111-1111-4111-8111-111111111111",
            },
            400,
        ),
    ],
)
def test_virtual_interfaces_are_taken_for_attached(house: House, body: Any, status: int) -> None:
    uuid = house.node()
    assert house.call("POST", f"/nodes/{uuid}/vifs", body).status_code == status
    assert house.call("GET", f"/nodes/{uuid}/vifs").json() == {"vifs": []}
    assert house.call("DELETE", f"/nodes/{uuid}/vifs/vif-1").status_code == 204


@contextmanager
def conductor(house: House, **outcome: Any) -> Iterator[list[dict[str, Any]]]:
    """Answer the next question as a conductor does; yield the steps that were asked."""
    asked: list[dict[str, Any]] = []
    over = threading.Event()

    def work() -> None:
        while not asked and not over.wait(0.02):
            with writing(house.parts.engine) as session:
                for operation in session.exec(select(Operation).where(Operation.status == "ready")).all():
                    asked.extend(operation.steps)
                    operation.finished_at = now()
                    for name, value in outcome.items():
                        setattr(operation, name, value)
                    session.add(operation)
                    nodes.release(nodes.by_id(operation.node_id, session=session), session=session)
                session.commit()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield asked
    finally:
        over.set()
        thread.join()


def test_the_boot_device_is_what_the_bmc_tells(house: House) -> None:
    uuid = house.node()
    told = {"boot_device": "pxe", "persistent": False}
    with conductor(house, status="done", facts={"boot_device": told}):
        assert house.call("GET", f"/nodes/{uuid}/management/boot_device").json() == told
    with conductor(house, status="done", facts={}):
        unknown = house.call("GET", f"/nodes/{uuid}/management/boot_device").json()
    assert unknown == {"boot_device": None, "persistent": None}


def test_supported_boot_devices_are_listed(house: House) -> None:
    uuid = house.node()
    with conductor(house, status="done", facts={"supported_boot_devices": ["pxe"]}):
        answer = house.call("GET", f"/nodes/{uuid}/management/boot_device/supported")
    assert answer.json() == {"supported_boot_devices": ["pxe"]}


def test_setting_the_boot_device_waits_for_its_end(house: House) -> None:
    uuid = house.node()
    with conductor(house, status="done") as asked:
        answer = house.call("PUT", f"/nodes/{uuid}/management/boot_device", {"boot_device": "disk"})
    assert answer.status_code == 204
    assert (asked[0]["name"], asked[0]["args"]) == ("set_boot_device", {"boot_device": "disk", "persistent": False})


def test_a_failed_question_tells_why(house: House) -> None:
    uuid = house.node()
    with conductor(house, status="failed", error="Step get_boot_device failed: the BMC is off."):
        answer = house.call("GET", f"/nodes/{uuid}/management/boot_device")
    assert (answer.status_code, fault(answer)) == (500, "Step get_boot_device failed: the BMC is off.")


def test_a_question_without_answer_ends(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(management, "_LONGEST", 0.1)
    answer = house.call("GET", f"/nodes/{house.node()}/management/boot_device")
    assert answer.status_code == 503


@pytest.mark.parametrize("body", [{}, {"boot_device": "toaster"}, {"boot_device": "pxe", "persistent": "perhaps"}])
def test_wrong_boot_devices_are_400(house: House, body: dict[str, Any]) -> None:
    assert house.call("PUT", f"/nodes/{house.node()}/management/boot_device", body).status_code == 400


def test_boot_devices_of_locked_and_of_deaf_nodes_cannot_be_asked(house: House) -> None:
    locked = house.node(reservation="host")
    assert house.call("GET", f"/nodes/{locked}/management/boot_device").status_code == 409
    lacking = house.node(driver="redfish")
    answer = house.call("GET", f"/nodes/{lacking}/management/boot_device")
    assert (answer.status_code, "redfish_address" in fault(answer)) == (400, True)
