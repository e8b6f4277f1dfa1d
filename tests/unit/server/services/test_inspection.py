# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rackwright.domain.errors import Invalid, NodeLocked, NodeNotFound
from rackwright.domain.states import ProvisionState
from rackwright.services import inspection
from rackwright.store import inventory as inventories
from rackwright.store import node as nodes
from rackwright.store import port as ports
from rackwright.store.inventory import NodeInventory
from rackwright.store.session import reading, writing
from tests.unit.server.agent_house import MAC, NODE, OTHER, OTHER_MAC, House

THIRD, FOURTH = "33333333-3333-4333-8333-333333333333", "44444444-4444-4444-8444-444444444444"
GIB = 1024**3


def interface(name: str, mac: str | None, **more: Any) -> dict[str, Any]:
    return {"name": name, "mac_address": mac, "ipv4_address": "192.0.2.20", **more}


def report(*macs: str | None, **plugin_data: Any) -> dict[str, Any]:
    inventory = {
        "interfaces": [interface(f"eth{place}", mac) for place, mac in enumerate(macs or (MAC,))],
        "cpu": {"count": 4, "architecture": "x86_64"},
        "memory": {"physical_mb": 8192},
        "disks": [{"name": "/dev/sda", "size": 100 * GIB}],
        "bmc_address": "192.0.2.30",
    }
    return {"inventory": inventory, "error": None, "logs": "H4sIA", "boot_interface": None, **plugin_data}


class Inspection(House):
    """The house of the agent's tests, with nodes that wait for a report."""

    def expect(self, uuid: str = NODE, *macs: str, **fields: Any) -> None:
        self.add(uuid, *macs, state="inspect wait", **fields)
        self.wait("inspection", uuid=uuid)

    def send(self, body: Any, uuid: str | None = None) -> str:
        with writing(self.database) as session:
            return inspection.continue_inspection(body, node_uuid=uuid, context=self.context(session, 1)).node.uuid

    def stored(self, uuid: str = NODE) -> NodeInventory | None:
        with reading(self.database) as session:
            return inventories.of_node(nodes.get(uuid, session=session).id or 0, session=session)

    def ports(self, uuid: str = NODE) -> list[tuple[str, bool]]:
        with reading(self.database) as session:
            found = ports.of_node(nodes.get(uuid, session=session).id or 0, session=session)
            return [(port.address, port.pxe_enabled) for port in found]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Inspection]:
    made = Inspection(tmp_path)
    yield made
    made.database.dispose()


def test_a_report_is_stored_evaluated_and_wakes_the_operation(house: Inspection) -> None:
    house.expect(NODE, MAC, properties={"kept": 1})
    assert house.send(report(MAC, OTHER_MAC)) == NODE
    stored = house.stored()
    assert stored is not None
    assert stored.inventory == report(MAC, OTHER_MAC)["inventory"]
    assert "logs" not in stored.plugin_data
    assert stored.plugin_data["macs"] == [MAC, OTHER_MAC]
    assert "notes" not in stored.plugin_data
    assert house.node().properties == {"kept": 1, "cpu_arch": "x86_64"}
    assert house.ports() == [(MAC, True), (OTHER_MAC, True)]
    operation = house.operation()
    assert operation.status == "ready"
    assert operation.facts == {"inventory_received": True}


def test_a_second_inspection_replaces_the_inventory(house: Inspection) -> None:
    house.expect(NODE, MAC)
    house.send(report(MAC))
    second = report(MAC)
    second["inventory"]["hostname"] = "later"
    house.send(second)
    stored = house.stored()
    assert stored is not None
    assert stored.inventory["hostname"] == "later"


def test_a_report_that_a_hook_refuses_fails_the_step_with_its_text_and_changes_nothing(house: Inspection) -> None:
    house.expect(NODE, MAC)
    house.send(report(MAC, OTHER_MAC, error="no usable disk"))
    operation = house.operation()
    assert operation.status == "ready"
    told = operation.facts["inventory_refused"]
    assert told["cause"] == "ramdisk-error: the ramdisk reports: no usable disk"
    assert told["action"]
    assert house.node().properties == {}
    assert house.ports() == [(MAC, True)]
    stored = house.stored()
    assert stored is not None
    assert stored.plugin_data["error"] == "no usable disk"


def test_ports_that_are_gone_are_removed_where_the_operator_wants_it(house: Inspection) -> None:
    house.set(keep_ports="present")
    house.expect(NODE, MAC, OTHER_MAC)
    house.send(report(MAC))
    assert house.ports() == [(MAC, True)]


def test_the_boot_interface_is_marked_on_ports_that_are_there(house: Inspection) -> None:
    house.expect(NODE, MAC, OTHER_MAC)
    house.send(report(MAC, OTHER_MAC, boot_interface=f"01-{OTHER_MAC}".replace(":", "-")))
    assert house.ports() == [(MAC, False), (OTHER_MAC, True)]


def test_capabilities_are_merged(house: Inspection) -> None:
    house.set(inspection_hooks=("boot-mode",))
    house.expect(NODE, MAC, properties={"capabilities": "gpu:yes"})
    body = report(MAC)
    body["inventory"]["boot"] = {"current_boot_mode": "uefi"}
    house.send(body)
    assert house.node().properties == {"capabilities": "gpu:yes,boot_mode:uefi"}


# ---- which node


def test_the_uuid_decides_where_it_is_given(house: Inspection) -> None:
    house.expect(NODE, MAC)
    house.expect(OTHER, OTHER_MAC)
    assert house.send(report(MAC), uuid=OTHER) == OTHER
    with pytest.raises(NodeNotFound):
        house.send(report(MAC), uuid=THIRD)


def test_the_address_of_the_bmc_decides_where_no_port_is_known(house: Inspection) -> None:
    house.expect(NODE, driver_internal_info={"lookup_bmc_addresses": ["192.0.2.31"]})
    house.expect(OTHER, driver_internal_info={"lookup_bmc_addresses": ["192.0.2.30", "2001:db8::30"]})
    assert house.send(report(MAC)) == OTHER
    assert house.ports(OTHER) == [(MAC, True)]


@pytest.mark.parametrize("address", ["192.0.2.30", "https://192.0.2.30/redfish", "https://192.0.2.30:8000"])
def test_the_address_of_driver_info_counts_as_the_one_of_the_bmc(house: Inspection, address: str) -> None:
    house.expect(NODE, driver_info={"redfish_address": "https://[192.0.2.30"})
    house.expect(OTHER, driver_info={"redfish_address": address})
    assert house.send(report(MAC)) == OTHER


def test_two_nodes_behind_one_bmc_address_are_ambiguous(house: Inspection) -> None:
    for uuid in (NODE, OTHER):
        house.expect(uuid, driver_internal_info={"lookup_bmc_addresses": ["192.0.2.30"]})
    with pytest.raises(NodeNotFound):
        house.send(report(MAC))


def test_unknown_machines_are_not_enrolled(house: Inspection) -> None:
    house.expect(NODE, MAC)
    with pytest.raises(NodeNotFound):
        house.send(report(OTHER_MAC))


@pytest.mark.parametrize("state", [state for state in ProvisionState if state is not ProvisionState.INSPECT_WAIT])
def test_only_nodes_in_inspect_wait_take_a_report(house: Inspection, state: ProvisionState) -> None:
    house.add(NODE, MAC, state=state.value)
    for uuid in (None, NODE):
        with pytest.raises(NodeNotFound):
            house.send(report(MAC), uuid=uuid)
    assert house.stored() is None


@pytest.mark.parametrize("state", ["inspecting", "inspect wait"])
def test_a_report_that_comes_while_a_run_has_the_node_is_to_be_repeated(house: Inspection, state: str) -> None:
    house.add(NODE, MAC, state=state, reservation="conductor-1")
    with pytest.raises(NodeLocked):
        house.send(report(MAC))


@pytest.mark.parametrize("status", ["running", "ready"])
def test_a_report_is_taken_while_the_run_that_boots_the_agent_has_the_node(house: Inspection, status: str) -> None:
    """Agents give up after five refusals, and a run that died is repeated for longer than that."""
    house.add(NODE, MAC, state="inspecting", reservation="conductor-1")
    house.wait(None, status=status, phase="inspect")
    assert house.send(report(MAC)) == NODE
    operation = house.operation()
    assert (operation.status, operation.facts) == (status, {"inventory_received": True})
    assert house.stored() is not None
    with pytest.raises(NodeLocked):
        house.send(report(MAC))


def test_no_report_is_taken_by_an_inspection_that_has_failed(house: Inspection) -> None:
    house.add(NODE, MAC, state="inspecting", reservation="conductor-1")
    house.wait(None, status="running", phase="inspect", error="it was aborted")
    with pytest.raises(NodeLocked):
        house.send(report(MAC))


@pytest.mark.parametrize("body", [None, [], {}, {"inventory": {"interfaces": []}}, "text", 5])
def test_a_report_of_the_wrong_form_is_a_bad_request(house: Inspection, body: Any) -> None:
    house.expect(NODE, MAC)
    with pytest.raises(Invalid):
        house.send(body)
    assert house.operation().status == "waiting"


# ---- what operators ran into


def test_shared_internal_mac_merges_nodes(house: Inspection) -> None:
    shared = "fa:4b:7f:00:00:01"
    house.set(add_ports="all")
    units = {NODE: "52:54:00:00:00:01", OTHER: "52:54:00:00:00:02", THIRD: "52:54:00:00:00:03"}
    for uuid, mac in units.items():
        house.expect(uuid, mac)
    house.expect(FOURTH, "52:54:00:00:00:04")
    for uuid, mac in units.items():
        assert house.send(report(shared, mac)) == uuid
        assert house.ports(uuid) == [(mac, True)]
    bonded = report("52:54:00:00:00:04")
    bonded["inventory"]["interfaces"].insert(0, interface("bond0", units[NODE]))
    assert house.send(bonded) == FOURTH
    assert house.ports(FOURTH) == [("52:54:00:00:00:04", True)]
    with pytest.raises(NodeNotFound):
        house.send(report(shared))


def test_an_address_that_is_a_port_of_another_node_is_left_there_and_noted(house: Inspection) -> None:
    house.expect(NODE, MAC)
    house.add(OTHER, OTHER_MAC, state="active")
    house.send(report(MAC, OTHER_MAC))
    assert house.ports() == [(MAC, True)]
    assert house.ports(OTHER) == [(OTHER_MAC, True)]
    stored = house.stored()
    assert stored is not None
    assert [note["field"] for note in stored.plugin_data["notes"]] == [f"port {OTHER_MAC}"]


def test_odd_bytes_in_hardware_data(house: Inspection, caplog: pytest.LogCaptureFixture) -> None:
    house.expect(NODE, MAC)
    body = report(MAC, None, boot_entries=["disk \U0001f4be \x00", "half \ud83d"])
    body["inventory"] |= {
        "system_vendor": {"manufacturer": "\x00"},
        "disks": [{"name": "/dev/sda", "size": 0}],
        "bmc_address": None,
    }
    body["inventory"]["interfaces"][0]["lldp"] = [[5, "fffe"]]
    house.send(body)
    operation, stored = house.operation(), house.stored()
    assert (operation.status, operation.facts) == ("ready", {"inventory_received": True})
    assert stored is not None
    text = json.dumps([stored.inventory, stored.plugin_data], ensure_ascii=False)
    assert json.loads(text.encode()) == [stored.inventory, stored.plugin_data]
    assert "\x00" not in text
    assert stored.inventory["interfaces"][0]["lldp"] == [[5, "fffe"]]
    fields = [
        "boot_entries[0]",
        "boot_entries[1]",
        "inventory.disks[0].size",
        "inventory.interfaces[1].mac_address",
        "inventory.system_vendor.manufacturer",
    ]
    assert sorted(note["field"] for note in stored.plugin_data["notes"]) == fields
    assert sorted(record.__dict__["field"] for record in caplog.records) == fields
