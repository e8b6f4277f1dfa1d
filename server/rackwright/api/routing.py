# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""How an endpoint is reached: a function of the call and the texts of its path, run in a thread.

FastAPI reads the same functions for the OpenAPI document. Its way of resolving dependencies for each request is left
out, because it costs more than a whole answer.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from rackwright.api.deps import Call, call

_opened = contextmanager(call)


class Route(APIRoute):
    """An endpoint: first what it depends on is asked (see ``versions.since``), then its function.

    One that waits long is a coroutine function and runs in the event loop, so that no thread waits with it.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        return self._waiting if iscoroutinefunction(self.endpoint) else self._working

    async def _working(self, request: Request) -> Response:
        return await run_in_threadpool(self._answer, request)

    def _answer(self, request: Request) -> Response:
        with self._call(request) as opened:
            found: Response = self.endpoint(opened, **request.path_params)
        return found

    async def _waiting(self, request: Request) -> Response:
        with self._call(request) as opened:
            found: Response = await self.endpoint(opened, **request.path_params)
        return found

    def _call(self, request: Request) -> AbstractContextManager[Call]:
        for each in self.dependencies:
            if each.dependency is not None:
                each.dependency(request)
        return _opened(request)


Router = partial(APIRouter, route_class=Route)
"""What each file of ``v1`` makes its router with."""
