# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lead many nodes to their goals at once, over the API, and tell what each of them is doing."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._client import (
    ApiClient,
    ApiError,
    Unreachable,
)
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.plugins.module_utils._goal import (
    DEPLOYED,
    ENDS,
    Goal,
    has_failed,
    is_busy,
    next_verb,
    predict,
    runs_unknown,
)

FIELDS = (
    "uuid,name,provision_state,target_provision_state,last_error,instance_info,inspection_finished_at,"
    "inspect_interface,clean_step,deploy_step,driver_internal_info,power_state"
)
INTERVAL = 1.0
"""Seconds between two looks at the nodes."""
REMINDER = 30.0
"""Seconds after which a node that shows nothing new is named again."""
PATIENCE = 60.0
"""Seconds that the API may be silent once it has answered."""
NEW: dict[str, Any] = {
    "uuid": None,
    "provision_state": "enroll",
    "target_provision_state": None,
    "last_error": None,
    "inspection_finished_at": None,
    "inspect_interface": "agent",
    "instance_info": {},
}
"""What is known of a node that is yet to be created."""
_NO_DRIVES = (400, 404)
"""Statuses of the API where a driver knows no virtual drives."""
Tell = Callable[[str], None]


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
    reminded: float = 0.0
    error: str | None = None
    done: bool = False

    def begin(self, node: dict[str, Any]) -> None:
        """Note where the node is when it is seen first."""
        self.uuid, self.before = node["uuid"], node["provision_state"]
        self.state = self.before

    def fail(self, cause: str, action: str) -> None:
        """End in an error that says what the node was on its way to."""
        self.end(OperationError(f"bring {self.goal.node} to {self.goal.state}", cause, action))

    def end(self, error: Exception | None = None) -> None:
        """End, well or with an error."""
        self.done, self.error = True, str(error) if error else None

    def result(self) -> dict[str, Any]:
        """Return the outcome in the form that the module documents."""
        return {
            "changed": bool(self.sent),
            "failed": self.error is not None,
            "msg": self.error or self._where(),
            "uuid": self.uuid,
            "provision_state": self.state,
            "verbs": self.sent,
            "diff": {"before": f"{self.before}\n", "after": "\n".join([self.before, *self._stations(), ""])},
        }

    def _where(self) -> str:
        if not self.sent:
            return f"{self.goal.node} is {self.state}."
        return f"{self.goal.node}: from {self.before} to {self.state} by {', '.join(self.sent)}."

    def _stations(self) -> list[str]:
        ends = [ENDS[verb] for verb in self.sent[:-1]] + [self.state]
        return [f"{verb}: {end}" for verb, end in zip(self.sent, ends, strict=False)]


def foresee(client: ApiClient, goals: list[Goal]) -> dict[str, dict[str, Any]]:
    """Return what converge would do to each node, without asking for any change."""
    nodes = _read(client)
    journeys = [Journey(goal) for goal in goals]
    for journey in journeys:
        node = nodes.get(journey.goal.node, NEW)
        journey.begin(node)
        try:
            journey.sent = predict(_with_media(client, node, journey.goal), journey.goal)
            journey.state = journey.goal.state
        except (OperationError, ApiError) as error:
            journey.end(error)
    return {journey.goal.node: journey.result() for journey in journeys}


def converge(client: ApiClient, goals: list[Goal], *, timeout: float, tell: Tell) -> dict[str, dict[str, Any]]:
    """Send each node the verbs that lead to its goal, as far as they go; return the results by node.

    A node that fails doesn't hold up the others, and a daemon that restarts is waited for. timeout is in seconds for
    the whole; nodes that are still on their way then are reported as failed, and go on in the daemon.

    Raises Unreachable where the API doesn't answer the first question, or is silent for longer than PATIENCE.
    """
    journeys = [Journey(goal) for goal in goals]
    end, seen = time.monotonic() + timeout, float("-inf")
    while True:
        try:
            nodes = _read(client)
            seen = time.monotonic()
            for journey in journeys:
                if not journey.done:
                    _advance(client, journey, nodes.get(journey.goal.node), tell)
        except Unreachable:
            if time.monotonic() - seen > PATIENCE:
                raise
        if time.monotonic() > end:
            _give_up(journeys, timeout)
        if all(journey.done for journey in journeys):
            return {journey.goal.node: journey.result() for journey in journeys}
        time.sleep(INTERVAL)


def _read(client: ApiClient) -> dict[str, dict[str, Any]]:
    """Return all nodes by name and by UUID."""
    nodes: dict[str, dict[str, Any]] = {}
    for node in client.items("/nodes", "nodes", fields=FIELDS):
        nodes[node["uuid"]] = nodes[node["name"]] = node
    return nodes


def _with_media(client: ApiClient, node: dict[str, Any], goal: Goal) -> dict[str, Any]:
    """Return the node, with the URLs of what is in its virtual drives where it may be taken over as it is."""
    if goal.running != "adopt" or not runs_unknown(node, goal):
        return node
    try:
        drives = client.get(f"/nodes/{node['uuid']}/vmedia")
    except ApiError as error:
        if error.status not in _NO_DRIVES:
            raise
        drives = []
    return {**node, "media": [drive["image"] or "an image" for drive in drives if drive["inserted"]]}


def _advance(client: ApiClient, journey: Journey, node: dict[str, Any] | None, tell: Tell) -> None:
    try:
        if node is None:
            raise OperationError(
                f"find {journey.goal.node}", "The API has no such node.", "Declare it with the module 'node' first."
            )
        _observe(journey, node, tell)
        if is_busy(node):
            return
        if journey.sent and has_failed(node):
            journey.fail(
                node["last_error"] or f"It ended in the state {node['provision_state']}.",
                f"When the cause is removed, run again: it goes on from {node['provision_state']}.",
            )
        else:
            _send(client, journey, node)
    except Unreachable:
        raise  # the next look shows whether the request arrived
    except (OperationError, ApiError) as error:
        journey.end(error)
    if journey.error:
        tell(f"{journey.goal.node}: failed: {plain(journey.error)}")


def _send(client: ApiClient, journey: Journey, node: dict[str, Any]) -> None:
    verb = next_verb(_with_media(client, node, journey.goal), journey.goal)
    if verb is None:
        journey.end()
        return
    if verb in journey.sent:
        journey.fail(
            f"The verb '{verb}' was sent already and led back to {node['provision_state']}.",
            "Look at the node's history for what happened in between.",
        )
        return
    path = f"/nodes/{node['uuid']}"
    body: dict[str, Any] = {"target": verb}
    if verb in DEPLOYED:
        client.patch(path, [{"op": "add", "path": "/instance_info", "value": journey.goal.instance_info}])
        if journey.goal.config_drive is not None and verb != "adopt":
            body["configdrive"] = journey.goal.config_drive
    client.put(f"{path}/states/provision", body)
    journey.sent.append(verb)


def _observe(journey: Journey, node: dict[str, Any], tell: Tell) -> None:
    if journey.uuid is None:
        journey.begin(node)
    journey.state = node["provision_state"]
    text, now = progress(node), time.monotonic()
    if text != journey.told:
        spent = f" (after {now - journey.since:.0f} s)" if journey.told else ""
        journey.told, journey.since, journey.reminded = text, now, now
        tell(f"{journey.goal.node}: {plain(text)}{spent}")
    elif now - journey.reminded > REMINDER:
        journey.reminded = now
        tell(f"{journey.goal.node}: still {plain(text)} (for {now - journey.since:.0f} s)")


def progress(node: dict[str, Any]) -> str:
    """Return the node's state and, while an operation runs, its step; of our own daemon also how far in the list."""
    operation = (node.get("driver_internal_info") or {}).get("operation") or {}
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


def _give_up(journeys: list[Journey], timeout: float) -> None:
    for journey in journeys:
        if not journey.done:
            journey.fail(
                f"It was still {journey.told} after {timeout:.0f} s.",
                "The daemon goes on with it: run again to wait on, or raise the timeout.",
            )
