# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rackwright.domain.outcomes import WaitFor, Waiting
from rackwright.domain.verbs import Phase
from rackwright.engine import fast_track, recovery
from rackwright.engine.transitions import AGENT_BOOT
from rackwright.settings import Settings
from rackwright.store.node import Node
from tests.unit.server.engine.engine_house import STEPS, EngineHouse

ON = "power on"
AT = datetime(2026, 6, 1, tzinfo=UTC)
_CLEANS_UP = [each for each in STEPS if each.name == "clean_up_ramdisk" and each.stage == "finish"]
FAST = [
    each.model_copy(update={"unless_fast_track": True, "needs_ramdisk": True}) if each in _CLEANS_UP else each
    for each in STEPS
]


def _heard(seconds: float) -> dict[str, Any]:
    at = (AT - timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()
    return {"agent_url": "https://192.0.2.1:9999", "agent_last_heartbeat": at}


@pytest.mark.parametrize(
    ("columns", "phase", "expected"),
    [
        ({"driver_internal_info": _heard(10)}, Phase.CLEAN, True),
        ({"driver_internal_info": _heard(10)}, Phase.DEPLOY, True),
        ({"driver_internal_info": _heard(10)}, Phase.INSPECT, False),
        ({"driver_internal_info": _heard(10)}, Phase.SERVICE, False),
        ({"driver_internal_info": _heard(301)}, Phase.CLEAN, False),
        ({"driver_internal_info": _heard(10), "power_state": "power off"}, Phase.CLEAN, False),
        ({"driver_internal_info": _heard(10), "last_error": "it broke"}, Phase.CLEAN, False),
        ({"driver_internal_info": _heard(10), "driver_info": {"fast_track": False}}, Phase.CLEAN, False),
        ({"driver_internal_info": {AGENT_BOOT: "x"}, "inspection_finished_at": AT}, Phase.CLEAN, True),
        ({"inspection_finished_at": AT}, Phase.CLEAN, False),
    ],
)
def test_only_an_agent_that_was_heard_lately_is_taken_up(columns: dict[str, Any], phase: Phase, expected: bool) -> None:
    node = Node(**{"driver": "redfish", "power_state": ON, **columns})
    assert fast_track.lives(node, phase, settings=Settings(fast_track=True), at=AT) is expected


def test_a_node_has_it_alone_by_its_driver_info() -> None:
    assert fast_track.is_on(Node(driver="redfish", driver_info={"fast_track": True}), Settings())
    assert not fast_track.is_on(Node(driver="redfish"), Settings())


@pytest.fixture
def fast(tmp_path: Path) -> Iterator[EngineHouse]:
    house = EngineHouse(tmp_path, steps=FAST, fast_track=True)
    yield house
    house.close()


def _clean(house: EngineHouse) -> str:
    """Clean a node whose agent then runs on."""
    uuid = house.node(provision_state="manageable", power_state=ON)
    house.script["boot.boot_ramdisk"] = lambda _: Waiting(WaitFor.AGENT)
    house.verb(uuid, "provide")
    house.settle()
    del house.script["boot.boot_ramdisk"]
    house.beat(uuid)
    house.settle()
    assert house.look(uuid).provision_state == "available"
    return uuid


def test_after_cleaning_the_agent_stays_and_deployment_goes_on_with_it(fast: EngineHouse) -> None:
    uuid = _clean(fast)
    before = fast.look(uuid).driver_internal_info
    assert "boot.clean_up_ramdisk" not in fast.steps_of(uuid)
    fast.verb(uuid, "active")
    assert fast.look(uuid).driver_internal_info["agent_secret_token"] == before["agent_secret_token"]
    assert fast.look(uuid).driver_internal_info["agent_url"] == before["agent_url"]
    fast.settle()
    assert fast.look(uuid).provision_state == "active"
    assert not {"agent_url", "agent_secret_token", AGENT_BOOT} & fast.look(uuid).driver_internal_info.keys()


def test_an_agent_that_fell_silent_is_booted_anew_with_another_token(fast: EngineHouse) -> None:
    uuid = _clean(fast)
    before = fast.look(uuid).driver_internal_info
    info = {**before, "agent_last_heartbeat": "2020-01-01T00:00:00"}
    fast.change(uuid, driver_internal_info=info, provision_state="manageable")
    fast.verb(uuid, "provide")
    after = fast.look(uuid).driver_internal_info
    assert after["agent_secret_token"] != before["agent_secret_token"]
    assert "agent_url" not in after
    assert after[AGENT_BOOT] == fast.operation(uuid).uuid


def test_the_image_of_an_agent_that_runs_on_is_kept_until_the_node_forgets_it(fast: EngineHouse) -> None:
    uuid = _clean(fast)
    booted = fast.look(uuid).driver_internal_info[AGENT_BOOT]
    medium = fast.settings.boot_dir / f"{booted}.iso"
    medium.write_bytes(b"")
    recovery.remove_media(fast.world)
    assert medium.exists()
    fast.verb(uuid, "active")
    fast.settle()
    recovery.remove_media(fast.world)
    assert not medium.exists()


def test_without_fast_track_the_ramdisk_is_cleaned_up(tmp_path: Path) -> None:
    house = EngineHouse(tmp_path, steps=FAST)
    uuid = _clean(house)
    assert house.steps_of(uuid)[-1] == "boot.clean_up_ramdisk"
    assert "agent_url" not in house.look(uuid).driver_internal_info
    house.close()
