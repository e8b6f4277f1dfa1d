# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What the OpenAPI document says of an endpoint, made from the tables that the endpoint itself uses.

Endpoints tell their arguments, bodies and answers with the functions here. What all of them have in common (the version
header, the answers to what goes wrong) is added to the whole document at its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from typing_extensions import override

from rackwright.api.deps import Args
from rackwright.api.fields import Field, Resource
from rackwright.api.versions import HEADER, MAXIMUM, Since

Document = dict[str, Any]

_ALWAYS = (400, 401, 403, 404, 406, 413, 503)
_WHEN_WRITING = (*_ALWAYS, 409)
_READING = ("get", "head", "options")
_WITHOUT_BODY = ("202", "204")
_TEXT = {"type": "string"}
_WRAPPED = {
    "type": "object",
    "properties": {"error_message": {**_TEXT, "description": "JSON as text: faultcode, faultstring, debuginfo."}},
    "required": ["error_message"],
}
_UNREAD = {
    "type": "object",
    "properties": {"faultcode": _TEXT, "faultstring": _TEXT},
    "required": ["faultcode", "faultstring"],
    "description": "Of a body that was refused before it was read: too large, or nested too deeply.",
}
_UNAUTHENTICATED = {"type": "object", "properties": {"error": {"type": "object"}}, "required": ["error"]}
_BODIES: Mapping[int, Document] = {
    400: {"anyOf": [_WRAPPED, _UNREAD]},
    401: {"anyOf": [_WRAPPED, _UNAUTHENTICATED]},
    413: _UNREAD,
}
_MEANINGS: Mapping[int, str] = {
    400: "Something in the request is wrong; the text says what.",
    401: "The request needs valid credentials.",
    403: "The caller, or the state of the node, does not allow this.",
    404: "There is no such thing, it is hidden from the caller, or the version does not know it.",
    405: "The version does not know this method.",
    406: "The version does not know a field or an argument, or is itself not offered.",
    409: "Right request, wrong moment: the node is locked or in another state, or a name is taken.",
    413: "The body is larger than the settings allow.",
    503: "No conductor serves this now, or a limit is reached; try again later.",
}
_VERSION: Document = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "schema": {**_TEXT, "default": "1.1", "pattern": r"^(1\.[0-9]{1,3}|latest)$"},
    "description": f"The version of the API, 1.1 to 1.{MAXIMUM}, or latest.",
}


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
        required = [name for name, arg in body.items() if arg.required]
        document |= _body(_object(fields, required), required=bool(required))
    return document


def creates(resource: Resource) -> Document:
    """Return the part of an endpoint that creates a resource and answers with it."""
    fields = {each.name: _described(each, each.kind.schema) for each in resource.fields if each.create}
    required = [each.name for each in resource.fields if each.required]
    return _body(_object(fields, required)) | answers(_shown(resource), 201)


def patches(resource: Resource) -> Document:
    """Return the part of an endpoint that changes a resource with a JSON patch and answers with it."""
    names = [each.name for each in resource.fields if each.patch]
    operation = {
        "op": {"enum": ["add", "replace", "remove", "move", "copy", "test"]},
        "path": {**_TEXT, "description": f"/ and one of: {', '.join(names)}; deeper levels with /"},
        "from": _TEXT,
        "value": {},
    }
    return _body({"type": "array", "items": _object(operation, ["op", "path"])}) | answers(_shown(resource))


def shows(resource: Resource) -> Document:
    """Return the part of an endpoint that answers with one resource."""
    return answers(_shown(resource))


def lists(resource: Resource) -> Document:
    """Return the part of an endpoint that answers with a page of resources."""
    page = {resource.collection: {"type": "array", "items": _shown(resource)}, "next": _TEXT}
    return answers({"type": "object", "properties": page, "required": [resource.collection]})


def answers(schema: Document, status: int = 200) -> Document:
    """Return the part of an endpoint that answers with JSON of this schema."""
    return {"responses": {str(status): _answer(HTTPStatus(status).phrase, schema)}}


def refuses(*statuses: int) -> Document:
    """Return the part of an endpoint that ends with further statuses when something goes wrong."""
    return {"responses": {str(status): _refusal(status) for status in statuses}}


class Documented(FastAPI):
    """An application whose OpenAPI document tells the whole of each endpoint."""

    def __init__(self, *, routers: Iterable[APIRouter], **facts: Any) -> None:
        """Take the routers of all endpoints, and what FastAPI takes."""
        super().__init__(**facts)
        self._document: Document | None = None
        self._routers = tuple(routers)
        for router in self._routers:
            self.include_router(router)

    @override
    def openapi(self) -> Document:
        """Return the document; it is made once."""
        if self._document is None:
            self._document = complete(super().openapi(), self._routers)
        return self._document


def complete(document: Document, routers: Iterable[APIRouter]) -> Document:
    """Return a document with what all endpoints have in common: the version, and the answers to what goes wrong."""
    named: dict[str, Document] = {}
    routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    known = {(route.path_format, method.lower()): route for route in routes for method in route.methods or ()}
    for path, method, operation in _operations(document):
        _complete(operation, known[path, method], method)
        for answer in operation["responses"].values():
            _hoist(answer, named)
    document["components"] = {
        "schemas": named,
        "parameters": {"version": _VERSION},
        "responses": {str(status): _refusal(status) for status in _MEANINGS},
    }
    return document


def _operations(document: Document) -> Iterator[tuple[str, str, Document]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


def _complete(operation: Document, route: APIRoute, method: str) -> None:
    responses: dict[str, Document] = operation["responses"]
    responses.pop("422", None)  # the framework's own way to refuse arguments, which no endpoint uses
    for empty in _WITHOUT_BODY:
        if responses.get(empty, {}).get("content") == {"application/json": {"schema": {}}}:
            del responses[empty]["content"]
    for status in _ALWAYS if method in _READING else _WHEN_WRITING:
        responses.setdefault(str(status), {"$ref": f"#/components/responses/{status}"})
    operation.setdefault("parameters", []).append({"$ref": "#/components/parameters/version"})
    for each in route.dependencies:
        if isinstance(each.dependency, Since):
            operation["description"] = f"{operation.get('description', '')} {_since(each.dependency.first)}".strip()
            refusal = each.dependency.refusal
            responses.setdefault(str(refusal), {"$ref": f"#/components/responses/{refusal}"})


def _hoist(value: Any, named: dict[str, Document]) -> None:
    """Replace each schema that has a title by a reference to the one of that name."""
    for key, each in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        if isinstance(each, dict) and "title" in each and "properties" in each:
            named.setdefault(each["title"], each)
            value[key] = {"$ref": f"#/components/schemas/{each['title']}"}
        else:
            _hoist(each, named)


def _shown(resource: Resource) -> Document:
    fields = {each.name: _described(each, each.kind.outcome) for each in resource.fields if not each.write_only}
    title = "".join(word.capitalize() for word in resource.name.replace("'s", "").split())
    return {"title": title, "type": "object", "properties": fields}


def _described(field: Field, schema: Mapping[str, Any]) -> Document:
    return {**schema, "description": f"{_since(field.since)} {field.about}".strip()}


def _since(minor: int) -> str:
    return f"Since 1.{minor}."


def _object(fields: Mapping[str, Any], required: list[str]) -> Document:
    return {"type": "object", "properties": dict(fields), "required": required, "additionalProperties": False}


def _body(schema: Document, *, required: bool = True) -> Document:
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}}


def _answer(description: str, schema: Document) -> Document:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _refusal(status: int) -> Document:
    return _answer(_MEANINGS[status], _BODIES.get(status, _WRAPPED))
