# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The life of a node in the words of openstacksdk; what it saw goes to standard output as JSON.

It runs in a process of its own, since the SDK is allowed its own warnings. The argument is JSON: ``url``, ``node``,
``mac``, ``instance_info``, ``hostname``.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import openstack
from openstack.baremetal import configdrive

WAIT = 200


def main() -> None:
    given = json.loads(sys.argv[1])
    cloud = openstack.connect(auth_type="none", baremetal_endpoint_override=given["url"], load_yaml_config=False)
    sys.stdout.write(json.dumps(_live(cloud.baremetal, given)))


def _live(api: Any, given: dict[str, Any]) -> dict[str, Any]:
    node = api.create_node(**given["node"])
    api.create_port(node_uuid=node.id, address=given["mac"])
    seen: dict[str, Any] = {"uuid": node.id, "states": []}
    for target in ("manage", "inspect", "provide"):
        node = api.set_node_provision_state(node, target, wait=True, timeout=WAIT)
        seen["states"].append(node.provision_state)
    seen["inventory"] = api.get_node_inventory(node)["inventory"]
    node = api.update_node(node, instance_info=given["instance_info"])
    seen["validated"] = {name: result.result for name, result in api.validate_node(node).items()}
    drive = configdrive.build({"hostname": given["hostname"], "uuid": node.id})
    node = api.set_node_provision_state(node, "active", config_drive=drive, wait=True, timeout=WAIT)
    node = api.get_node(node)
    seen |= {"active": node.to_dict(), "found": api.find_node(node.name).id}
    seen["ports"] = [port.address for port in api.ports(node_id=node.id)]
    node = api.set_node_provision_state(node, "deleted", wait=True, timeout=WAIT)
    seen["states"].append(node.provision_state)
    api.delete_node(node)
    seen["left"] = [each.id for each in api.nodes() if each.id == node.id]
    return seen


if __name__ == "__main__":
    main()
