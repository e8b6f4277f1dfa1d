# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which verbs lead a node to the state that was declared for it: pure functions over what the API says of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError

ENDS = {
    "manage": "manageable",
    "inspect": "manageable",
    "provide": "available",
    "active": "active",
    "rebuild": "active",
    "deleted": "available",
    "adopt": "active",
}
WAYS: dict[str, dict[str, str]] = {
    "manageable": {
        "enroll": "manage",
        "available": "manage",
        "inspect failed": "manage",
        "clean failed": "manage",
        "adopt failed": "manage",
        "deploy failed": "deleted",
        "error": "deleted",
        "active": "deleted",
    },
    "available": {
        "enroll": "manage",
        "manageable": "provide",
        "inspect failed": "manage",
        "clean failed": "manage",
        "adopt failed": "manage",
        "deploy failed": "deleted",
        "error": "deleted",
        "active": "deleted",
    },
    "active": {
        "enroll": "manage",
        "manageable": "provide",
        "available": "active",
        "inspect failed": "manage",
        "clean failed": "manage",
        "adopt failed": "manage",
        "deploy failed": "active",
        "error": "rebuild",
    },
}
ERASING = {"deleted": "allow_undeploy", "rebuild": "allow_rebuild"}
DEPLOYED = ("active", "rebuild", "adopt")
"""The verbs that take what is declared as deployed."""

RUNNING = ("hold", "adopt", "erase")
"""What may be done with a machine that is on while the daemon does not know what it runs."""


@dataclass(frozen=True)
class Goal:
    """The state declared for one node: manageable, available or active, with what it is deployed with."""

    node: str
    state: str
    instance_info: dict[str, Any] = field(default_factory=dict)
    config_drive: Any = None
    inspect: bool = True
    allow_undeploy: bool = False
    allow_rebuild: bool = False
    running: str = "hold"


def is_busy(node: dict[str, Any]) -> bool:
    """Return whether an operation is on its way: such a node is waited for, not judged."""
    state = node["provision_state"]
    return bool(node["target_provision_state"]) and not state.endswith("failed") and state != "error"


def has_failed(node: dict[str, Any]) -> bool:
    """Return whether the last operation ended in a failure, back in enroll included."""
    state = node["provision_state"]
    return state.endswith("failed") or state == "error" or (state == "enroll" and bool(node["last_error"]))


def next_verb(node: dict[str, Any], goal: Goal) -> str | None:
    """Return the verb that brings a resting node nearer to its goal, None when it is there.

    Raises OperationError where the way would erase a machine in use and the goal doesn't allow it, or where there is
    no way.
    """
    state = node["provision_state"]
    if runs_unknown(node, goal):
        return _take_over(node, goal)
    if state == "manageable" and goal.inspect and must_inspect(node):
        return "inspect"
    if state == goal.state:
        return _rebuild(node, goal)
    verb = WAYS[goal.state].get(state)
    if verb is None:
        raise OperationError(
            f"bring {goal.node} to {goal.state}",
            f"There is no way to it from the state {state!r}.",
            "End that state by hand first, for example with 'baremetal node abort' or 'baremetal node unrescue'.",
        )
    return _allowed(verb, state, goal)


def must_inspect(node: dict[str, Any]) -> bool:
    """Return whether a node that can be inspected never was."""
    return not node["inspection_finished_at"] and not str(node["inspect_interface"] or "no-").startswith("no-")


def runs_unknown(node: dict[str, Any], goal: Goal) -> bool:
    """Return whether the way leads through a boot of a machine that is on, and of which the daemon knows no more.

    So it is with machines that were declared anew after the daemon had lost its database.
    """
    is_new = node["provision_state"] == "manageable" and not node["inspection_finished_at"]
    boots = goal.state != "manageable" or (goal.inspect and must_inspect(node))
    return is_new and boots and goal.running != "erase" and node.get("power_state") == "power on"


def predict(node: dict[str, Any], goal: Goal) -> list[str]:
    """Return the verbs that would be sent, in order, if each of them succeeded."""
    verbs: list[str] = []
    ahead = dict(node)
    while (verb := next_verb(ahead, goal)) is not None:
        verbs.append(verb)
        ahead["provision_state"], ahead["target_provision_state"] = ENDS[verb], None
        if verb == "inspect":
            ahead["inspection_finished_at"] = "then"
        if verb in DEPLOYED:
            ahead["instance_info"] = goal.instance_info
    return verbs


def _take_over(node: dict[str, Any], goal: Goal) -> str:
    """Return the verb that takes a running machine over as it is; raise OperationError where that would be a guess."""
    media = node.get("media")
    if goal.state == "active" and goal.running == "adopt" and not media:
        return "adopt"
    drive = f", with {media[0]} in its virtual drive" if media else ""
    raise OperationError(
        f"bring {goal.node} to {goal.state}",
        f"The machine is on{drive}, and the daemon does not know what it runs, so it is left alone.",
        "If it runs what is declared as active, set running to adopt for this node; if what it runs may be lost, "
        "switch it off, or set running to erase.",
    )


def _rebuild(node: dict[str, Any], goal: Goal) -> str | None:
    current = node["instance_info"]
    same = all(current.get(key) in (value, "******") for key, value in goal.instance_info.items())
    if goal.state != "active" or same:
        return None
    return _allowed("rebuild", "active", goal)


def _allowed(verb: str, state: str, goal: Goal) -> str:
    option = ERASING.get(verb)
    if option is None or state in ("deploy failed", "error") or getattr(goal, option):
        return verb
    raise OperationError(
        f"bring {goal.node} from {state} to {goal.state}",
        f"The verb '{verb}' would erase a machine in use, and the declaration doesn't allow it.",
        f"If the data of {goal.node} may be lost, set {option} for this node and run again.",
    )
