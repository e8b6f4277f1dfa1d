# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lead many nodes to their goals at once, over the API, and tell what each of them is doing."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._client import ApiClient, ApiError, segment
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.plugins.module_utils._goal import (
    Goal,
    has_failed,
    is_busy,
    next_verb,
    predict,
)

FIELDS = (
    "uuid,name,provision_state,target_provision_state,last_error,power_state,instance_info,inspection_finished_at,"
    "inspect_interface,driver_internal_info,clean_step,deploy_step,maintenance,maintenance_reason"
)
INTERVAL = 1.0


@dataclass
class Journey:
    """One node on its way: what it is asked for, what was sent, and how it ended."""

    goal: Goal
    before: str = "absent"
    state: str = "absent"
    uuid: str | None = None
    sent: list[str] = field(default_factory=list)
    told: str = ""
    since: float = 0.0
    error: str | None = None
    done: bool = False

    def result(self) -> dict[str, Any]:
        """Return the outcome in the form that the module documents."""
        return {
            "changed": bool(self.sent),
            "failed": self.error is not None,
            "msg": self.error or f"{self.goal.node} is {self.state}.",
            "uuid": self.uuid,
            "provision_state": self.state,
            "verbs": self.sent,
            "diff": {"before": {"provision_state": self.before}, "after": self._after()},
        }

    def _after(self) -> dict[str, Any]:
        return {"provision_state": self.state, **({"verbs": self.sent} if self.sent else {})}


def foresee(client: ApiClient, goals: list[Goal]) -> dict[str, dict[str, Any]]:
    """Return what converge would do to each node, without asking for any change."""
    journeys = [Journey(goal) for goal in goals]
    for journey in journeys:
        node = client.find(f"/nodes/{segment(journey.goal.node)}")
        try:
            found = node or {"provision_state": "enroll", **_UNKNOWN}
            journey.sent = predict(found, journey.goal)
            journey.before = node["provision_state"] if node else "absent"
            journey.uuid = node["uuid"] if node else None
            journey.state = journey.goal.state
        except OperationError as error:
            journey.error = str(error)
    return {journey.goal.node: journey.result() for journey in journeys}


_UNKNOWN: dict[str, Any] = {
    "target_provision_state": None,
    "last_error": None,
    "inspection_finished_at": None,
    "inspect_interface": "agent",
    "instance_info": {},
}


def converge(
    client: ApiClient, goals: list[Goal], *, timeout: float, tell: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Send each node the verbs that lead to its goal, as far as they go; return the results by node.

    A node that fails doesn't hold up the others. timeout is in seconds for the whole; nodes that are still on their
    way then are reported as failed, and go on in the daemon.
    """
    journeys = {goal.node: Journey(goal) for goal in goals}
    end = time.monotonic() + timeout
    while any(not journey.done for journey in journeys.values()):
        _look(client, journeys, tell)
        if time.monotonic() > end:
            _give_up(journeys, timeout)
        else:
            time.sleep(INTERVAL)
    return {name: journey.result() for name, journey in journeys.items()}


def _look(client: ApiClient, journeys: dict[str, Journey], tell: Callable[[str], None]) -> None:
    nodes: dict[str, dict[str, Any]] = {}
    for node in client.items("/nodes", "nodes", fields=FIELDS):
        nodes[node["uuid"]] = nodes[node["name"]] = node
    for journey in journeys.values():
        if not journey.done:
            _advance(client, journey, nodes.get(journey.goal.node), tell)


def _advance(client: ApiClient, journey: Journey, node: dict[str, Any] | None, tell: Callable[[str], None]) -> None:
    try:
        if node is None:
            raise OperationError(
                f"find {journey.goal.node}", "The API has no such node.", "Declare it with the module 'node' first."
            )
        _observe(journey, node, tell)
        if is_busy(node):
            return
        if journey.sent and has_failed(node):
            raise OperationError(
                f"bring {journey.goal.node} to {journey.goal.state}",
                node["last_error"] or f"It ended in the state {node['provision_state']}.",
                f"When the cause is removed, run again: it goes on from {node['provision_state']}.",
            )
        _send(client, journey, node)
    except (OperationError, ApiError) as error:
        journey.error, journey.done = str(error), True
        tell(f"{journey.goal.node}: failed: {plain(str(error))}")


def _send(client: ApiClient, journey: Journey, node: dict[str, Any]) -> None:
    verb = next_verb(node, journey.goal)
    if verb is None:
        journey.done = True
        return
    if verb in journey.sent:
        raise OperationError(
            f"bring {journey.goal.node} to {journey.goal.state}",
            f"The verb '{verb}' was sent already and led back to {node['provision_state']}.",
            "Look at the node's history for what happened in between.",
        )
    path = f"/nodes/{node['uuid']}"
    body: dict[str, Any] = {"target": verb}
    if verb in ("active", "rebuild"):
        client.patch(path, [{"op": "add", "path": "/instance_info", "value": journey.goal.instance_info}])
        if journey.goal.config_drive is not None:
            body["configdrive"] = journey.goal.config_drive
    client.put(f"{path}/states/provision", body)
    journey.sent.append(verb)


def _observe(journey: Journey, node: dict[str, Any], tell: Callable[[str], None]) -> None:
    if journey.uuid is None:
        journey.uuid, journey.before = node["uuid"], node["provision_state"]
    journey.state = node["provision_state"]
    text = progress(node)
    if text != journey.told:
        now = time.monotonic()
        spent = f" (after {now - journey.since:.0f} s)" if journey.told else ""
        journey.told, journey.since = text, now
        tell(f"{journey.goal.node}: {plain(text)}{spent}")


def progress(node: dict[str, Any]) -> str:
    """Return the node's state and, while an operation runs, its step and how far in the list that is."""
    operation = node["driver_internal_info"].get("operation") or {}
    if is_busy(node) and operation.get("step"):
        place = f"{operation['index'] + 1} of {operation['count']}"
        return f"{node['provision_state']}: {operation['step']} ({place})"
    step = node["clean_step"] or node["deploy_step"]
    if is_busy(node) and step:
        return f"{node['provision_state']}: {step['interface']}.{step['step']}"
    return str(node["provision_state"])


def plain(text: str) -> str:
    """Return text without control characters: what a BMC or an agent said goes to a terminal."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", text)


def _give_up(journeys: dict[str, Journey], timeout: float) -> None:
    for journey in journeys.values():
        if not journey.done:
            journey.done = True
            journey.error = str(
                OperationError(
                    f"bring {journey.goal.node} to {journey.goal.state}",
                    f"It was still {journey.told} after {timeout:.0f} s.",
                    "The daemon goes on with it: run again to wait on, or raise the timeout.",
                )
            )
