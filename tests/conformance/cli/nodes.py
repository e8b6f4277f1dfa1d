# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Walks through what is done with nodes: their record, their hardware, their life."""

from __future__ import annotations

import json
import uuid
from functools import partial
from pathlib import Path
from typing import Any

from tests.conformance.cli.client import Cli, expect
from tests.conformance.cli.inventory import new_node
from tests.conformance.cli.steps import available


def record(cli: Cli) -> None:
    """Keep what is known of a node."""
    node = new_node(cli, "--name", "n1", "--driver-info", "a=1", "--property", "cpus=4", "--resource-class", "big")
    change = ["--name", "n2", "--extra", "rack=seven", "--property", "memory_mb=1024", "--owner", "us", "--retired"]
    cli.say("node set", node, *change, "--retired-reason", "old", "--description", "the second")
    shown = {"name": "n2", "extra": {"rack": "seven"}, "owner": "us", "retired": True, "description": "the second"}
    expect(cli.node("n2"), shown | {"uuid": node})
    assert [row["uuid"] for row in cli.read("node list", "--owner", "us", "--retired")] == [node]
    assert cli.read("node list", "--long", "--resource-class", "big")[0]["name"] == "n2"
    cli.say("node unset", node, "--name", "--extra", "rack", "--owner", "--retired", "--description")
    expect(cli.node(node), {"name": None, "extra": {}, "owner": None, "description": None})
    assert not cli.node(node)["retired"], "it is still retired"
    cli.say("node maintenance set", node, "--reason", "fans")
    expect(cli.node(node), {"maintenance": True, "maintenance_reason": "fans"})
    assert [row["uuid"] for row in cli.read("node list", "--maintenance")] == [node]
    cli.say("node maintenance unset", node)
    expect(cli.node(node), {"maintenance": False, "maintenance_reason": None})
    verdict = {row["Interface"]: row["Result"] for row in cli.read("node validate", node)}
    assert verdict["power"] is True, verdict
    child = new_node(cli, "--parent-node", node)
    assert child in str(cli.read("node children list", node))
    cli.say("node delete", child)
    cli.say("node delete", node)
    cli.refuses(node, "node show", node)


def traits(cli: Cli) -> None:
    """Keep traits of a node."""
    node = new_node(cli)
    cli.say("node add trait", node, "CUSTOM_A", "CUSTOM_B")
    cli.say("node trait add", node, "HW_CPU_X86_VMX")
    listed = {next(iter(row.values())) for row in cli.read("node trait list", node)}
    assert listed == {"CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_VMX"}, listed
    cli.say("node remove trait", node, "CUSTOM_A")
    cli.say("node trait remove", node, "--all")
    assert cli.read("node trait list", node) == []
    cli.refuses("a small one", "node trait add", node, "a small one")
    cli.say("node delete", node)


def _rests(state: str, node: dict[str, Any]) -> bool:
    return node["power_state"] == state and node["target_power_state"] is None


def power(cli: Cli) -> None:
    """Switch a machine."""
    node = new_node(cli)
    for command, state in (("node power on", "power on"), ("node reboot", "power on"), ("node power off", "power off")):
        cli.say(command, node)
        cli.until(node, command, partial(_rests, state))
    cli.say("node delete", node)


def hardware(cli: Cli, folder: Path) -> None:
    """Set how a machine boots, read its settings, and what else it can."""
    node = new_node(cli)
    cli.say("node power off", node)
    cli.until(node, "power off", lambda node: node["power_state"] == "power off")
    cli.say("node manage", node, "--wait", "60")
    cli.say("node boot device set", node, "pxe", "--persistent")
    expect(cli.read("node boot device show", node), {"boot_device": "pxe"})
    assert "pxe" in str(cli.read("node boot device show", node, "--supported"))
    cli.say("node boot mode set", node, "uefi")
    cli.until(node, "boot mode", lambda node: node["boot_mode"] == "uefi")
    cli.say("node secure boot on", node)
    cli.until(node, "secure boot", lambda node: node["secure_boot"] is True)
    cli.say("node secure boot off", node)
    cli.until(node, "no secure boot", lambda node: node["secure_boot"] is False)
    cli.refuses("fake", "node inject nmi", node)
    cli.read("node bios setting list", node)
    cli.refuses("nonsense", "node bios setting show", node, "nonsense")
    cli.read("node firmware list", node)
    assert "second_method" in str(cli.read("node passthru list", node))
    cli.say("node passthru call", node, "second_method", "--arg", "bar=kitten", "--http-method", "POST")
    cli.say("node inspect", node, "--wait", "60")
    cli.refuses("inventory", "node inventory save", node, "--file", str(folder / "inventory.json"))
    cli.say("node delete", node)


def consoles(cli: Cli) -> None:
    """Open and close a console."""
    node = new_node(cli, "--console-interface", "fake")
    cli.say("node console enable", node)
    cli.until(node, "a console", lambda node: node["console_enabled"] is True)
    expect(cli.read("node console show", node), {"console_enabled": True})
    cli.say("node console disable", node)
    cli.until(node, "no console", lambda node: node["console_enabled"] is False)
    cli.say("node delete", node)


def interfaces_of_networks(cli: Cli) -> None:
    """Attach virtual interfaces; the network interface noop takes them all and keeps none."""
    node, vif = new_node(cli), str(uuid.uuid4())
    cli.say("port create", "52:54:00:00:00:30", "--node", node)
    cli.say("node vif attach", node, vif)
    assert cli.read("node vif list", node) == []
    cli.say("node vif detach", node, vif)
    cli.say("node delete", node)


def life(cli: Cli) -> None:
    """Take a node through its life: deployed, rescued, serviced, rebuilt, undeployed, adopted."""
    node, state = available(cli), "provision_state"
    drive = json.dumps({"meta_data": {"hostname": "one"}})
    cli.say("node set", node, "--instance-info", "image_source=http://127.0.0.1/image")
    cli.say("node deploy", node, "--config-drive", drive, "--wait", "60")
    expect(cli.node(node), {state: "active", "target_provision_state": None})
    cli.say("node rescue", node, "--rescue-password", "secret", "--wait", "60")
    expect(cli.node(node), {state: "rescue"})
    cli.say("node unrescue", node, "--wait", "60")
    steps = json.dumps([{"interface": "vendor", "step": "log_passthrough"}])
    cli.say("node service", node, "--service-steps", steps, "--wait", "60")
    expect(cli.node(node), {state: "active", "last_error": None})
    cli.say("node rebuild", node, "--wait", "60")
    cli.say("node set", node, "--protected", "--protected-reason", "precious")
    cli.refuses("protected", "node undeploy", node)
    cli.say("node unset", node, "--protected")
    cli.say("node undeploy", node, "--wait", "60")
    expect(cli.node(node), {state: "available", "instance_info": {}})
    cli.say("node delete", node)
    adopted = new_node(cli, "--instance-name", "old")
    cli.say("node manage", adopted, "--wait", "60")
    cli.say("node adopt", adopted, "--wait", "60")
    expect(cli.node(adopted), {state: "active"})


def held_and_aborted(cli: Cli) -> None:
    """Hold a node in the middle of its steps, let it go on, and abort it."""
    node, state = new_node(cli), "provision_state"
    cli.say("node manage", node, "--wait", "60")
    steps = json.dumps([{"interface": "deploy", "step": "hold"}, {"interface": "bios", "step": "factory_reset"}])
    cli.say("node clean", node, "--clean-steps", steps)
    cli.until(node, "a hold", lambda node: node[state] == "clean hold")
    cli.say("node unhold", node)
    cli.until(node, "the end of a hold", lambda node: node[state] == "manageable")
    cli.say("node clean", node, "--clean-steps", steps)
    cli.until(node, "a hold", lambda node: node[state] == "clean hold")
    cli.say("node abort", node)
    cli.until(node, "an abort", lambda node: node[state] == "clean failed")
    cli.say("node manage", node, "--wait", "60")
    cli.say("node delete", node)
