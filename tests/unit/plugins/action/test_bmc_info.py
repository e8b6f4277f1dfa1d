# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import (
    SYSTEM,
    Answer,
    BmcServer,
    Request,
    refusal,
)
from ansible_collections.rackwright.metal.tests.unit.plugins.wave_stage import staged

READ = {"name": "read_power_state", "interface": "power", "role": "rackwright.metal.power"}
KNOWN = {"path": SYSTEM, "closed": False}


def _without_basic(request: Request) -> Answer | None:
    if "Authorization" in request.headers:
        return refusal(401)
    return None


def test_a_look_goes_the_short_way_where_it_is_open_and_tells_what_it_learnt_of_the_others(tmp_path: Path) -> None:
    servers = {name: BmcServer() for name in ("open", "new", "strict")}
    for server in servers.values():
        server.login = ("admin", "canary-password")
    servers["strict"].habits.append(_without_basic)
    ways = {"open": KNOWN, "new": {"path": None, "closed": False}, "strict": KNOWN}
    with (
        staged(tmp_path) as stage,
        servers["open"].running(),
        servers["new"].running(),
        servers["strict"].running(),
    ):
        for name, server in servers.items():
            stage.node(name, steps=[READ], bmc=server.context(), look=ways[name])
        run = stage.play([READ], playbook="rackwright.metal.power_sync")
    assert run.code == 0, run.output
    assert run.facts("open") == {"power_state": "power off"}
    assert run.facts("new") == {"power_state": "power off", "look": KNOWN}
    assert run.facts("strict") == {"power_state": "power off", "look": {"path": SYSTEM, "closed": True}}
    assert [each.path for each in servers["open"].log] == [SYSTEM]
    assert not any(server.sessions for server in servers.values())
