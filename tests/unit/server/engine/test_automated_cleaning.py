# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Cleaning between two uses by a runbook."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rackwright.engine.automated_cleaning import NoCleaningRunbook
from rackwright.store.runbook import Runbook
from rackwright.store.session import writing
from tests.unit.server.engine.engine_house import EngineHouse

Open = Callable[..., EngineHouse]
STEPS = [{"interface": "bios", "step": "factory_reset", "args": {}, "order": 1}]
BY_RUNBOOK = ["bios.factory_reset"]
BY_ITSELF: list[str] = []
TRAIT = "CUSTOM_WIPE"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Return a function that opens an engine with settings and the runbook CUSTOM_WIPE."""
    houses: list[EngineHouse] = []

    def open_with(owner: str | None = None, public: bool = False, **settings: Any) -> EngineHouse:
        house = EngineHouse(tmp_path, **{f"automated_cleaning_{name}": value for name, value in settings.items()})
        with writing(house.world.database) as session:
            session.add(Runbook(name=TRAIT, steps=STEPS, owner=owner, public=public))
            session.commit()
        houses.append(house)
        return house

    yield open_with
    for house in houses:
        house.close()


def cleaned(house: EngineHouse, **columns: Any) -> list[str]:
    """Provide a node; return the steps that worked on it."""
    uuid = house.node(**({"provision_state": "manageable", "traits": [TRAIT], "resource_class": "metal"} | columns))
    house.verb(uuid, "provide")
    house.settle()
    assert house.look(uuid).provision_state == "available"
    return [name for name in house.steps_of(uuid) if name.startswith(("bios", "raid"))]


@pytest.mark.parametrize(
    ("settings", "columns", "expected"),
    [
        ({"runbook": TRAIT}, {}, BY_ITSELF),
        ({"runbook": TRAIT, "step_source": "runbook"}, {}, BY_RUNBOOK),
        ({"runbook": TRAIT, "step_source": "hybrid"}, {}, BY_RUNBOOK),
        ({"runbook": TRAIT, "step_source": "hybrid"}, {"traits": []}, BY_ITSELF),
        ({"step_source": "hybrid"}, {}, BY_ITSELF),
        ({"runbook": "none-such", "step_source": "hybrid"}, {}, BY_ITSELF),
        ({"runbook_by_resource_class": {"metal": TRAIT}, "step_source": "runbook"}, {}, BY_RUNBOOK),
        ({"runbook": TRAIT, "step_source": "runbook", "runbook_validate_traits": False}, {"traits": []}, BY_RUNBOOK),
    ],
)
def test_the_settings_choose_what_cleaning_consists_of(
    opened: Open, settings: dict[str, Any], columns: dict[str, Any], expected: list[str]
) -> None:
    assert cleaned(opened(**settings), **columns) == expected


@pytest.mark.parametrize(
    ("settings", "columns", "reason"),
    [
        ({}, {}, "set automated_cleaning_runbook"),
        ({"runbook": "none-such"}, {}, "there is no runbook none-such"),
        ({"runbook": TRAIT}, {"traits": ["CUSTOM_OTHER"]}, "lacks a trait of runbook CUSTOM_WIPE"),
    ],
)
def test_a_node_is_not_provided_without_its_runbook(
    opened: Open, settings: dict[str, Any], columns: dict[str, Any], reason: str
) -> None:
    house = opened(step_source="runbook", **settings)
    uuid = house.node(**({"provision_state": "manageable", "traits": [TRAIT]} | columns))
    with pytest.raises(NoCleaningRunbook, match=reason):
        house.verb(uuid, "provide")
    assert house.look(uuid).provision_state == "manageable"


def test_an_undeployed_node_without_its_runbook_says_so(opened: Open) -> None:
    house = opened(step_source="runbook")
    uuid = house.node(provision_state="active")
    house.verb(uuid, "deleted")
    house.settle()
    node = house.look(uuid)
    assert node.provision_state == "clean failed"
    assert "set automated_cleaning_runbook" in (node.last_error or "")


def test_an_undeployed_node_is_cleaned_by_its_runbook(opened: Open) -> None:
    house = opened(step_source="runbook", runbook=TRAIT)
    uuid = house.node(provision_state="active", traits=[TRAIT])
    house.verb(uuid, "deleted")
    house.settle()
    assert "bios.factory_reset" in house.steps_of(uuid)
    assert house.look(uuid).provision_state == "available"


@pytest.mark.parametrize(
    ("runbook", "node", "fits"),
    [
        ({}, {}, True),
        ({"owner": "p"}, {"owner": "p"}, True),
        ({"owner": "p"}, {"owner": "q"}, False),
        ({}, {"owner": "q"}, False),
        ({"public": True}, {"owner": "q"}, True),
    ],
)
def test_a_node_names_only_a_runbook_that_its_owner_may_use(
    opened: Open, runbook: dict[str, Any], node: dict[str, Any], fits: bool
) -> None:
    house = opened(step_source="hybrid", runbook_from_node=True, **runbook)
    steps = cleaned(house, driver_info={"cleaning_runbook": TRAIT}, **node)
    assert steps == (BY_RUNBOOK if fits else BY_ITSELF)
