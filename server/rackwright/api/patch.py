# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""JSON patches (RFC 6902) of resources, under the rules of their field tables (contract: api.yaml, patch)."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

import jsonpatch
import jsonpointer

from rackwright.api.fields import Field, Resource, Row
from rackwright.domain.errors import Invalid, InvalidPatch, NotAcceptableVersion
from rackwright.domain.wording import shown
from rackwright.store.sealing import SEALED, is_secret

_CHANGING = ("add", "replace", "remove", "move", "copy")
_WITH_VALUE = ("add", "replace", "test")
WITH_SOURCE = ("move", "copy")
"""The operations that read one value to write it elsewhere."""
_NO_WAY = "there is nothing at this path, or no place for a new value; read the resource and correct the path"
_MOST_OPERATIONS, _MOST_COPIED, _DEEPEST = 1000, 2**20, 25


def changes(resource: Resource, row: Row, operations: Any, minor: int) -> dict[str, Any]:
    """Return the fields that a patch changes with their new values; all of it fits, or an error is raised.

    Raise Invalid, InvalidPatch or NotAcceptableVersion.
    """
    if not isinstance(operations, list):
        raise Invalid("A patch is a JSON list of objects with op and path.")
    if len(operations) > _MOST_OPERATIONS:
        raise Invalid(f"A patch has {_MOST_OPERATIONS} operations at most; send several patches.")
    before = {each.name: row[each.name] for each in resource.visible(minor) if each.compute is None}
    after, allowance = copy.deepcopy(before), _Allowance(_MOST_COPIED)
    for operation in operations:
        after = _applied(resource, after, operation, minor, allowance=allowance)
    touched = {name for name, value in after.items() if _written(value) != _written(before[name])}
    return {name: _read(resource.by_name[name], after[name], minor) for name in after if name in touched}


def _written(value: Any) -> str:
    """Return a value as text, in which a number is no boolean."""
    return json.dumps(value, sort_keys=True, default=str)


def named(operations: Any) -> dict[str, Any]:
    """Return the fields that a patch names, with the values it gives to whole ones; malformed operations are left out.

    It tells whom a patch concerns before anything of it is checked.
    """
    found: dict[str, Any] = {}
    for operation in operations if isinstance(operations, list) else ():
        if isinstance(operation, dict) and isinstance(path := operation.get("path"), str):
            name, below, _ = path.removeprefix("/").partition("/")
            found[name] = None if below else operation.get("value")
    return found


def _read(field: Field, value: Any, minor: int) -> Any:
    if value is None and minor < field.unset_since:
        raise NotAcceptableVersion(what=f"Unsetting {field.name}", since=field.unset_since, minor=minor)
    return field.read(value, minor)


@dataclass(slots=True)
class _Allowance:
    """How much a patch may still copy: a few operations could double a document again and again."""

    characters: int

    def spend(self, path: str, value: Any) -> None:
        self.characters -= len(json.dumps(value))
        if self.characters < 0:
            raise InvalidPatch(path=path, reason="the patch copies more than 1 MiB")


def _applied(
    resource: Resource, document: dict[str, Any], operation: Any, minor: int, *, allowance: _Allowance
) -> dict[str, Any]:
    field = _checked(resource, operation, minor)
    path = operation["path"]
    if operation["op"] == "test":
        _check_equal(document, operation)
        return document
    _check_growth(document, operation, allowance)
    if operation["op"] == "remove" and path == f"/{field.name}":
        if field.required:
            raise InvalidPatch(path=path, reason="the field is mandatory")
        operation = {"op": "replace", "path": path, "value": copy.deepcopy(field.default)}
    try:
        patched: dict[str, Any] = jsonpatch.apply_patch(document, [operation], in_place=True)
    except jsonpatch.JsonPointerException as error:
        raise InvalidPatch(path=path, reason=_NO_WAY) from error
    except (jsonpatch.JsonPatchException, TypeError, KeyError) as error:
        raise InvalidPatch(path=path, reason=str(error)) from error
    return patched


def _check_equal(document: dict[str, Any], operation: dict[str, Any]) -> None:
    wanted, found = operation["value"], _value_at(document, operation["path"])
    if _written(found) != _written(wanted):
        raise InvalidPatch(path=operation["path"], reason=f"its value is not {shown(wanted)} but {shown(found)}")


def _value_at(document: dict[str, Any], path: str) -> Any:
    try:
        found = jsonpointer.resolve_pointer(document, path)
    except jsonpointer.JsonPointerException as error:
        raise InvalidPatch(path=path, reason=_NO_WAY) from error
    if isinstance(found, jsonpointer.EndOfList):
        raise InvalidPatch(path=path, reason=_NO_WAY)
    return found


def _check_growth(document: dict[str, Any], operation: dict[str, Any], allowance: _Allowance) -> None:
    path, value = operation["path"], operation.get("value")
    if operation["op"] in WITH_SOURCE:
        value = _value_at(document, operation["from"])
        allowance.spend(path, value)
    if path.count("/") + _levels(value) > _DEEPEST:
        raise InvalidPatch(path=path, reason=f"what it makes is nested more deeply than {_DEEPEST} levels")


def _levels(value: Any) -> int:
    """Return how deeply a value is nested."""
    if isinstance(value, dict):
        return 1 + max(map(_levels, value.values()), default=0)
    return 1 + max(map(_levels, value), default=0) if isinstance(value, list) else 0


def _checked(resource: Resource, operation: Any, minor: int) -> Field:
    """Return the field that an operation is about, after every rule that does not need the document."""
    if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
        raise Invalid("Each item of a patch is an object with op and path.")
    op, path = operation.get("op"), operation["path"]
    if op not in (*_CHANGING, "test"):
        raise InvalidPatch(path=path, reason=f"the op {op!r} is none of {', '.join(_CHANGING)}, test")
    if op in _WITH_VALUE and "value" not in operation:
        raise InvalidPatch(path=path, reason=f"{op} needs a value")
    field = _field(resource, path, minor)
    if op in _CHANGING and not field.patch:
        raise InvalidPatch(path=path, reason="the field cannot be changed this way")
    if op == "test" and field.secret:
        raise InvalidPatch(path=path, reason="it may hold secrets, which a test could guess")
    if op in WITH_SOURCE:
        _check_source(resource, operation, minor)
    return field


def _check_source(resource: Resource, operation: dict[str, Any], minor: int) -> None:
    """Check where a move or copy takes its value from; secrets stay within their field, under a key of secrets."""
    path, source = operation["path"], operation.get("from")
    if not isinstance(source, str):
        raise InvalidPatch(path=path, reason=f"{operation['op']} needs a from")
    field = _field(resource, source, minor)
    if operation["op"] == "move" and (not field.patch or source == f"/{field.name}"):
        raise InvalidPatch(path=source, reason="the field cannot be moved")
    if field.secret and field is not _field(resource, path, minor):
        raise InvalidPatch(path=source, reason="it may hold secrets, which cannot be copied to another field")
    if field.secret and _names_secret(source) and not _names_secret(path):
        raise InvalidPatch(path=source, reason=f"it is a secret, which would be shown at {path}")


def _names_secret(path: str) -> bool:
    return any(map(is_secret, path.split("/")))


def _field(resource: Resource, path: str, minor: int) -> Field:
    if not path.startswith("/") or len(path) < 2:
        raise InvalidPatch(path=path or "''", reason="a path starts with / and the name of a field")
    if SEALED in path:
        raise InvalidPatch(path=path, reason=f"the key {SEALED} is reserved; secrets are sent in clear")
    name = path.split("/", 2)[1].replace("~1", "/").replace("~0", "~")
    found = resource.by_name.get(name)
    if found is None or found.compute is not None:
        raise InvalidPatch(path=path, reason=f"a {resource.name} has no field {name}")
    found.demand(minor)
    return found
