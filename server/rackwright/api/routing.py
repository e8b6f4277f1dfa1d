# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""How an endpoint is reached: a function of the call and the texts of its path, run in a thread.

FastAPI reads the same functions for the OpenAPI document. Its way of resolving dependencies for each request is left
out, because it costs more than a whole answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from rackwright.api.deps import Call, Parts, call
from rackwright.api.permissions import ASKS
from rackwright.domain.errors import Invalid, NodeLocked, NotAcceptableVersion
from rackwright.store.session import reading

THREADS = CapacityLimiter(40)
"""Threads for endpoints. Images are read by others: no BMC waits for one while endpoints wait for the database."""

_opened = contextmanager(call)
_MALFORMED = (Invalid, NotAcceptableVersion)


class Route(APIRoute):
    """An endpoint: first what it depends on is asked (see ``versions.since``), then its function.

    One that waits long is a coroutine function and runs in the event loop, so that no thread waits with it. A request
    that meets a locked node is answered again from its start after a while, a few times: most operations are short, and
    clients count on that (contract: engine.md, lock).
    """

    patient = True

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        return self._waiting if iscoroutinefunction(self.endpoint) else self._working

    async def _working(self, request: Request) -> Response:
        parts: Parts = request.app.state.parts
        for _ in range(parts.settings.node_locked_retry_attempts - 1 if self.patient else 0):
            try:
                return await run_sync(self._answer, request, limiter=THREADS)
            except NodeLocked:
                await asyncio.sleep(parts.settings.node_locked_retry_interval)
        return await run_sync(self._answer, request, limiter=THREADS)

    def _answer(self, request: Request) -> Response:
        with self._call(request) as opened:
            try:
                found: Response = self.endpoint(opened, **request.path_params)
            except _MALFORMED:
                self._demand(opened)
                raise
        return found

    async def _waiting(self, request: Request) -> Response:
        with self._call(request) as opened:
            try:
                found: Response = await self.endpoint(opened, **request.path_params)
            except _MALFORMED:
                await run_sync(self._demand, opened, limiter=THREADS)
                raise
        return found

    def _demand(self, opened: Call) -> None:
        """Raise Forbidden or NotFound for a caller who may not do this anyway: he need not know what was wrong."""
        ask = ASKS.get(f"{opened.request.method} {self.path}")
        if ask is not None and opened.parts.policy is not None:
            with reading(opened.parts.engine) as session:  # what the endpoint has changed so far is to be forgotten
                ask(replace(opened.context, session=session), opened.request.path_params)

    def _call(self, request: Request) -> AbstractContextManager[Call]:
        for each in self.dependencies:
            if each.dependency is not None:
                each.dependency(request)
        return _opened(request)


class PromptRoute(Route):
    """An endpoint for agents, which come again by themselves."""

    patient = False


Router = partial(APIRouter, route_class=Route)
"""What each file of ``v1`` makes its router with."""

PromptRouter = partial(APIRouter, route_class=PromptRoute)
"""What those files make theirs with whose clients are agents."""
