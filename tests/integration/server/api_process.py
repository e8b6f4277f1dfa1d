# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The API over real HTTP, on a database that tests look into."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from rackwright.app import create_app
from rackwright.catalog import Catalog
from tests.unit.server.agent_house import House


class ServedHouse(House):
    """The house of the agent's tests, with the API at ``url``."""

    url = ""

    def operation_is(self, status: str) -> bool:
        return self.operation().status == status


@contextmanager
def served(folder: Path) -> Iterator[ServedHouse]:
    """Serve the API from a thread of this process."""
    house = ServedHouse(folder)
    app = create_app(house.settings, Catalog((), {}, {}))
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", access_log=False, ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_for(lambda: server.started, "the API listens")
    _, port = server.servers[0].sockets[0].getsockname()
    house.url = f"http://127.0.0.1:{port}"
    try:
        yield house
    finally:
        server.should_exit = True
        thread.join(timeout=30)
        house.database.dispose()


def wait_for(condition: Callable[[], object], what: str, seconds: float = 60) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.05)
