# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Who is let in: requests are asked for credentials before anything of them is read (contract: api.yaml, auth)."""

from __future__ import annotations

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import Request, Response
from starlette.datastructures import Headers
from starlette.types import Scope

from rackwright.api.errors import json_answer, status_of
from rackwright.auth import Authenticator
from rackwright.domain.caller import ANYBODY, Caller
from rackwright.domain.errors import RackwrightError, Unauthenticated

PUBLIC = frozenset({"/", "/v1", "/v1/lookup", "/v1/heartbeat", "/v1/continue_inspection", "/healthz", "/readyz"})
"""The paths that are open to everybody, besides those of ``HEARTBEAT``: agents and probes have no credentials."""

METRICS = "/metrics"
"""The path of the numbers, open to everybody where the setting ``metrics`` says so."""

HEARTBEAT = "/v1/heartbeat/"

_CALLER_KEY = "rackwright.caller"
_AT_ONCE = 4  # credentials that are checked at the same time; guessing passwords must not use up all threads


class Admission:
    """Asks an authenticator about every request that is not public."""

    def __init__(self, authenticator: Authenticator, *, open_paths: frozenset[str] = frozenset()) -> None:
        """Take what checks credentials, and the paths that are public besides those that always are."""
        self._authenticator = authenticator
        self._public = PUBLIC | open_paths
        self._limiter = CapacityLimiter(_AT_ONCE)

    async def refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Note in the scope who asks and return None, or return the answer to somebody who is not let in."""
        path = scope["path"]
        if path in self._public or path.startswith(HEARTBEAT):
            scope[_CALLER_KEY] = Caller(is_public_api=True)
            return None
        try:
            scope[_CALLER_KEY] = await self._caller(headers)
        except RackwrightError as error:
            return self._refused(error)
        return None

    async def _caller(self, headers: Headers) -> Caller:
        authenticator = self._authenticator
        given, voucher = headers.get(authenticator.header), headers.get(authenticator.voucher or "")
        if not given:
            raise Unauthenticated(f"The request needs credentials in the header {authenticator.header}.")
        if voucher is not None:
            return await run_sync(authenticator.check_vouched, given, voucher, limiter=self._limiter)
        if (known := authenticator.remembered(given)) is not None:
            return known
        return await run_sync(authenticator.check, given, limiter=self._limiter)

    def _refused(self, error: RackwrightError) -> Response:
        status = status_of(error)
        answer = json_answer(status, {"error": {"code": status, "message": error.message}})
        if status == 401:
            answer.headers["WWW-Authenticate"] = self._authenticator.challenge
        return answer


def caller_of(request: Request) -> Caller:
    """Return who sent a request that was let in."""
    found: Caller = request.scope.get(_CALLER_KEY, ANYBODY)
    return found
