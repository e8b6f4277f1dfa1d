# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The functional tests for bare metal that openstacksdk carries in its own package."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.conformance.checks import Check
from tests.conformance.servers import Server
from tests.conformance.stestr import run_tests
from tests.peers.environments import environment

CLOUD = "standalone"
# The tests ask for several accounts of one cloud; without authentication all of them are the same.
VARIABLES = ("OS_CLOUD", "OPENSTACKSDK_DEMO_CLOUD", "OPENSTACKSDK_DEMO_CLOUD_ALT", "OPENSTACKSDK_OPERATOR_CLOUD",
             "OPENSTACKSDK_SYSTEM_ADMIN_CLOUD")  # fmt: skip


def run(server: Server) -> Iterator[Check]:
    """Run them against a server that asks for no credentials."""
    cloud = {
        "auth_type": "none",
        "auth": {"endpoint": server.url},
        "baremetal_endpoint_override": server.url,
        **{f"has_{service}": False for service in ("compute", "image", "network")},
    }
    settings = server.folder / "clouds.yaml"
    settings.write_text(json.dumps({"clouds": {CLOUD: cloud}}))
    variables = {"OS_CLIENT_CONFIG_FILE": str(settings), "OS_TEST_TIMEOUT": "60"} | dict.fromkeys(VARIABLES, CLOUD)
    tests = "openstack/tests/functional/baremetal"
    yield from run_tests(environment("sdk"), tests, folder=server.folder, environment=variables)
