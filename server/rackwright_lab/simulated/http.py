# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Requests and answers over sockets, such as break off too."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Data = dict[str, Any]

_BACKLOG = 4096
_LINGER = struct.pack("ii", 1, 0)  # close at once, with a reset
_LARGEST = 64 << 20  # bytes of a request: an inspection report, a config drive


@dataclass(frozen=True)
class Request:
    """A request; ``body`` is empty where it had none, ``port`` is the one that it came to."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Data
    headers: Mapping[str, str]
    port: int


@dataclass(frozen=True)
class Answer:
    """An answer; ``arrives`` is the share of it that is sent before the connection is reset."""

    status: int = 200
    body: Data | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    arrives: float = 1.0


NOTHING = Answer(arrives=0.0)

Handler = Callable[[Request], Awaitable[Answer]]


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


async def listen(
    handler: Handler, host: str, port: int = 0, *, tls: ssl.SSLContext | None = None
) -> tuple[int, asyncio.Server]:
    """Answer what comes to a port, a free one where none is given; return it with its server."""

    async def answer(asked: web.BaseRequest) -> web.StreamResponse:
        return await _send(asked, await handler(await _read(asked)))

    loop = asyncio.get_running_loop()

    def made(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=_LARGEST)

    server = web.Server(answer, request_factory=made, handler_cancellation=True, access_log=None)
    listening = await loop.create_server(server, host, port, ssl=tls, backlog=_BACKLOG)
    return int(listening.sockets[0].getsockname()[1]), listening


async def _read(asked: web.BaseRequest) -> Request:
    content = await asked.read() if asked.body_exists else b""
    try:
        body = json.loads(content) if content else {}
    except ValueError:
        body = {}
    address = asked.transport.get_extra_info("sockname") if asked.transport else None
    return Request(
        method=asked.method,
        path=asked.path,
        query=asked.query,
        body=body if isinstance(body, dict) else {},
        headers=asked.headers,
        port=int(address[1]) if address else 0,
    )


async def _send(asked: web.BaseRequest, answer: Answer) -> web.StreamResponse:
    content = b"" if answer.body is None else json.dumps(answer.body).encode()
    headers = {"Content-Type": "application/json", **answer.headers}
    if answer.arrives >= 1:
        return web.Response(status=answer.status, body=content, headers=headers)
    response = web.StreamResponse(status=answer.status, headers={**headers, "Content-Length": str(len(content))})
    if answer.arrives > 0 and content:
        await response.prepare(asked)
        await response.write(content[: int(len(content) * answer.arrives)])
    _reset(asked)
    raise asyncio.CancelledError  # there is nobody to answer


def _reset(asked: web.BaseRequest) -> None:
    if asked.transport is None:
        return
    connection = asked.transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
    asked.transport.abort()
