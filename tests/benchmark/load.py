# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A small load generator: requests that are ready as bytes, over a few kept connections."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

VERSION = "1.82"
LIMIT = 300.0
"""Seconds after which a load is given up."""

_LENGTH = re.compile(rb"content-length: *(\d+)", re.I)


@dataclass(frozen=True)
class Request:
    """One request; what it has to carry is made before the clock runs."""

    method: str
    path: str
    body: Any = None

    def to(self, host: str) -> bytes:
        """Return the request as it goes over the wire."""
        body = b"" if self.body is None else json.dumps(self.body).encode()
        lines = [
            f"{self.method} {self.path} HTTP/1.1",
            f"Host: {host}",
            f"X-OpenStack-Ironic-API-Version: {VERSION}",
            "Accept: application/json",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        ]
        return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass(frozen=True)
class Answers:
    """What came back: bodies of the accepted requests in the order of arrival, and how long all took."""

    bodies: Sequence[bytes]
    refused: Sequence[bytes]
    seconds: float


def drive(host: str, port: int, requests: Iterable[Request], *, connections: int = 8) -> Answers:
    """Send the requests, one at a time on each connection; raise TimeoutError when it takes too long."""
    waiting = iter([each.to(f"{host}:{port}") for each in requests])
    return asyncio.run(asyncio.wait_for(_drive(host, port, waiting, connections), LIMIT))


async def _drive(host: str, port: int, waiting: Iterator[bytes], connections: int) -> Answers:
    streams = [await asyncio.open_connection(host, port, limit=2**26) for _ in range(connections)]
    accepted: list[bytes] = []
    refused: list[bytes] = []

    async def work(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for request in waiting:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            body = await reader.readexactly(int(length[1])) if length else b""
            (accepted if head[9:10] == b"2" else refused).append(body)

    begin = time.perf_counter()
    await asyncio.gather(*(work(*each) for each in streams))
    seconds = time.perf_counter() - begin
    for _, writer in streams:
        writer.close()
    return Answers(accepted, refused, seconds)
