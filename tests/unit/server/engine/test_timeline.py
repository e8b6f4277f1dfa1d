# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from rackwright.domain.outcomes import WaitFor, Waiting
from tests.unit.server.engine.engine_house import EngineHouse


def test_a_timeline_tells_what_ran_what_waited_and_in_which_order(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    house.script["boot.boot_ramdisk"] = Waiting(WaitFor.AGENT)
    house.verb(uuid, "provide")
    house.settle()
    operation, node = house.operation(uuid), house.look(uuid)
    entries = [(entry["step"], entry["activity"]) for entry in operation.timeline]
    assert entries == [("boot.boot_ramdisk", "runs"), ("boot.boot_ramdisk", "waits")]
    assert [entry["at"] for entry in operation.timeline] == sorted(entry["at"] for entry in operation.timeline)
    shown = node.driver_internal_info["operation"]
    assert (shown["phase"], shown["step"], shown["index"], shown["activity"]) == (
        "clean",
        "boot.boot_ramdisk",
        0,
        "waits",
    )
    assert shown["count"] == len(operation.steps)


def test_a_node_at_rest_shows_no_operation(house: EngineHouse) -> None:
    uuid = house.node()
    house.verb(uuid, "manage")
    house.settle()
    assert house.look(uuid).provision_state == "manageable"
    assert "operation" not in house.look(uuid).driver_internal_info
