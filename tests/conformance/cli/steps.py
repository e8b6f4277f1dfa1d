# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Walks through what changes what is done to a node: allocations, deploy templates, runbooks, inspection rules."""

from __future__ import annotations

import json
import time

from tests.conformance.cli.client import PATIENCE, Cli, expect, gone, walk_resource
from tests.conformance.cli.inventory import new_node

STEPS = json.dumps([{"interface": "deploy", "step": "deploy", "args": {}, "priority": 150}])
MORE = json.dumps([{"interface": "power", "step": "reboot", "args": {}, "priority": 90}])
CLEAN = [{"interface": "bios", "step": "factory_reset", "args": {}, "order": 1}]


def available(cli: Cli, *more: str) -> str:
    """Create a node and bring it where it can be deployed."""
    node = new_node(cli, *more)
    cli.say("node manage", node, "--wait", "60")
    cli.say("node power off", node)
    cli.until(node, "power off", lambda node: node["power_state"] == "power off")
    cli.say("node provide", node, "--wait", "60")
    return node


def allocations(cli: Cli) -> None:
    """Let the server choose a node by class and traits, hold it, and let it go."""
    plain = available(cli, "--resource-class", "big")
    gifted = available(cli, "--resource-class", "big")
    cli.say("node add trait", gifted, "CUSTOM_GIFT")
    create = ["--resource-class", "big", "--trait", "CUSTOM_GIFT", "--name", "mine", "--wait", "60"]
    made = walk_resource(cli, "allocation", create, ["--name", "ours", "--extra", "a=one"], {"name": "ours"})
    expect(cli.read("allocation show", made), {"state": "active", "node_uuid": gifted})
    expect(cli.node(gifted), {"instance_uuid": made, "allocation_uuid": made})
    cli.say("allocation unset", made, "--extra", "a")
    expect(cli.read("allocation show", "ours"), {"extra": {}})
    cli.refuses("", "allocation create", "--resource-class", "big", "--trait", "CUSTOM_GIFT", "--wait", "30")
    gone(cli, "allocation", made)
    expect(cli.node(gifted), {"instance_uuid": None, "allocation_uuid": None})
    for row in cli.read("allocation list"):
        cli.say("allocation delete", row["uuid"])
    cli.say("node delete", plain, gifted)


def deploy_templates(cli: Cli) -> None:
    """Let a trait of an instance add steps to its deployment."""
    create = ["CUSTOM_EARLY", "--steps", STEPS, "--extra", "a=one"]
    made = walk_resource(
        cli, "deploy template", create, ["--steps", MORE, "--extra", "b=two"], {"name": "CUSTOM_EARLY"}
    )
    assert cli.read("deploy template show", made)["steps"][0]["step"] == "reboot"
    cli.say("deploy template unset", made, "--extra", "a")
    expect(cli.read("deploy template show", "CUSTOM_EARLY"), {"extra": {"b": "two"}})
    gone(cli, "deploy template", made)


def runbooks(cli: Cli) -> None:
    """Clean a node with a runbook that its traits admit."""
    node = new_node(cli)
    cli.say("node manage", node, "--wait", "60")
    create = ["--name", "CUSTOM_RUN", "--steps", json.dumps(CLEAN), "--extra", "a=one"]
    made = walk_resource(cli, "runbook", create, ["--owner", "us", "--description", "tidy up"], {"owner": "us"})
    cli.say("runbook unset", made, "--owner", "--extra", "a")
    expect(cli.read("runbook show", "CUSTOM_RUN"), {"owner": None, "extra": {}})
    cli.say("runbook trait add", made, "CUSTOM_OTHER")
    assert [next(iter(row.values())) for row in cli.read("runbook trait list", made)] == ["CUSTOM_OTHER"]
    cli.say("runbook trait remove", made, "CUSTOM_OTHER")
    cli.say("runbook trait add", made, "CUSTOM_RUN")
    cli.refuses("CUSTOM_RUN", "node clean", node, "--runbook", made)
    cli.say("node add trait", node, "CUSTOM_RUN")
    cli.say("node clean", node, "--runbook", "CUSTOM_RUN", "--wait", "60")
    expect(cli.node(node), {"provision_state": "manageable", "last_error": None})
    gone(cli, "runbook", made)
    cli.say("node delete", node)


def inspection_rules(cli: Cli) -> None:
    """Keep rules that are applied in inspection."""
    conditions = json.dumps([{"op": "eq", "args": ["{node[driver]}", "fake-hardware"]}])
    action = json.dumps([{"op": "set-attribute", "args": ["/extra/seen", "yes"]}])
    create = ["--description", "mark", "--conditions", conditions, "--actions", action, "--priority", "5"]
    made = walk_resource(cli, "inspection rule", create, ["--priority", "7"], {"priority": 7, "description": "mark"})
    cli.say("inspection rule unset", made, "--priority")
    expect(cli.read("inspection rule show", made), {"priority": 0})
    gone(cli, "inspection rule", made)


def history(cli: Cli) -> None:
    """Tell what happened to a node."""
    node = available(cli)
    end = time.monotonic() + PATIENCE
    while not (listed := cli.read("node history list", node)):
        assert time.monotonic() < end, "nothing was noted of a node that was made available"
        time.sleep(0.2)
    event = cli.read("node history get", node, listed[0]["uuid"])
    assert event["uuid"] == listed[0]["uuid"]
    cli.say("node delete", node)
