# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Lists: their arguments, their pages and the link to the next page (contract: api.yaml, collections)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Response

from rackwright.api.deps import Arg, Args, Call, reply
from rackwright.api.fields import Field, Resource, Row, columns
from rackwright.api.kinds import BOOLEAN, POSITIVE, TEXT, WORDS, choice
from rackwright.domain.errors import Invalid
from rackwright.store.paging import Page

PAGING: Args = {
    "marker": Arg(TEXT),
    "limit": Arg(POSITIVE),
    "sort_key": Arg(TEXT),
    "sort_dir": Arg(choice("asc", "desc")),
}
FIELDS: Args = {"fields": Arg(WORDS, 8)}
DETAIL: Args = {"detail": Arg(BOOLEAN, 43, newer_is_wrong=True)}
CHOICE: Args = {**FIELDS, **DETAIL}


@dataclass(frozen=True, slots=True)
class Listing:
    """What a client wants of a list: which fields, which page, and the filters by name."""

    call: Call
    resource: Resource
    fields: tuple[Field, ...]
    page: Page
    filters: Mapping[str, Any]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that the rows need."""
        return columns(self.fields)

    def answer(self, rows: Sequence[Row], *, key: str = "uuid", paged: bool = True) -> Response:
        """Return the rows as an answer, with the link to the next page when this one is full."""
        resource, site = self.resource, self.call.site
        content: dict[str, Any] = {resource.collection: resource.render_all(rows, self.fields, site)}
        if paged and rows and len(rows) == self.page.limit:
            content["next"] = self._next(rows[-1][key])
        return reply(content)

    def _next(self, marker: str) -> str:
        given = self.call.request.query_params
        filters = {name: ",".join(given.getlist(name)) for name in self.filters}
        query = {"sort_key": self.page.sort_key, "sort_dir": self.page.sort_dir}
        if "fields" in given:
            query["fields"] = ",".join(given.getlist("fields"))
        query |= filters | {"limit": str(self.page.limit), "marker": marker}
        return f"{self.call.url}{self.call.request.scope['path']}?{urlencode(query, safe=',', quote_via=quote)}"


def listing(call: Call, resource: Resource, args: Args, *, detail: bool | None = None, sort_key: str = "id") -> Listing:
    """Read the arguments of a list; ``detail`` is None where clients choose the fields themselves.

    Raise Invalid or NotAcceptableVersion.
    """
    given = call.query({**(CHOICE if detail is None else {}), **args, **PAGING})
    fields = _fields(resource, given, call.minor, detail=bool(detail))
    limit = call.parts.settings.max_limit
    page = Page(
        limit=min(given.pop("limit", limit), limit),
        marker=given.pop("marker", None),
        sort_key=resource.sort_key(given.pop("sort_key", sort_key), call.minor),
        sort_dir=given.pop("sort_dir", "asc"),
    )
    return Listing(call, resource, fields, page, given)


def _fields(resource: Resource, given: dict[str, Any], minor: int, *, detail: bool) -> tuple[Field, ...]:
    """Take ``fields`` and ``detail`` out of the arguments; return what they choose."""
    names, asked = given.pop("fields", None), given.pop("detail", None)
    if names and asked:
        raise Invalid("fields and detail exclude each other; give one of them.")
    return resource.chosen(names, minor) if names else resource.visible(minor, short=not (asked or detail))


def whole(call: Call, resource: Resource, args: Args, rows: Callable[[Mapping[str, Any]], Iterable[Row]]) -> Response:
    """Return a list that has no pages; ``rows`` takes the arguments other than ``fields`` and ``detail``."""
    given = call.query(args)
    fields = _fields(resource, given, call.minor, detail=False)
    return reply({resource.collection: resource.render_all(rows(given), fields, call.site)})


def created(call: Call, resource: Resource, row: Row, *, path: str | None = None) -> Response:
    """Return a new row as an answer that names its place; ``path`` is where the collection is, below /v1."""
    answer = show(call, resource, row, {})
    answer.status_code = 201
    answer.headers["Location"] = f"{call.url}/v1/{path or resource.collection}/{row['uuid']}"
    return answer


def show(call: Call, resource: Resource, row: Row, args: Args = FIELDS) -> Response:
    """Return one row as an answer, with the fields that the client chose."""
    names = call.query(args).get("fields")
    fields = resource.chosen(names, call.minor) if names else resource.visible(call.minor)
    return reply(resource.render(row, fields, call.site))
