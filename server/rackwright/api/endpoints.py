# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The endpoints of a plain resource, out of its description: lists, creation, showing, changing and removing one.

A resource that differs somewhere says so in its description, or overrides the method; ``join`` adds all of them to a
router, in the order in which paths must be tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import Parameter, Signature
from typing import Any, Literal, NamedTuple, Protocol

from fastapi import APIRouter, Response

from rackwright.api.collections import CHOICE, FIELDS, PAGING, created, listing, show
from rackwright.api.deps import Args, Call, CallDep, checked_ident, checked_uuid, reply
from rackwright.api.documents import Document, creates, lists, patches, shows, takes
from rackwright.api.fields import Resource, Row
from rackwright.api.patch import changes
from rackwright.api.versions import since
from rackwright.services.context import Context


class Service(Protocol):
    """What the module of a resource's service offers."""

    @property
    def listed(self) -> Callable[..., Sequence[Row]]:
        """Return the function of lists: it takes columns, context and page, and filters where there are any."""

    def get(self, ident: str, /, *, context: Context, lock: bool = ...) -> Any:
        """Return one row."""

    def create(self, values: Mapping[str, Any], /, *, context: Context) -> Any:
        """Make a row and return it."""

    def update(self, found: Any, values: Mapping[str, Any], /, *, context: Context) -> None:
        """Change a row."""

    def delete(self, ident: str, /, *, context: Context) -> None:
        """Remove a row."""


def dumped(found: Any, *, context: Context) -> Row:
    """Return all columns of a row."""
    del context
    row: Row = found.model_dump()
    return row


class _Route(NamedTuple):
    method: str
    path: str
    endpoint: Callable[..., Response]
    summary: str
    description: str
    document: Document


_SUCCESS = {"POST": 201, "DELETE": 204}
_CHECKS = {"ident": checked_ident, "uuid": checked_uuid}


@dataclass(frozen=True, kw_only=True)
class Endpoints:
    """One resource: its fields, its service, and how clients name it."""

    resource: Resource
    service: Service
    filters: Args = field(default_factory=dict)
    ident: Literal["ident", "uuid"] = "ident"
    """What one of them is found by; ``ident`` is a UUID or a name."""
    place: str = ""
    """The path of the collection below ``/v1``; its name when not given."""
    many: str = ""
    """The plural of its name; with an s at its end when not given."""
    first: int = 1
    """The version that brought it; writing is answered with 405 before it."""
    in_detail: bool = False
    """There is a list under ``/detail``."""
    row: Callable[..., Row] = dumped

    def page(self, call: Call, *, detail: bool | None = None) -> Response:
        """Return one page of them."""
        wanted = listing(call, self.resource, self.filters, detail=detail)
        more = {"filters": wanted.filters} if self.filters else {}
        columns = ("uuid", *wanted.columns)
        return wanted.answer(self.service.listed(columns, context=call.context, page=wanted.page, **more))

    def read(self, call: Call) -> dict[str, Any]:
        """Return the values of a new one."""
        return self.resource.read(call.json(), call.minor)

    def shown(self, found: Any, call: Call) -> Row:
        """Return what clients may see of one."""
        return self.row(found, context=call.context)

    def operations(self, found: Any, call: Call) -> Any:
        """Return the JSON patch that a client sends for one."""
        del found
        return call.json()

    def index(self, call: CallDep) -> Response:
        """Answer a list."""
        return self.page(call)

    def detail(self, call: CallDep) -> Response:
        """Answer a list with all fields."""
        return self.page(call, detail=True)

    def create(self, call: CallDep) -> Response:
        """Make one."""
        call.query({})
        made = self.service.create(self.read(call), context=call.context)
        return created(call, self.resource, self.shown(made, call), path=self.place)

    def one(self, call: Call, ident: str) -> Response:
        """Show one."""
        return show(call, self.resource, self.shown(self._found(call, ident), call))

    def patch(self, call: Call, ident: str) -> Response:
        """Change one with a JSON patch."""
        call.query({})
        found = self._found(call, ident, lock=True)
        row = self.row(found, context=call.context)
        values = changes(self.resource, row, self.operations(found, call), call.minor)
        self.service.update(found, values, context=call.context)
        return show(call, self.resource, self.shown(found, call), {})

    def delete(self, call: Call, ident: str) -> Response:
        """Remove one."""
        call.query({})
        self.service.delete(_CHECKS[self.ident](ident), context=call.context)
        return reply(status=204)

    def _found(self, call: Call, ident: str, *, lock: bool = False) -> Any:
        return self.service.get(_CHECKS[self.ident](ident), context=call.context, lock=lock)

    def join(self, router: APIRouter, **descriptions: str) -> None:
        """Add all of them to a router; ``descriptions`` replace ours by the name of the method."""
        for each in self._routes():
            name = each.endpoint.__name__
            refusal = {} if each.method == "GET" else {"refusal": 405}
            router.add_api_route(
                each.path,
                each.endpoint,
                methods=[each.method],
                summary=each.summary,
                description=descriptions.get(name, each.description),
                status_code=_SUCCESS.get(each.method, 200),
                dependencies=[since(self.first, **refusal)] if self.first > 1 else None,
                openapi_extra=each.document,
            )

    def _routes(self) -> Iterator[_Route]:
        resource, only = self.resource, self.resource.name
        one, many = f"{'an' if only[0] in 'aeiou' else 'a'} {only}", self.many or f"{only}s"
        path, whole, page = f"/v1/{self.place or resource.collection}", "with all fields", f"Return one page of {many}"
        chosen = takes({**self.filters, **PAGING, **CHOICE, **self.filters})  # a filter may be a choice of its own
        full = takes(self.filters, PAGING)
        yield _Route("GET", path, self.index, f"List {many}", f"{page}.", chosen | lists(resource))
        if self.in_detail:
            place, summary = f"{path}/detail", f"List {many} {whole}"
            yield _Route("GET", place, self.detail, summary, f"{page} {whole}.", full | lists(resource))
        yield _Route("POST", path, self.create, f"Create {one}", f"Create {one}.", creates(resource))
        path, named = f"{path}/{{{self.ident}}}", partial(_named, self.ident)
        shown, change = takes(FIELDS) | shows(resource), f"Change fields of {one} with a JSON patch."
        yield _Route("GET", path, named(self.one), f"Show {one}", f"Return one {only}.", shown)
        yield _Route("PATCH", path, named(self.patch), f"Change {one}", change, patches(resource))
        yield _Route("DELETE", path, named(self.delete), f"Remove {one}", f"Remove {one}.", {})


def _named(name: str, method: Callable[[Call, str], Response]) -> Callable[..., Response]:
    """Return an endpoint that takes what its path calls ``name``; FastAPI reads the signature for the document."""

    def endpoint(call: Call, **path: str) -> Response:
        return method(call, path[name])

    kind = Parameter.POSITIONAL_OR_KEYWORD
    taken = (Parameter("call", kind, annotation=CallDep), Parameter(name, kind, annotation=str))
    endpoint.__name__ = method.__name__
    setattr(endpoint, "__signature__", Signature(taken))  # noqa: B010  # functions have the attribute, mypy does not know
    return endpoint
