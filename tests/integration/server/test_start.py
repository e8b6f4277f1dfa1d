# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A daemon whose database is away at its start, or lets it in no more: it is alive, says why, and then works."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import text

from rackwright.store.session import open_engine
from tests.integration.server.daemon_house import Daemon, command, free_port, until
from tests.unit.server import databases

PASSWORD = "canary%40%2F"


class Waiting:
    """A process of the daemon whose database is a server that has not been started yet."""

    def __init__(self, folder: Path, server: databases.Server, words: str) -> None:
        url = server.recreate().replace("tester@", f"tester:{PASSWORD}@")
        server.kill()
        self.server, self.log, self.port = server, folder / "log", free_port()
        given = {"database_url": url, "enabled_hardware_types": "fake-hardware", "state_dir": str(folder / "state")}
        clean = {key: value for key, value in os.environ.items() if not key.startswith("RACKWRIGHT_")}
        environment = clean | {f"RACKWRIGHT_{key.upper()}": value for key, value in given.items()}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command(words, "--port", str(self.port)), env=environment, stdout=log, stderr=log
            )
        until(lambda: "The database does not answer" in self.log.read_text(), 30, f"a try (see {self.log})")

    def get(self, path: str) -> httpx.Response:
        return httpx.get(f"http://127.0.0.1:{self.port}{path}", timeout=30)

    def is_alive(self) -> bool:
        try:
            return self.get("/healthz").status_code == 200
        except httpx.TransportError:
            return False

    def tries(self) -> list[str]:
        """Return the processes that still want the database of this test."""
        told = str(self.log.parent / "state").encode()
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if told in (path / "environ").read_bytes():
                    found.append((path / "cmdline").read_text())
            except OSError:
                continue
        return found

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(30)


@pytest.fixture(scope="module")
def server() -> Iterator[databases.Server]:
    started = databases.postgresql()
    yield started
    started.stop()


@pytest.fixture(params=["serve", "api"])
def waiting(request: pytest.FixtureRequest, tmp_path: Path, server: databases.Server) -> Iterator[Waiting]:
    server.start()
    found = Waiting(tmp_path, server, request.param)
    yield found
    if found.process.poll() is None:
        found.end()


def test_it_is_alive_and_not_ready_until_the_database_is_there(waiting: Waiting) -> None:
    assert waiting.get("/healthz").json() == {"alive": True}
    ready, nodes = waiting.get("/readyz"), waiting.get("/v1/nodes")
    assert (ready.status_code, nodes.status_code) == (503, 503)
    assert ready.json()["ready"] is False and "waits for its database" in ready.json()["checks"]["database"]
    assert "waits for its database" in json.loads(nodes.json()["error_message"])["faultstring"]
    waiting.server.start()
    until(lambda: waiting.get("/v1/nodes").status_code == 200, 60, f"the API (see {waiting.log})")
    assert waiting.get("/readyz").json()["checks"]["database"] == "ok"
    assert waiting.get("/v1").headers["X-OpenStack-Ironic-API-Maximum-Version"]
    waiting.end()
    log = waiting.log.read_text()
    assert "canary" not in log and "Traceback" not in log


def test_it_can_be_stopped_while_it_waits_and_leaves_nobody_behind(waiting: Waiting) -> None:
    waiting.end()
    until(lambda: not waiting.tries(), 5, f"the end of {waiting.tries()}")
    assert not waiting.is_alive()


def test_a_daemon_that_is_let_in_no_more_says_so_and_goes_on_when_it_is(
    tmp_path: Path, server: databases.Server
) -> None:
    server.start()
    engine = open_engine(server.recreate()).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("CREATE ROLE guarded LOGIN SUPERUSER"))
    engine.dispose()
    rules = server.folder / "data" / "pg_hba.conf"
    open_to_all = rules.read_text()
    daemon = Daemon(tmp_path, database_url=server.url(databases.NAME).replace("tester@", "guarded@"))
    try:
        server.kill()
        assert daemon.client.get("/readyz").json()["checks"]["database"] == "the database does not answer"
        rules.write_text(f"local all guarded reject\n{open_to_all}")
        server.start()
        until(
            lambda: "does not let the daemon in; correct database_url" in daemon.client.get("/readyz").text, 30, "a no"
        )
        answer = re.compile(r"conductor .*The database does not let the daemon in; .*pg_hba\.conf rejects connection")
        until(lambda: answer.search(daemon.log.read_text()), 30, f"a line with the server's answer (see {daemon.log})")
        rules.write_text(open_to_all)
        assert server.process is not None
        server.process.send_signal(signal.SIGHUP)
        until(daemon.answers, 30, "the return")
    finally:
        rules.write_text(open_to_all)
        assert daemon.stop() == 0
