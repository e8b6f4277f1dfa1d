# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules that talk to the API answer: one function a module, used by the module and by its action plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._client import (
    API_OPTIONS,
    ApiClient,
    ApiError,
    segment,
)
from ansible_collections.rackwright.metal.plugins.module_utils._converge import Tell, converge, foresee
from ansible_collections.rackwright.metal.plugins.module_utils._declared import (
    NODE_OPTIONS,
    PORT_OPTIONS,
    ensure_node,
    ensure_port,
)
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.plugins.module_utils._goal import RUNNING, Goal
from ansible_collections.rackwright.metal.plugins.module_utils._timeline import rows, table

GOAL_OPTIONS: dict[str, dict[str, Any]] = {
    "node": {"type": "str", "required": True},
    "state": {"type": "str", "required": True, "choices": ["manageable", "available", "active"]},
    "instance_info": {"type": "dict", "default": {}},
    "config_drive": {"type": "raw"},
    "inspect": {"type": "bool", "default": True},
    "allow_undeploy": {"type": "bool", "default": False},
    "allow_rebuild": {"type": "bool", "default": False},
    "running": {"type": "str", "choices": list(RUNNING), "default": RUNNING[0]},
}
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "node": {**API_OPTIONS, **NODE_OPTIONS},
    "node_info": {**API_OPTIONS, "name": {"type": "str"}, "fields": {"type": "list", "elements": "str"}},
    "port": {**API_OPTIONS, **PORT_OPTIONS},
    "node_state": {
        **API_OPTIONS,
        "nodes": {"type": "list", "elements": "dict", "required": True, "options": GOAL_OPTIONS},
        "timeout": {"type": "int", "default": 7200},
    },
    "operation_info": {
        **API_OPTIONS,
        "node": {"type": "str", "required": True},
        "moments": {"type": "list", "elements": "dict", "default": []},
    },
}
Answer = Callable[[dict[str, Any], bool, Tell], dict[str, Any]]


def node(params: dict[str, Any], check: bool, _tell: Tell) -> dict[str, Any]:
    """Answer for the module node."""
    change = ensure_node(ApiClient(params), params, check=check)
    declared = [*NODE_OPTIONS, *(f"{kind}_interface" for kind in params["interfaces"] or ())]
    return {"changed": change.changed, "node": change.after, "diff": change.diff(params["name"], declared)}


def port(params: dict[str, Any], check: bool, _tell: Tell) -> dict[str, Any]:
    """Answer for the module port."""
    change = ensure_port(ApiClient(params), params, check=check)
    declared = [*PORT_OPTIONS, "node_uuid"]
    return {"changed": change.changed, "port": change.after, "diff": change.diff(params["address"], declared)}


def node_info(params: dict[str, Any], _check: bool, _tell: Tell) -> dict[str, Any]:
    """Answer for the module node_info."""
    client = ApiClient(params)
    if params["name"] is not None:
        found = client.find(f"/nodes/{segment(params['name'])}")
        return {"changed": False, "nodes": [found] if found else []}
    query = {"fields": ",".join(params["fields"])} if params["fields"] else {"detail": "true"}
    return {"changed": False, "nodes": list(client.items("/nodes", "nodes", **query))}


def node_state(params: dict[str, Any], check: bool, tell: Tell) -> dict[str, Any]:
    """Answer for the module node_state."""
    client = ApiClient(params)
    goals = [Goal(**goal) for goal in params["nodes"]]
    results = foresee(client, goals) if check else converge(client, goals, timeout=params["timeout"], tell=tell)
    return {
        "changed": any(result["changed"] for result in results.values()),
        "results_by_node": results,
        "diff": [
            {"before_header": name, "after_header": name, **result["diff"]}
            for name, result in results.items()
            if result["changed"]
        ],
    }


def operation_info(params: dict[str, Any], _check: bool, _tell: Tell) -> dict[str, Any]:
    """Answer for the module operation_info."""
    operations = ApiClient(params).operations(params["node"])
    return {"changed": False, "operations": operations, "table": table(rows(operations, params["moments"]))}


ANSWERS: dict[str, Answer] = {
    "node": node,
    "port": port,
    "node_info": node_info,
    "node_state": node_state,
    "operation_info": operation_info,
}


def attempt(name: str, params: dict[str, Any], *, check: bool, tell: Tell) -> dict[str, Any]:
    """Return the answer of a module by name; a refusal or a failure becomes `failed` with its text."""
    try:
        return ANSWERS[name](params, check, tell)
    except OperationError as error:
        return {"failed": True, "msg": str(error)}
    except ApiError as error:
        return {"failed": True, "msg": f"The API refused: {error}", "status": error.status}
