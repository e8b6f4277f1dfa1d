# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What else changes on a node when its provision state does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rackwright.domain.states import Event, ProvisionState
from rackwright.engine import transitions
from rackwright.store.node import Node

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
LATER = BEGIN + timedelta(minutes=5)


def inspecting() -> Node:
    """Return a node whose second inspection has just begun."""
    node = Node(driver="fake-hardware", provision_state="manageable", inspection_finished_at=BEGIN - timedelta(days=1))
    transitions.move(node, Event.INSPECT, at=BEGIN)
    return node


def test_an_inspection_that_begins_has_no_end() -> None:
    node = inspecting()
    assert (node.provision_state, node.provision_updated_at) == ("inspecting", BEGIN)
    assert (node.inspection_started_at, node.inspection_finished_at) == (BEGIN, None)


def test_waiting_for_the_agent_does_not_begin_the_inspection_anew() -> None:
    node = inspecting()
    transitions.move(node, Event.WAIT, at=LATER)
    assert node.inspection_started_at == BEGIN
    transitions.move(node, Event.RESUME, at=LATER)
    assert (node.provision_state, node.inspection_started_at) == ("inspecting", BEGIN)


def test_an_inspection_that_ended_well_has_only_its_end() -> None:
    node = inspecting()
    transitions.move(node, Event.DONE, at=LATER)
    assert node.provision_state == ProvisionState.MANAGEABLE
    assert (node.inspection_started_at, node.inspection_finished_at) == (None, LATER)


def test_an_inspection_that_failed_has_neither_begin_nor_end() -> None:
    node = inspecting()
    transitions.move(node, Event.FAIL, at=LATER)
    assert node.provision_state == ProvisionState.INSPECT_FAILED
    assert (node.inspection_started_at, node.inspection_finished_at) == (None, None)


@pytest.mark.parametrize("state", ["enroll", "available"])
def test_becoming_manageable_in_another_way_leaves_the_last_inspection(state: str) -> None:
    node = Node(driver="fake-hardware", provision_state=state, inspection_finished_at=BEGIN)
    transitions.move(node, Event.MANAGE, at=LATER)
    if state == "enroll":
        transitions.move(node, Event.DONE, at=LATER)
    assert (node.provision_state, node.inspection_finished_at) == ("manageable", BEGIN)
