# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What Nova's compute manager does with its driver for bare metal, run in Nova's own environment.

The driver, its client and its settings are Nova's; the instance, flavor, image and network are objects of Nova's own
classes, filled here and kept in no database. The first line of standard input is JSON with ``node``, ``address``,
``image``, ``config_drive`` and ``password``. Each one after it names a step, of which a line of JSON on standard output
tells how it went.
"""

from __future__ import annotations

import json
import sys
import traceback
import uuid
from typing import Any

from nova import config, context, objects
from nova.compute import power_state, task_states, vm_states
from nova.network import model
from nova.virt import virtapi
from nova.virt.ironic.driver import IronicDriver

PROJECT, USER, VIF = (str(uuid.uuid4()) for _ in range(3))


class Instance(objects.Instance):  # type: ignore[misc]  # it is Any where there is no Nova
    """An instance that no database keeps."""

    def refresh(self, use_slave: bool = False) -> None:
        """Keep what is here."""

    def save(self, **_: Any) -> None:
        """Keep what is here."""


def flavor() -> Any:
    """Return what the instance asks for."""
    return objects.Flavor(
        id=1, flavorid="1", name="metal", memory_mb=4096, vcpus=4, root_gb=10, ephemeral_gb=0, swap=0,
        rxtx_factor=1.0, vcpu_weight=0, is_public=True, disabled=False, projects=[],
        extra_specs={"resources:CUSTOM_METAL": "1", "trait:CUSTOM_GOLD": "required", "capabilities:boot_mode": "uefi"},
    )  # fmt: skip


def instance(given: dict[str, Any]) -> Any:
    """Return an instance that the scheduler has put on a node."""
    return Instance(
        context.get_admin_context(), uuid=str(uuid.uuid4()), node=given["node"], host="compute", flavor=flavor(),
        display_name="one", hostname="one", project_id=PROJECT, user_id=USER, image_ref=given["image"],
        config_drive=given["config_drive"], system_metadata={"owner_user_name": "me", "owner_project_name": "us"},
        metadata={}, vm_state=vm_states.BUILDING, task_state=task_states.SPAWNING, root_device_name=None,
        info_cache=objects.InstanceInfoCache(network_info=network(given["address"])), key_name=None, key_data=None,
        user_data=None, default_ephemeral_device=None, availability_zone=None, launch_index=0, reservation_id="r-1",
        keypairs=objects.KeyPairList(objects=[]), device_metadata=None, numa_topology=None,
        ec2_ids=objects.EC2Ids(instance_id="i-1", ami_id="ami-1", kernel_id=None, ramdisk_id=None),
    )  # fmt: skip


def network(address: str) -> Any:
    """Return the network of the instance: one interface with a fixed address, on the card of that MAC address."""
    subnet = model.Subnet(cidr="192.0.2.0/24", ips=[model.FixedIP(address="192.0.2.7")], version=4)
    wire = model.Network(id=str(uuid.uuid4()), bridge=None, label="net", subnets=[subnet])
    return model.NetworkInfo([model.VIF(id=VIF, address=address, network=wire, type="other")])


class Compute:
    """The driver, and the one instance that it is asked to run."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.driver = IronicDriver(virtapi.VirtAPI())
        self.given, self.node, self.instance = given, given["node"], instance(given)
        self.network = network(given["address"])
        self.context = context.get_admin_context()
        self.image = objects.ImageMeta(id=given["image"], name="image", properties=objects.ImageMetaProps())

    def shown(self) -> Any:
        """Return the node as the driver reads it."""
        return self.driver._get_node(self.node)

    def is_running(self, wanted: int) -> None:
        """Check what the driver tells of the instance's power."""
        found = self.driver.get_info(self.instance, use_cache=False).state
        assert found == wanted, f"power state {found} instead of {wanted}"

    def is_in(self, wanted: str) -> None:
        """Check the node's state."""
        found = self.shown().provision_state
        assert found == wanted, f"{found} instead of {wanted}"

    def resources(self) -> None:
        """Offer the node for scheduling, with its resource class and traits."""
        listed = list(self.driver.ironic_connection.nodes(fields=["uuid", "resource_class", "traits"]))
        assert [node.id for node in listed] == [self.node], listed
        assert self.driver.get_available_nodes(refresh=True) == [self.node], "it is not offered"
        assert self.driver.node_is_available(self.node), "it is not available"
        node = self.shown()
        assert not self.driver._node_resources_used(node), "it is used"
        assert not self.driver._node_resources_unavailable(node), f"it is in {node.provision_state} {node.power_state}"
        assert node.resource_class == "metal" and node.traits == ["CUSTOM_GOLD"], node
        assert self.driver._node_resource(node)["supported_instances"], "it runs no instances"

    def spawn(self) -> None:
        """Reserve the node, plug its networks and deploy it."""
        self.driver.prepare_for_spawn(self.instance)
        self.driver.prepare_networks_before_block_device_mapping(self.instance, self.network)
        self.driver.spawn(self.context, self.instance, self.image, [], None, {}, self.network, None)
        self.instance.vm_state, self.instance.task_state = vm_states.ACTIVE, None
        node = self.shown()
        assert node.provision_state == "active" and node.instance_id == self.instance.uuid, node
        assert self.driver.instance_exists(self.instance), "the instance is not there"
        assert self.driver._node_resources_used(node), "the node is not used"

    def refuse_second(self) -> None:
        """Refuse the node to a second instance."""
        try:
            self.driver.prepare_for_spawn(instance(self.given))
        except Exception as error:
            assert "not available" in str(error), error
        else:
            raise AssertionError("a second instance got the node")

    def power_off(self) -> None:
        """Switch off, softly first."""
        self.driver.power_off(self.instance, timeout=60)
        self.is_running(power_state.SHUTDOWN)

    def power_on(self) -> None:
        """Switch on."""
        self.driver.power_on(self.context, self.instance, self.network)
        self.is_running(power_state.RUNNING)

    def reboot_hard(self) -> None:
        """Reboot at once."""
        self.driver.reboot(self.context, self.instance, self.network, "HARD")
        self.is_running(power_state.RUNNING)

    def reboot_soft(self) -> None:
        """Reboot in order."""
        self.driver.reboot(self.context, self.instance, self.network, "SOFT")
        self.is_running(power_state.RUNNING)

    def rescue(self) -> None:
        """Boot the rescue system."""
        self.driver.rescue(self.context, self.instance, self.network, self.image, self.given["password"], None, None)
        self.is_in("rescue")

    def unrescue(self) -> None:
        """Boot the instance again."""
        self.driver.unrescue(self.context, self.instance)
        self.is_in("active")

    def rebuild(self) -> None:
        """Deploy the instance anew."""
        self.instance.task_state = task_states.REBUILDING
        self.driver.rebuild(self.context, self.instance, self.image, [], None, {}, [], None, None, self.network)
        self.is_in("active")

    def volume_connector(self) -> None:
        """Tell what the node connects to volumes with."""
        connector = self.driver.get_volume_connector(self.instance)
        assert connector["initiator"] == "iqn.2026-01.example:one", connector

    def interfaces(self) -> None:
        """Attach and detach a network interface."""
        self.driver.attach_interface(self.context, self.instance, self.image, self.network[0])
        self.driver.detach_interface(self.context, self.instance, self.network[0])

    def destroy(self) -> None:
        """Undeploy and clean the node, and forget the instance."""
        self.driver.destroy(self.context, self.instance, self.network)
        assert not self.driver.instance_exists(self.instance), "the instance is still there"
        self.driver.destroy(self.context, self.instance, self.network)


def main(settings: str) -> None:
    """Take one step after the other, as they are named, and tell how each went."""
    config.parse_args(["nova-compute", "--config-file", settings])
    objects.register_all()
    compute = Compute(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        step = line.strip()
        try:
            getattr(compute, step)()
        except Exception as error:
            traceback.print_exc()
            told = {"name": step, "outcome": "failed", "text": f"{type(error).__name__}: {error}"}
        else:
            told = {"name": step, "outcome": "passed"}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


main(*sys.argv[1:])
