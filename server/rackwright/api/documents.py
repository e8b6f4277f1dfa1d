# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What the OpenAPI document says of an endpoint, made from the tables that the endpoint itself uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rackwright.api.deps import Args
from rackwright.api.fields import Resource

Document = dict[str, Any]


def takes(*queries: Args, body: Args | None = None) -> Document:
    """Return the part of an endpoint with these arguments in its query and its body."""
    document: Document = {
        "parameters": [
            {
                "name": name,
                "in": "query",
                "required": arg.required,
                "schema": dict(arg.kind.schema),
                "description": _since(arg.since),
            }
            for args in queries
            for name, arg in args.items()
        ]
    }
    if body is not None:
        fields = {name: {**arg.kind.schema, "description": _since(arg.since)} for name, arg in body.items()}
        document |= _body(_object(fields, [name for name, arg in body.items() if arg.required]))
    return document


def creates(resource: Resource) -> Document:
    """Return the part of an endpoint that creates a resource."""
    fields = {
        each.name: {**each.kind.schema, "description": f"{_since(each.since)} {each.about}".strip()}
        for each in resource.fields
        if each.create
    }
    return _body(_object(fields, [each.name for each in resource.fields if each.required]))


def patches(resource: Resource) -> Document:
    """Return the part of an endpoint that changes a resource with a JSON patch."""
    names = [each.name for each in resource.fields if each.patch]
    operation = {
        "op": {"enum": ["add", "replace", "remove", "move", "copy", "test"]},
        "path": {"type": "string", "description": f"/ and one of: {', '.join(names)}; deeper levels with /"},
        "from": {"type": "string"},
        "value": {},
    }
    return _body({"type": "array", "items": _object(operation, ["op", "path"])})


def _since(minor: int) -> str:
    return f"Since 1.{minor}."


def _object(fields: Mapping[str, Any], required: list[str]) -> Document:
    return {"type": "object", "properties": dict(fields), "required": required, "additionalProperties": False}


def _body(schema: Document) -> Document:
    return {"requestBody": {"content": {"application/json": {"schema": schema}}}}
