# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The view of the fleet, over real HTTP, in a real terminal."""

from __future__ import annotations

import os
import pty
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from sqlmodel import Session

from rackwright import cli
from rackwright.api.waiting import answering
from rackwright.store import clock
from rackwright.store.columns import now
from rackwright.store.node import Node
from rackwright.store.session import open_engine, writing
from rackwright.top import frame
from rackwright.top.screen import shown
from rackwright.top.service import Service, ServiceFailed
from tests.unit.server.api_house import House

NAMELESS = "2222222{}-2222-4222-8222-222222222222"
ERROR = "Step deploy.write_image failed: the disk is gone. Check the disk."


class Fleet:
    """An API at ``url`` with nodes, and what it was asked."""

    def __init__(self, house: House) -> None:
        self.house, self.asked, self.url = house, list[str](), ""

    def add(self, count: int, state: str, **columns: object) -> None:
        """Add nodes in a state, each a second younger than the one before."""
        with writing(self.house.parts.engine) as session:
            self._add(session, count, state, columns)
            session.commit()

    def _add(self, session: Session, count: int, state: str, columns: dict[str, object]) -> None:
        begin = now() - timedelta(hours=1)
        for number in range(count):
            moved = begin + timedelta(seconds=number)
            name = f"{state.replace(' ', '-')}-{number}"
            fields: dict[str, Any] = {"name": name, "provision_state": state, "provision_updated_at": moved}
            session.add(Node(driver="fake-hardware", **(fields | columns)))


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    found = Fleet(House(tmp_path, public_endpoint=None))
    inner = found.house.app

    async def app(scope: dict[str, object], receive: object, send: object) -> None:
        if scope["type"] == "http":
            found.asked.append(str(scope["path"]))
        await inner(scope, receive, send)  # type: ignore[arg-type]  # passed on as it came

    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, access_log=False, ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    found.url = "http://127.0.0.1:{1}".format(*server.servers[0].sockets[0].getsockname())
    yield found
    server.should_exit = True
    thread.join(timeout=30)
    found.house.parts.engine.dispose()


def going_on(step: str) -> dict[str, object]:
    """Return what a node shows while something is done with it."""
    return {
        "operation": {
            "phase": "deploy",
            "step": step,
            "index": 2,
            "count": 9,
            "activity": "waits",
            "since": (now() - timedelta(seconds=90)).isoformat(),
            "started_at": (now() - timedelta(seconds=200)).isoformat(),
        }
    }


def once(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, columns: int = 200
) -> str:
    monkeypatch.setenv("OS_ENDPOINT", fleet.url)
    monkeypatch.setenv("COLUMNS", str(columns))
    assert cli.main(["top", "--once"]) == 0
    return capsys.readouterr().out


def test_one_frame_tells_counts_what_is_in_flight_and_why_nodes_failed(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet.add(3, "available")
    fleet.add(1, "wait call-back", driver_internal_info=going_on("deploy.write_image"), target_provision_state="active")
    fleet.add(1, "deploy failed", last_error=ERROR)
    fleet.add(1, "active", maintenance=True, maintenance_reason="the BMC is silent")
    text = once(fleet, capsys, monkeypatch)
    assert "6 nodes, 1 in maintenance" in text
    assert "available 3" in text
    assert "conductor-1.example alive" in text
    (flying,) = [line for line in text.splitlines() if line.startswith("wait-call-back-0")]
    *words, minutes, _, age, _ = flying.split()[1:]
    assert words == ["wait", "call-back", "active", "deploy.write_image", "3/9", "waits"]
    assert (minutes, age) == ("1m", "3m")
    assert ERROR in text
    assert "the BMC is silent" in text


def test_a_narrow_screen_shows_names_whole_and_all_of_the_reason(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    deploying = {"driver_internal_info": going_on("deploy.write_image"), "target_provision_state": "active"}
    fleet.add(1, "wait call-back", **deploying)
    fleet.add(1, "deploy failed", last_error=ERROR)
    lines = once(fleet, capsys, monkeypatch, columns=80).splitlines()
    (flying,) = [line for line in lines if line.startswith("wait-call-back-0")]
    *words, minutes, _, age, _ = flying.split()
    assert words == ["wait-call-back-0", "wait", "call-back", "deploy.write_image", "3/9", "waits"]
    assert (minutes, age) == ("1m", "3m")
    begin = next(number for number, line in enumerate(lines) if line.startswith("deploy-failed-0"))
    assert "".join("".join(lines[begin:]).split()).endswith("".join(ERROR.split()))
    uuids = [NAMELESS.format(number) for number in range(2)]
    for uuid, state in zip(uuids, ("deploying", "clean failed"), strict=True):
        fleet.add(1, state, uuid=uuid, name=None, **deploying)
    text = once(fleet, capsys, monkeypatch, columns=80)
    assert all(uuid in text for uuid in uuids)
    (flying,) = [line for line in text.splitlines() if line.startswith(uuids[0])]
    assert flying.split()[1:3] == ["deploy.write_image", "3/9"]
    assert max(map(len, text.splitlines())) <= 80


def test_ages_go_by_the_clock_that_the_times_come_from(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock._Difference, "ahead", timedelta(hours=-5))  # the database's, of the API's host
    fleet.add(1, "deploying", driver_internal_info=going_on("deploy.write_image"))
    (flying,) = frame.look(Service({"OS_ENDPOINT": fleet.url}), rows=5).flying
    assert flying.age == pytest.approx(200, abs=20)
    assert flying.activity_age == pytest.approx(90, abs=20)


def test_an_api_that_cannot_serve_says_why(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OS_ENDPOINT", fleet.url)
    gone = open_engine(f"sqlite:///{tmp_path}/gone/rackwright.sqlite")
    fleet.house.app.state.parts = replace(fleet.house.parts, engine=gone)
    assert cli.main(["top", "--once"]) != 0
    assert "HTTP 503: The file of the database cannot be opened and written; " in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as listener, answering(listener):
        monkeypatch.setenv("OS_ENDPOINT", "http://user:canary@127.0.0.1:{1}".format(*listener.getsockname()))
        assert cli.main(["top", "--once"]) != 0
    told = capsys.readouterr().err
    assert "HTTP 503: Not ready: the daemon starts: it waits for its database" in told
    assert "canary" not in told


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (502, b"<html>gone</html>", "HTTP 502: Bad Gateway"),
        (401, b'{"error": {"code": 401, "message": "no\x1bbody"}}', "HTTP 401: Unauthorized; set OS_AUTH_TYPE"),
        (401, b'{"error": {"code": 401, "message": "no\\u001bbody"}}', "HTTP 401: no body; set OS_AUTH_TYPE"),
        (403, b'{"error_message": "{\\"title\\": \\"Forbidden\\", \\"description\\": \\"no\\"}"}', "HTTP 403: no"),
        (503, b'["strange"]', "HTTP 503: Service Unavailable"),
        (200, b"<html>welcome</html>", "no JSON"),
    ],
)
def test_what_is_no_answer_of_ours_is_told_by_its_status(status: int, body: bytes, told: str) -> None:
    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Be quiet."""

    with HTTPServer(("127.0.0.1", 0), Proxy) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with pytest.raises(ServiceFailed) as failed:
            Service({"OS_ENDPOINT": f"http://127.0.0.1:{server.server_port}"}).get("/v1/nodes")
        thread.join()
    assert told in failed.value.message


def test_a_larger_fleet_costs_no_more_requests_and_shows_the_oldest_first(fleet: Fleet) -> None:
    service = Service({"OS_ENDPOINT": fleet.url})
    fleet.add(2, "cleaning")
    frame.look(service, rows=10)
    few = len(fleet.asked)
    fleet.add(60, "deploying")
    fleet.house.call("GET", "/nodes")
    fleet.asked.clear()
    seen = frame.look(service, rows=5)
    assert len(fleet.asked) == few + 1  # one more state, and not one request more
    assert seen.states == {"cleaning": 2, "deploying": 60}
    ages = [each.age for each in seen.flying if each.age is not None]
    assert len(ages) == 5 and ages == sorted(ages, reverse=True)


def test_more_rows_than_a_page_holds_come_from_several(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rackwright.top.service._PAGE", 7)
    fleet.add(20, "deploying")
    fleet.asked.clear()
    assert len({each.name for each in frame.look(Service({"OS_ENDPOINT": fleet.url}), rows=18).flying}) == 18
    assert fleet.asked.count("/v1/nodes") == 3


def test_a_name_cannot_draw_on_the_terminal(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet.add(1, "error", last_error="[bold]\x1b[2Jgone\x07")
    text = once(fleet, capsys, monkeypatch)
    assert "[bold] [2Jgone" in text
    assert "\x1b[2J" not in text and "\x07" not in text


def test_an_api_that_cannot_be_asked_is_named_with_the_way_out(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OS_ENDPOINT", "http://127.0.0.1:1")
    assert cli.main(["top", "--once"]) != 0
    assert "http://127.0.0.1:1 could not be asked: Connection refused; see whether" in capsys.readouterr().err
    with pytest.raises(ServiceFailed, match="correct OS_ENDPOINT"):
        Service({"OS_ENDPOINT": "127.0.0.1:6385"})
    with pytest.raises(SystemExit):
        cli.main(["top", "--rows", "-3"])
    assert "--rows: it must be a number, 1 or more" in capsys.readouterr().err
    with pytest.raises(ServiceFailed, match="one of none, http_basic, token"):
        Service({"OS_AUTH_TYPE": "magic"})
    with pytest.raises(ServiceFailed, match="OS_PASSWORD"):
        Service({"OS_AUTH_TYPE": "http_basic", "OS_USERNAME": "x"})
    with pytest.raises(ServiceFailed, match="HTTP 404"):
        Service({"OS_ENDPOINT": fleet.url}).get("/v1/nowhere")


def test_credentials_go_where_the_api_reads_them() -> None:
    basic = Service({"OS_AUTH_TYPE": "http_basic", "OS_USERNAME": "admin", "OS_PASSWORD": "pw"})
    assert basic._session.auth == ("admin", "pw")
    assert Service({"OS_AUTH_TYPE": "token", "OS_TOKEN": "t"})._session.headers["X-Auth-Token"] == "t"


def test_it_draws_in_a_terminal_until_q_is_pressed(fleet: Fleet) -> None:
    fleet.add(1, "deploying")
    keyboard, terminal = pty.openpty()
    environment = {**os.environ, "OS_ENDPOINT": fleet.url, "TERM": "xterm", "COLUMNS": "160", "LINES": "40"}
    words = [sys.executable, "-m", "rackwright.cli", "top", "--interval", "60"]
    process = subprocess.Popen(words, stdin=terminal, stdout=terminal, stderr=terminal, env=environment)
    os.close(terminal)
    seen = ""
    while "deploying-0" not in seen:
        seen += os.read(keyboard, 65536).decode(errors="replace")
    os.write(keyboard, b"q")
    assert process.wait(timeout=30) == 0
    os.close(keyboard)


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, ""), (0.4, "0s"), (59, "59s"), (200, "3m 20s"), (7260, "2h 1m"), (180000, "2d 2h")]
)
def test_a_length_of_time_is_short_to_read(seconds: float | None, text: str) -> None:
    assert shown(seconds) == text
