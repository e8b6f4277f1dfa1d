# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Ironic's own API tests for tempest, its access tests included, with accounts of a small identity service."""

from __future__ import annotations

import configparser
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conformance.checks import Check
from tests.conformance.keystone import ACCOUNTS, PASSWORD, SERVICE
from tests.conformance.servers import Server
from tests.conformance.stestr import run_tests
from tests.peers.environments import environment


def run(server: Server) -> Iterator[Check]:
    """Run them against a server behind keystone authentication."""
    settings = server.folder / "tempest.conf"
    _configure(settings, accounts=_accounts(server.folder), identity=str(server.identity))
    tests = "ironic_tempest_plugin/tests/api"
    variables = {"TEMPEST_CONFIG_DIR": str(server.folder), "TEMPEST_CONFIG": settings.name, "OS_TEST_TIMEOUT": "180"}
    yield from run_tests(environment("tempest"), tests, folder=server.folder, environment=variables)


def _accounts(folder: Path) -> Path:
    """Write the accounts that tempest chooses from, each for its first role only: else it takes any that has it too."""
    told: list[dict[str, Any]] = []
    for account in ACCOUNTS:
        if account == SERVICE:
            continue
        scope = {"project_name": account.project} if account.project else {"system": "all"}
        domain = {"user_domain_name": "Default", **({"project_domain_name": "Default"} if account.project else {})}
        told.append({"username": account.name, "password": PASSWORD, "roles": account.roles[:1], **scope, **domain})
    file = folder / "accounts.yaml"
    file.write_text(json.dumps(told))
    return file


def _configure(file: Path, *, accounts: Path, identity: str) -> None:
    parser = configparser.RawConfigParser()
    parser.read_dict(
        {
            "DEFAULT": {"log_file": str(file.with_name("tempest.log"))},
            "auth": {"test_accounts_file": str(accounts), "use_dynamic_credentials": "false"},
            "identity": {"uri_v3": identity, "auth_version": "v3", "region": "here"},
            "oslo_concurrency": {"lock_path": str(file.with_name("lock"))},
            "service_available": {
                **dict.fromkeys(("cinder", "glance", "neutron", "nova", "swift", "horizon"), "false"),
                "ironic": "true",
            },
            "enforce_scope": {"ironic": "true"},
            "baremetal": {
                "driver": "fake-hardware",
                "enabled_drivers": "fake-hardware",
                "enabled_hardware_types": "fake-hardware",
                "enabled_bios_interfaces": "fake,no-bios",
                "enabled_boot_interfaces": "fake",
                "enabled_deploy_interfaces": "fake",
                "enabled_inspect_interfaces": "fake,no-inspect",
                "enabled_management_interfaces": "fake,noop",
                "enabled_power_interfaces": "fake",
                "enabled_raid_interfaces": "fake,no-raid",
                "enabled_rescue_interfaces": "fake,no-rescue",
                "min_microversion": "1.1",
                "max_microversion": "latest",
            },
        }
    )
    with file.open("w") as out:
        parser.write(out)
