# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What every endpoint gets: the call, with its version, arguments, body, session and the parts of the daemon."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any

import orjson
from fastapi import Depends, Request, Response
from sqlalchemy import Engine
from sqlmodel import Session

from rackwright.api.admission import caller_of
from rackwright.api.bodies import parsed
from rackwright.api.errors import BadIdent
from rackwright.api.fields import Site
from rackwright.api.gate import BODY_KEY
from rackwright.api.kinds import IDENT, UUID_TEXT, Kind
from rackwright.api.versions import minor
from rackwright.catalog.offer import Catalog
from rackwright.domain.caller import Caller
from rackwright.domain.errors import Invalid, MissingParameter, NotAcceptableVersion
from rackwright.services.context import Context
from rackwright.services.policy import Policy
from rackwright.settings import Settings
from rackwright.store.sealing import Sealer
from rackwright.store.session import session_of

_READING = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of the daemon that answer requests; made once by ``app.create_app``."""

    settings: Settings
    engine: Engine
    catalog: Catalog
    sealer: Sealer
    policy: Policy | None = None
    """The rules in force; None: everybody may do everything."""


@dataclass(frozen=True, slots=True)
class Arg:
    """One argument of a query or of an argument-style body."""

    kind: Kind
    since: int = 1
    required: bool = False
    newer_is_wrong: bool = False
    """Versions before ``since`` get 400 instead of 406."""


Args = Mapping[str, Arg]


@dataclass(frozen=True)
class Call:
    """One request, ready to be answered."""

    request: Request
    parts: Parts
    session: Session
    minor: int
    caller: Caller

    @cached_property
    def context(self) -> Context:
        """Return what services need."""
        parts = self.parts
        return Context(
            session=self.session,
            engine=parts.engine,
            settings=parts.settings,
            catalog=parts.catalog,
            sealer=parts.sealer,
            minor=self.minor,
            caller=self.caller,
            policy=parts.policy,
        )

    @cached_property
    def url(self) -> str:
        """Return the public URL of the service, without a slash at its end."""
        return self.parts.settings.public_endpoint or str(self.request.base_url).rstrip("/")

    @cached_property
    def site(self) -> Site:
        """Return what fields need to show themselves."""
        return Site(minor=self.minor, url=self.url, mask=self.parts.sealer.mask)

    def json(self, *, needed: bool = True) -> Any:
        """Return the parsed body, None when there is none; raise Invalid when it is no JSON.

        A body of another Content-Type counts as none where none is ``needed``; else it is refused too.
        """
        if needed and self._other_type:
            raise Invalid(f"The body cannot be read.{self._other_type}")
        body = self.request.scope.get(BODY_KEY, b"")
        return parsed(body) if body and not self._other_type else None

    @cached_property
    def _other_type(self) -> str:
        """Return what to tell about a body that says of itself that it is no JSON; empty for others."""
        given = self.request.headers.get("content-type", "json")
        if not self.request.scope.get(BODY_KEY) or "json" in given.lower():
            return ""
        return f" Its Content-Type is {given}; send JSON with the header Content-Type: application/json."

    def query(self, args: Args) -> dict[str, Any]:
        """Return the arguments of the query; raise Invalid, MissingParameter or NotAcceptableVersion."""
        given: dict[str, Any] = {}
        for name, value in self.request.query_params.multi_items():
            if name in given and name in args and not args[name].kind.repeated:
                raise Invalid(f"Argument {name} is given twice; give it once.")
            given[name] = f"{given[name]},{value}" if name in given else value
        return self._read(given, args)

    def arguments(self, args: Args) -> dict[str, Any]:
        """Return the arguments of an argument-style body; raise as ``query`` does. Null counts as not given."""
        body = self.json(needed=False)
        if body is not None and not isinstance(body, dict):
            raise Invalid("The body must be a JSON object with the arguments.")
        try:
            return self._read(body or {}, args)
        except MissingParameter as error:
            raise MissingParameter(f"{error.message}{self._other_type}") from error

    def _read(self, given: Mapping[str, Any], args: Args) -> dict[str, Any]:
        if unknown := [name for name in given if name not in args]:
            known = ", ".join(sorted(args)) or "none"
            raise Invalid(f"Unexpected arguments: {', '.join(unknown)}; known arguments: {known}.")
        for name, arg in args.items():
            if arg.required and given.get(name) is None:
                raise MissingParameter(f"Missing mandatory parameter: {name}.")
            if name in given and self.minor < arg.since:
                error = NotAcceptableVersion(what=f"Argument {name}", since=arg.since, minor=self.minor)
                raise Invalid(error.message) if arg.newer_is_wrong else error
        return {name: args[name].kind.read(value, name) for name, value in given.items()}


def call(request: Request) -> Iterator[Call]:
    """Yield the call; its session writes unless the method only reads, and is closed before the answer is sent."""
    parts: Parts = request.app.state.parts
    with session_of(parts.engine, write=request.method not in _READING) as session:
        yield Call(request=request, parts=parts, session=session, minor=minor(request), caller=caller_of(request))


CallDep = Annotated[Call, Depends(call)]


def reply(content: Any = None, status: int = 200, *, location: str | None = None) -> Response:
    """Return an answer in JSON; without content it has neither a body nor a type."""
    headers = {} if location is None else {"Location": location}
    if content is None:
        return Response(status_code=status, headers=headers)
    return Response(_written(content), status, headers, media_type="application/json")


def _written(content: Any) -> bytes:
    try:
        return orjson.dumps(content)
    except TypeError:  # half of a surrogate pair or a number of more than 64 bits: a machine told it, clients cannot
        return json.dumps(content, default=datetime.isoformat).encode()


def checked_ident(ident: str) -> str:
    """Return a UUID (in its normal spelling) or a name from a path; raise BadIdent."""
    try:
        return str(IDENT.read(ident, "ident"))
    except Invalid as error:
        raise BadIdent(ident=ident) from error


def checked_uuid(ident: str) -> str:
    """Return a UUID (in its normal spelling) from a path; raise BadIdent."""
    try:
        return str(UUID_TEXT.read(ident, "uuid"))
    except Invalid as error:
        raise BadIdent(f"{ident} is not a UUID, and this resource is known by its UUID only.") from error
