# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The modules for bare metal of the Ansible collection openstack.cloud, in one play; each task is a check."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

from tests.conformance.checks import Check
from tests.conformance.servers import Server
from tests.peers.environments import environment

MAC, OTHER_MAC = "52:54:00:00:00:60", "52:54:00:00:00:61"
NODE = {
    "name": "by-ansible",
    "driver": "fake-hardware",
    "driver_info": {"power": {"ipmi_address": "192.0.2.1"}},
    "nics": [{"mac": MAC}],
    "properties": {"cpus": 4, "ram": 4096, "disk_size": 100, "cpu_arch": "x86_64"},
    "resource_class": "metal",
    "timeout": 120,
}
STEPS = [{"interface": "deploy", "step": "deploy", "args": {}, "priority": 90}]
TEMPLATE = {"name": "CUSTOM_BY_ANSIBLE", "steps": STEPS}
ACTION = {"name": "by-ansible", "timeout": 120}
IMAGE = {"image_source": "http://127.0.0.1/image", "image_checksum": "0" * 64, "image_disk_format": "raw"}

# What is done: name of the task, module, its options, and what must be true of the result.
TASKS: tuple[tuple[str, str, dict[str, Any], tuple[str, ...]], ...] = (
    ("create a node", "baremetal_node", NODE, ("told is changed", "told.node.provision_state == 'available'")),
    ("create it again", "baremetal_node", NODE, ("told is not changed",)),
    ("change it", "baremetal_node", NODE | {"resource_class": "gold"}, ("told is changed",)),
    ("read it", "baremetal_node_info", {"name": "by-ansible"}, ("told.nodes[0].resource_class == 'gold'",)),
    ("find it by address", "baremetal_node_info", {"mac": MAC}, ("told.nodes | length == 1",)),
    ("list all nodes", "baremetal_node_info", {}, ("told.nodes | length == 1",)),
    ("create a port", "baremetal_port", {"address": OTHER_MAC, "node": "by-ansible"}, ("told is changed",)),
    ("create the port again", "baremetal_port", {"address": OTHER_MAC, "node": "by-ansible"}, ("told is not changed",)),
    ("read its ports", "baremetal_port_info", {"node": "by-ansible"}, ("told.ports | length == 2",)),
    ("find a port by address", "baremetal_port_info", {"address": OTHER_MAC}, ("told.ports | length == 1",)),
    ("remove the port", "baremetal_port", {"address": OTHER_MAC, "state": "absent"}, ("told is changed",)),
    ("create a template", "baremetal_deploy_template", TEMPLATE, ("told is changed",)),
    ("remove the template", "baremetal_deploy_template", TEMPLATE | {"state": "absent"}, ("told is changed",)),
    ("deploy it", "baremetal_node_action", ACTION | {"instance_info": IMAGE, "config_drive": {"meta_data": {}}}, ()),
    ("see it deployed", "baremetal_node_info", {"name": "by-ansible"}, ("told.nodes[0].provision_state == 'active'",)),
    ("switch it off", "baremetal_node_action", ACTION | {"power": "off", "deploy": False, "instance_info": IMAGE}, ()),
    ("see it off", "baremetal_node_info", {"name": "by-ansible"}, ("told.nodes[0].power_state == 'power off'",)),
    ("keep it out", "baremetal_node_action", ACTION | {"state": "maintenance", "maintenance_reason": "fans"}, ()),
    ("see it out", "baremetal_node_info", {"name": "by-ansible"}, ("told.nodes[0].is_maintenance",)),
    (
        "let it in",
        "baremetal_node_action",
        ACTION | {"maintenance": False, "deploy": False, "instance_info": IMAGE},
        (),
    ),
    ("undeploy it", "baremetal_node_action", ACTION | {"state": "absent"}, ()),
    ("see it free", "baremetal_node_info", {"name": "by-ansible"}, ("told.nodes[0].provision_state == 'available'",)),
    ("inspect it", "baremetal_inspect", {"name": "by-ansible", "timeout": 120}, ()),
    ("remove it", "baremetal_node", NODE | {"state": "absent"}, ("told is changed",)),
    ("see it gone", "baremetal_node_info", {"name": "by-ansible"}, ("told.nodes | length == 0",)),
)


def run(server: Server) -> Iterator[Check]:
    """Run the play; a task that fails does not keep the rest from running."""
    cloud = {"auth_type": "none", "baremetal_endpoint_override": server.url}
    defaults = {f"openstack.cloud.{module}": {"cloud": cloud} for module in {module for _, module, *_ in TASKS}}
    tasks = [
        {"name": name, f"openstack.cloud.{module}": options, "register": "told", "failed_when": failing(true),
         "ignore_errors": True}
        for name, module, options, true in TASKS
    ]  # fmt: skip
    play = {"hosts": "localhost", "gather_facts": False, "module_defaults": defaults, "tasks": tasks}
    file = server.folder / "play.json"
    file.write_text(json.dumps([play]))
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "OS_"))}
    programs = environment("openstack_cloud")
    chosen = {"ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json", "ANSIBLE_HOME": str(server.folder / "ansible")}
    variables = clean | chosen | {"ANSIBLE_PYTHON_INTERPRETER": str(programs / "python"), "LC_ALL": "C.UTF-8"}
    with (server.folder / "ansible.err").open("w") as log:
        command = [str(programs / "ansible-playbook"), "--inventory", "localhost,", "--connection", "local", str(file)]
        done = subprocess.run(command, env=variables, cwd=server.folder, stdout=subprocess.PIPE, stderr=log, text=True)
    for task in json.loads(done.stdout)["plays"][0]["tasks"]:
        result = task["hosts"]["localhost"]
        failed = result.get("failed", False)
        yield Check(task["task"]["name"], "failed" if failed else "passed", str(result.get("msg", result))[:600])


def failing(true: tuple[str, ...]) -> str:
    """Return the condition under which a task has failed: the module says so, or something is not true."""
    return " or ".join(["'exception' in told or (told.msg | default('')) != ''", *(f"not ({one})" for one in true)])
