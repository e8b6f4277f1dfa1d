# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make nodes and ports of the API what was declared: read, compare, write only the difference."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._client import ApiClient, segment

MASK = "******"
MERGED = ("driver_info", "properties", "extra", "instance_info")
SECRET = re.compile(
    "pass|secret|token|private_key|encrypted_key|fernetkey|sslkey|snmp_.*_key|sys_pswd"
    "|pwd|credential|api_?key|ssh_?key|kg_key|community|authorization|cookie",
    re.IGNORECASE,
)
_PASSWORD_IN_URL = re.compile(r"(?<=://)([^/?#@:\s]*):[^/?#@\s]*@")
"""Keys whose text the API masks (contract, node-fields: masking), as far as a declaration may hold them."""


NODE_OPTIONS: dict[str, dict[str, Any]] = {
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "driver": {"type": "str"},
    "driver_info": {"type": "dict"},
    "properties": {"type": "dict"},
    "extra": {"type": "dict"},
    "network_data": {"type": "dict"},
    "resource_class": {"type": "str"},
    "conductor_group": {"type": "str"},
    "automated_clean": {"type": "bool"},
    "description": {"type": "str"},
    "owner": {"type": "str"},
    "interfaces": {"type": "dict"},
    "update_secrets": {"type": "str", "choices": ["always", "on_create"], "default": "on_create", "no_log": False},
}
PORT_OPTIONS: dict[str, dict[str, Any]] = {
    "address": {"type": "str", "required": True},
    "node": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "pxe_enabled": {"type": "bool"},
    "physical_network": {"type": "str"},
    "local_link_connection": {"type": "dict"},
    "extra": {"type": "dict"},
}


@dataclass(frozen=True)
class Change:
    """What a declaration changed, or in check mode would change: the object before and after, None where absent."""

    before: dict[str, Any] | None
    after: dict[str, Any] | None
    changed: bool = True

    def diff(self, name: str, declared: Collection[str]) -> dict[str, Any]:
        """Return what differs among the declared fields, under a name."""
        before, after = self.before or {}, self.after or {}
        fields = [field for field in declared if before.get(field) != after.get(field)]
        return {
            "before_header": name,
            "after_header": name,
            "before": {field: before[field] for field in fields if field in before},
            "after": {field: after[field] for field in fields if field in after},
        }


def ensure_node(client: ApiClient, params: dict[str, Any], *, check: bool) -> Change:
    """Create, change or remove a node so that it is as declared.

    Raises ApiError where the API refuses, with its own words.
    """
    path = f"/nodes/{segment(params['name'])}"
    before = client.find(path)
    if params["state"] == "absent":
        return _remove(client, path, before, check=check)
    about = ("name", "state", "interfaces", "update_secrets")
    wanted = {field: params[field] for field in NODE_OPTIONS if field not in about and params[field] is not None}
    wanted |= {f"{kind}_interface": name for kind, name in (params["interfaces"] or {}).items()}
    if before is None:
        body = {"name": params["name"], **wanted}
        return Change(None, _masked(body) if check else client.post("/nodes", body))
    operations = difference(before, wanted, update_secrets=params["update_secrets"] == "always")
    return _change(client, path, before, operations, check=check)


def ensure_port(client: ApiClient, params: dict[str, Any], *, check: bool) -> Change:
    """Create, change or remove a port, found by its MAC address, so that it is as declared."""
    found = client.get("/ports/detail", address=params["address"].lower())["ports"]
    before = found[0] if found else None
    path = f"/ports/{before['uuid']}" if before else ""
    if params["state"] == "absent":
        return _remove(client, path, before, check=check)
    wanted = {
        field: params[field] for field in PORT_OPTIONS if field not in ("node", "state") and params[field] is not None
    }
    wanted["address"] = wanted["address"].lower()
    node = client.find(f"/nodes/{segment(params['node'])}")
    wanted["node_uuid"] = node["uuid"] if node else params["node"]
    if before is None:
        return Change(None, wanted if check else client.post("/ports", wanted))
    return _change(client, path, before, difference(before, wanted), check=check)


def difference(before: dict[str, Any], wanted: dict[str, Any], *, update_secrets: bool = False) -> list[dict[str, Any]]:
    """Return the JSON patch that brings the wanted values in.

    Keys of the objects in MERGED that were not declared stay (inspection adds properties, for one). A secret that the
    API masks counts as equal, as it can't be compared, unless update_secrets.
    """
    operations = []
    for field, value in sorted(wanted.items()):
        pairs: list[tuple[tuple[str, ...], Any, Any]]
        if field in MERGED:
            pairs = [((field, key), before.get(field, {}).get(key), part) for key, part in sorted(value.items())]
        else:
            pairs = [((field,), before.get(field), value)]
        for keys, old, new in pairs:
            if old != new and (update_secrets or old not in (MASK, _masked(new))):
                operations.append({"op": "replace" if old is not None else "add", "path": _pointer(keys), "value": new})
    return operations


def _pointer(keys: tuple[str, ...]) -> str:
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)


def _masked(value: Any) -> Any:
    """Return the value with each secret, and each password in a URL, shown as the API shows it."""
    if isinstance(value, str):
        return _PASSWORD_IN_URL.sub(rf"\1:{MASK}@", value)
    if isinstance(value, list):
        return [_masked(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: MASK if isinstance(each, str) and SECRET.search(key) else _masked(each) for key, each in value.items()}


def _remove(client: ApiClient, path: str, before: dict[str, Any] | None, *, check: bool) -> Change:
    if before is not None and not check:
        client.delete(path)
    return Change(before, None, changed=before is not None)


def _change(
    client: ApiClient, path: str, before: dict[str, Any], operations: list[dict[str, Any]], *, check: bool
) -> Change:
    if not operations:
        return Change(before, before, changed=False)
    if not check:
        return Change(before, client.patch(path, operations))
    after = {**before}
    for operation in operations:
        field, *rest = (part.replace("~1", "/").replace("~0", "~") for part in operation["path"][1:].split("/"))
        after[field] = {**after[field], rest[0]: operation["value"]} if rest else operation["value"]
    return Change(before, _masked(after))
