# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import Any

import pytest

from rackwright.engine.transitions import wipe_instance
from rackwright.store import node as nodes
from rackwright.store.session import writing
from tests.unit.server.api_house import NODE, House

VIFS = tuple(f"{number}{number}111111-1111-4111-8111-111111111111" for number in "abcdef")


def mac(number: int) -> str:
    return f"52:54:00:00:00:0{number}"


class Network:
    """A node whose VIFs are kept, and what stands on its ports and groups."""

    def __init__(self, house: House) -> None:
        self.house = house
        house.node(uuid=NODE, network_interface="flat")

    def group(self, name: str, **fields: Any) -> str:
        answer = self.house.call("POST", "/portgroups", {"node_uuid": NODE, "name": name, **fields})
        return str(answer.json()["uuid"])

    def port(self, number: int, **fields: Any) -> str:
        return self.house.port(NODE, mac(number), name=f"port-{number}", **fields)

    def attach(self, vif: str, **fields: Any) -> int:
        return self.house.call("POST", f"/nodes/{NODE}/vifs", {"id": vif, **fields}).status_code

    def detach(self, vif: str) -> int:
        return self.house.call("DELETE", f"/nodes/{NODE}/vifs/{vif}").status_code

    def listed(self) -> list[str]:
        return [each["id"] for each in self.house.call("GET", f"/nodes/{NODE}/vifs").json()["vifs"]]

    def carriers(self) -> dict[str, str]:
        """Return each VIF's first letter with the name of what carries it."""
        found = {}
        for path in ("portgroups", "ports"):
            for each in self.house.call("GET", f"/{path}/detail").json()[path]:
                if each["internal_info"]:
                    found[each["internal_info"]["tenant_vif_port_id"][0]] = each["name"]
        return found


@pytest.fixture
def network(house: House) -> Network:
    return Network(house)


def test_groups_come_before_ports_and_booting_ports_before_others(network: Network) -> None:
    network.port(1, pxe_enabled=False)
    network.port(2)
    network.port(3, portgroup_uuid=network.group("bond"))
    network.group("empty")
    assert [network.attach(vif) for vif in VIFS[:4]] == [204, 204, 204, 400]
    assert network.carriers() == {"a": "bond", "b": "port-2", "c": "port-1"}
    assert sorted(network.listed()) == list(VIFS[:3])


def test_a_vif_is_attached_once_and_can_be_attached_again_after_it_was_detached(network: Network) -> None:
    network.port(1)
    network.port(2)
    assert [network.attach(VIFS[0]), network.attach(VIFS[0])] == [204, 409]
    assert [network.detach(VIFS[0]), network.detach(VIFS[0])] == [204, 400]
    assert network.carriers() == {}
    assert network.attach(VIFS[0]) == 204


def test_a_client_chooses_the_port_or_the_group(network: Network) -> None:
    group = network.group("bond")
    port, member = network.port(1), network.port(2, portgroup_uuid=group)
    assert network.attach(VIFS[0], port_uuid=NODE) == 400
    assert network.attach(VIFS[0], port_uuid=port, portgroup_uuid=group) == 400
    assert network.attach(VIFS[0], port_uuid=port) == 204
    assert network.attach(VIFS[1], port_uuid=port) == 400
    assert network.attach(VIFS[1], portgroup_uuid=group) == 204
    assert network.attach(VIFS[2], port_uuid=member) == 400
    assert network.carriers() == {"a": "port-1", "b": "bond"}


def test_a_group_and_its_ports_exclude_each_other(network: Network) -> None:
    group = network.group("bond")
    member = network.port(1, portgroup_uuid=group)
    network.port(2, portgroup_uuid=group)
    assert network.attach(VIFS[0], port_uuid=member) == 204
    assert network.attach(VIFS[1], portgroup_uuid=group) == 400
    assert network.attach(VIFS[1]) == 204
    assert network.carriers() == {"a": "port-1", "b": "port-2"}


def test_ports_of_a_group_without_standalone_ports_carry_nothing(network: Network) -> None:
    group = network.group("bond", standalone_ports_supported=False)
    member = network.port(1, portgroup_uuid=group, pxe_enabled=False)
    assert network.attach(VIFS[0], port_uuid=member) == 400
    assert network.attach(VIFS[0]) == 204
    assert network.carriers() == {"a": "bond"}


def test_a_port_with_a_vif_is_neither_removed_nor_put_into_a_strict_group(network: Network, house: House) -> None:
    port = network.port(1, pxe_enabled=False)
    group = network.group("bond", standalone_ports_supported=False)
    assert network.attach(VIFS[0]) == 204
    join = [{"op": "add", "path": "/portgroup_uuid", "value": group}]
    assert house.call("PATCH", f"/ports/{port}", join).status_code == 409
    assert house.call("DELETE", f"/ports/{port}").status_code == 409
    house.set(NODE, maintenance=True)
    assert house.call("DELETE", f"/ports/{port}").status_code == 204


def test_nothing_is_attached_to_a_locked_node(network: Network, house: House) -> None:
    network.port(1)
    house.set(NODE, reservation="host")
    assert (network.attach(VIFS[0]), network.detach(VIFS[0])) == (409, 409)


def test_ports_and_groups_can_be_chosen_from_their_version_on(network: Network, house: House) -> None:
    body = {"id": VIFS[0], "port_uuid": network.port(1)}
    path = f"/nodes/{NODE}/vifs"
    assert [house.call("POST", path, body, version=f"1.{minor}").status_code for minor in (66, 67)] == [406, 204]


def test_the_noop_network_takes_everything_and_keeps_nothing(house: House) -> None:
    house.node(uuid=NODE, network_interface="noop")
    network = Network.__new__(Network)
    network.house = house
    assert [network.attach(VIFS[0]), network.attach(VIFS[0]), network.detach(VIFS[1])] == [204, 204, 204]
    assert network.listed() == []


def test_what_an_instance_had_is_gone_when_it_is_wiped(network: Network, house: House) -> None:
    network.port(1, portgroup_uuid=network.group("bond"))
    network.port(2)
    assert [network.attach(vif) for vif in VIFS[:2]] == [204, 204]
    target = {"node_uuid": NODE, "volume_type": "iscsi", "volume_id": "v", "boot_index": 0}
    assert house.call("POST", "/volume/targets", target).status_code == 201
    with writing(house.parts.engine) as session:
        wipe_instance(nodes.get(NODE, session=session), session=session)
        session.commit()
    assert (network.listed(), house.call("GET", "/volume/targets").json()) == ([], {"targets": []})
