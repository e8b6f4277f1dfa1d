# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import AgentServer


def test_the_boot_loader_is_installed_with_what_was_written(agent: AgentServer, module: Any) -> None:
    agent.answers["standby.get_partition_uuids"] = lambda _: {"root uuid": "r", "efi system partition uuid": "e"}
    agent.ending = agent.end
    assert module("agent_bootloader", **agent.options())["changed"]
    assert agent.posted[-1] == {
        "name": "image.install_bootloader",
        "params": {
            "root_uuid": "r",
            "efi_system_part_uuid": "e",
            "prep_boot_part_uuid": None,
            "target_boot_mode": "uefi",
        },
    }


def test_a_bios_needs_none(agent: AgentServer, module: Any) -> None:
    assert not module("agent_bootloader", **agent.options(), boot_mode="bios")["changed"]
    assert agent.requests == []
