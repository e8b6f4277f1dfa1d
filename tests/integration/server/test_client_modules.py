# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The playbook of a site against a whole daemon, as an operator runs it: a plan first, then the thing itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.server.daemon_house import Daemon

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
IMAGE = {"image_source": "http://images.example/os.raw", "image_os_hash_value": "ab"}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    started = Daemon(tmp_path_factory.mktemp("daemon"))
    yield started
    assert "canary" not in started.log.read_text()
    started.stop()


class Site:
    """An inventory, and what came of the last run of the playbook."""

    def __init__(self, daemon: Daemon, folder: Path) -> None:
        self.daemon, self.inventory, self.text = daemon, folder / "inventory.json", ""

    def run(self, *options: str, **hosts: dict[str, Any]) -> int:
        """Run the playbook for hosts with these variables; return its exit status."""
        shared = {
            "node_driver": "fake-hardware",
            "node_driver_info": {"fake_password": "canary"},
            "node_instance_info": IMAGE,
            "rackwright_api_url": f"http://127.0.0.1:{self.daemon.port}",
        }
        self.inventory.write_text(json.dumps({"rack": {"hosts": hosts, "vars": shared}}))
        program = Path(sys.executable).with_name("ansible-playbook")
        environment = {
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible/collections"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_LOCALHOST_WARNING": "false",
        }
        command: list[str | Path] = [program, "-i", self.inventory, "rackwright.metal.site", "--diff", *options]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        self.text = done.stdout + done.stderr
        assert "canary" not in self.text
        return done.returncode

    def recap(self, what: str) -> dict[str, int]:
        """Return a column of the recap by host."""
        return {host: int(count) for host, count in re.findall(rf"(?m)^(\S+) +: ok=.* {what}=(\d+)", self.text)}

    def states(self) -> dict[str, str]:
        """Return what the daemon says of the nodes."""
        listed = self.daemon.done("GET", "/v1/nodes?fields=name,provision_state")["nodes"]
        return {node["name"]: node["provision_state"] for node in listed}


@pytest.fixture
def site(daemon: Daemon, tmp_path: Path) -> Site:
    return Site(daemon, tmp_path)


def test_a_plan_changes_nothing_and_the_second_run_has_nothing_to_do(site: Site) -> None:
    hosts: dict[str, dict[str, Any]] = {
        "plan-1": {
            "node_wanted_state": "active",
            "node_ports": ["52:54:00:AA:00:01"],
            "node_driver_info": {"fake_password": "canary", "fake_deploy_delay": "2"},
        },
        "plan-2": {"node_wanted_state": "available"},
    }
    before = site.states()
    assert site.run("--check", **hosts) == 0, site.text
    way = "--- before: plan-1\n+++ after: plan-1\n@@ -1 +1,5 @@\n enroll\n"
    assert f"{way}+manage: manageable\n+inspect: manageable\n+provide: available\n+active: active\n" in site.text
    assert "plan-2: from enroll to available by manage, inspect, provide." in site.text
    assert site.states() == before

    assert site.run(**hosts) == 0, site.text
    assert {"plan-1": "active", "plan-2": "available"}.items() <= site.states().items()
    assert re.search(r"(?m)^plan-1: deploying: deploy\.deploy .*\(after \d+ s\)$", site.text)

    assert site.run(**hosts) == 0, site.text
    assert site.recap("changed") == {"plan-1": 0, "plan-2": 0}
    assert site.run("--check", **hosts) == 0, site.text
    assert site.recap("changed") == {"plan-1": 0, "plan-2": 0}


def test_a_node_that_fails_fails_its_host_alone_and_the_next_run_goes_on(site: Site) -> None:
    broken: dict[str, Any] = {
        "node_driver_info": {"fake_fail": "power.read_power_state"},
        "node_wanted_state": "manageable",
    }
    assert site.run(**{"fail-1": broken, "fail-2": {"node_wanted_state": "manageable"}}) == 2
    assert site.recap("failed") == {"fail-1": 1, "fail-2": 0}
    assert "Remove fake_fail" in site.text and "run again: it goes on from enroll" in site.text
    assert site.states()["fail-2"] == "manageable"
    mended = {**broken, "node_driver_info": {"fake_fail": ""}}
    assert site.run(**{"fail-1": mended}) == 0, site.text
    assert site.states()["fail-1"] == "manageable"


def test_a_deployed_machine_is_erased_only_where_that_is_allowed(site: Site) -> None:
    active = {"node_wanted_state": "active", "node_inspect": False}
    assert site.run(**{"keep-1": active}) == 0, site.text
    back = {"node_wanted_state": "available"}
    assert site.run(**{"keep-1": back}) == 2
    assert "set allow_undeploy for this node" in site.text
    assert site.states()["keep-1"] == "active"
    assert site.run(**{"keep-1": {**active, "node_instance_info": {**IMAGE, "image_os_hash_value": "cd"}}}) == 2
    assert "set allow_rebuild for this node" in site.text
    assert site.run(**{"keep-1": {**back, "node_allow_undeploy": True}}) == 0, site.text
    assert site.states()["keep-1"] == "available"
