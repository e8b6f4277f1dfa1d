# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Nova's own driver for bare metal: an instance from its start to its end."""

from __future__ import annotations

import configparser
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx

from tests.conformance.checks import Check
from tests.conformance.nodes import VERSION, make_available
from tests.conformance.servers import Server
from tests.peers.environments import environment

PROGRAM = Path(__file__).with_name("compute.py")
NODE = {
    "driver": "fake-hardware",
    "resource_class": "metal",
    "properties": {"cpus": 4, "memory_mb": 4096, "local_gb": 100, "cpu_arch": "x86_64"},
}


def run(server: Server) -> Iterator[Check]:
    """Let the driver run an instance on a node that is made available here."""
    node = _node(server.url)
    settings = server.folder / "nova.conf"
    _configure(settings, server.url)
    with (server.folder / "nova.out").open("w") as log:
        schema = [
            str(environment("nova") / "nova-manage"),
            "--config-file",
            str(settings),
            "db",
            "sync",
            "--local_cell",
        ]
        subprocess.run(schema, check=True, stdout=log, stderr=log)
        command = [str(environment("nova") / "python"), str(PROGRAM), str(settings), node]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=server.folder)
    for line in done.stdout.splitlines():
        yield Check(**json.loads(line))


def _node(url: str) -> str:
    with httpx.Client(base_url=url, headers=VERSION, timeout=60) as client:
        uuid = str(make_available(client, NODE)["uuid"])
        port = {"node_uuid": uuid, "address": "52:54:00:00:00:50"}
        connector = {"node_uuid": uuid, "type": "iqn", "connector_id": "iqn.2026-01.example:one"}
        client.put(f"/v1/nodes/{uuid}/traits", json={"traits": ["CUSTOM_GOLD"]}).raise_for_status()
        client.post("/v1/ports", json=port).raise_for_status()
        client.put(f"/v1/nodes/{uuid}/states/power", json={"target": "power off"}).raise_for_status()
        client.post("/v1/volume/connectors", json=connector).raise_for_status()
    return uuid


def _configure(file: Path, url: str) -> None:
    """Write the settings; the database, empty, is asked only for other compute services."""
    database = file.with_name("nova.sqlite")
    database.unlink(missing_ok=True)
    parser = configparser.RawConfigParser()
    parser.read_dict(
        {
            "DEFAULT": {
                "host": "compute",
                "state_path": str(file.parent),
                "log_file": str(file.with_name("nova.log")),
                "compute_driver": "ironic.IronicDriver",
            },
            "database": {"connection": f"sqlite:///{database}"},
            "ironic": {"auth_type": "none", "endpoint_override": url, "api_retry_interval": "1"},
        }
    )
    with file.open("w") as out:
        parser.write(out)
