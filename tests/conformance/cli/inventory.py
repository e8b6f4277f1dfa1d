# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Walks through what is recorded of machines: chassis, ports, port groups, volumes, shards, drivers, conductors."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

from tests.conformance.cli.client import Cli, expect, gone, walk_resource


def new_node(cli: Cli, *more: str) -> str:
    """Create a node of fake hardware and return its UUID."""
    return str(cli.read("node create", "--driver", "fake-hardware", *more)["uuid"])


def chassis(cli: Cli) -> None:
    """Keep chassis, and say which nodes stand in one."""
    create, change = ["--description", "row 1", "--extra", "a=one"], ["--description", "row 2", "--extra", "b=two"]
    made = walk_resource(cli, "chassis", create, change, {"description": "row 2", "extra": {"a": "one", "b": "two"}})
    cli.say("chassis unset", made, "--description", "--extra", "a")
    shown = cli.read("chassis show", made)
    assert shown["extra"] == {"b": "two"} and not shown["description"], shown
    node = new_node(cli, "--chassis-uuid", made)
    assert [row["uuid"] for row in cli.read("node list", "--chassis", made)] == [node]
    cli.refuses("nodes", "chassis delete", made)
    cli.say("node delete", node)
    gone(cli, "chassis", made)


def ports(cli: Cli) -> None:
    """Keep ports, with the switch that they are connected to."""
    node = new_node(cli)
    link = ["--local-link-connection", "switch_id=0a:1b:2c:3d:4e:5f", "--local-link-connection", "port_id=Eth1"]
    create = ["52:54:00:00:00:01", "--node", node, "--name", "left", "--physical-network", "blue", *link]
    change = ["--address", "52:54:00:00:00:02", "--pxe-disabled", "--extra", "a=one", "--description", "the left one"]
    changed = {
        "address": "52:54:00:00:00:02",
        "pxe_enabled": False,
        "extra": {"a": "one"},
        "description": "the left one",
    }
    made = walk_resource(cli, "port", create, change, changed)
    assert [row["uuid"] for row in cli.read("port list", "--node", node)] == [made]
    cli.refuses("52:54:00:00:00:02", "port create", "52:54:00:00:00:02", "--node", node)
    cli.say("port unset", made, "--extra", "a", "--physical-network", "--description", "--name")
    expect(cli.read("port show", made), {"extra": {}, "physical_network": None, "description": None, "name": None})
    gone(cli, "port", made)
    cli.say("node delete", node)


def port_groups(cli: Cli) -> None:
    """Keep port groups, and ports in them."""
    node = new_node(cli)
    create = ["--node", node, "--name", "bond", "--address", "52:54:00:00:00:10", "--mode", "802.3ad",
              "--property", "miimon=100"]  # fmt: skip
    change = ["--mode", "balance-alb", "--extra", "a=one", "--unsupport-standalone-ports"]
    changed = {"mode": "balance-alb", "extra": {"a": "one"}, "standalone_ports_supported": False}
    made = walk_resource(cli, "port group", create, change, changed)
    port = cli.read("port create", "52:54:00:00:00:11", "--node", node, "--port-group", made, "--pxe-enabled", "false")
    assert [row["uuid"] for row in cli.read("port list", "--port-group", made)] == [port["uuid"]]
    cli.refuses(made, "port group delete", made)
    cli.say("port delete", port["uuid"])
    cli.say("port group unset", made, "--address", "--extra", "a", "--property", "miimon")
    expect(cli.read("port group show", "bond"), {"address": None, "extra": {}, "properties": {}})
    gone(cli, "port group", made)
    cli.say("node delete", node)


def volumes(cli: Cli) -> None:
    """Keep what a node boots from over a storage network; both may change only while it is off."""
    node = new_node(cli)
    cli.say("node power off", node)
    cli.until(node, "power off", lambda node: node["power_state"] == "power off")
    create = ["--node", node, "--type", "iqn", "--connector-id", "iqn.2026-01.example:one"]
    change = ["--connector-id", "iqn.2026-01.example:two", "--extra", "a=one"]
    connector = walk_resource(cli, "volume connector", create, change, {"connector_id": "iqn.2026-01.example:two"})
    cli.say("volume connector unset", connector, "--extra", "a")
    expect(cli.read("volume connector show", connector), {"extra": {}})
    volume = str(uuid.uuid4())
    create = ["--node", node, "--type", "iscsi", "--boot-index", "0", "--volume-id", volume, "--property", "lun=1"]
    target = walk_resource(cli, "volume target", create, ["--boot-index", "1", "--extra", "a=one"], {"boot_index": 1})
    cli.say("volume target unset", target, "--extra", "a", "--property", "lun")
    expect(cli.read("volume target show", target), {"extra": {}, "volume_id": volume})
    assert len(cli.read("volume target list", "--node", node)) == 1
    gone(cli, "volume connector", connector)
    gone(cli, "volume target", target)
    cli.say("node delete", node)


def shards(cli: Cli) -> None:
    """Count the nodes of shards."""
    nodes = [new_node(cli, "--shard", shard) for shard in ("east", "east", "west")]
    counted = {row["name"]: row["count"] for row in cli.read("shard list")}
    expect(counted, {"east": 2, "west": 1})
    assert {row["uuid"] for row in cli.read("node list", "--shards", "east")} == set(nodes[:2])
    cli.say("node delete", *nodes)


def drivers(cli: Cli) -> None:
    """Say what drivers there are, what they need, and what vendors add."""
    assert "fake-hardware" in {row["name"] for row in cli.read("driver list")}
    expect(cli.read("driver show", "fake-hardware"), {"name": "fake-hardware", "default_power_interface": "fake"})
    cli.read("driver property list", "fake-hardware")
    cli.read("driver raid property list", "fake-hardware")
    cli.read("driver passthru list", "fake-hardware")
    cli.refuses("nonsense", "driver passthru call", "fake-hardware", "nonsense", "--http-method", "GET")
    cli.refuses("nonsense", "driver show", "nonsense")


def conductors(cli: Cli) -> None:
    """Say what conductors there are."""
    listed = cli.read("conductor list", "--long")
    (host,) = {row["hostname"] for row in listed}
    shown = cli.read("conductor show", host)
    assert shown["hostname"] == host and "fake-hardware" in shown["drivers"]
    cli.refuses("nobody", "conductor show", "nobody")


def create_from_a_file(cli: Cli, folder: Path) -> None:
    """Create many things at once from a file."""
    node = {"driver": "fake-hardware", "name": "from-file", "ports": [{"address": "52:54:00:00:00:20"}]}
    file = folder / "resources.json"
    file.write_text(json.dumps({"chassis": [{"description": "from a file", "nodes": [node]}]}))
    cli.say("create", str(file))
    assert cli.read("port list", "--node", "from-file")[0]["address"] == "52:54:00:00:00:20"
    assert cli.node("from-file")["chassis_uuid"]
    cli.say("node delete", "from-file")
