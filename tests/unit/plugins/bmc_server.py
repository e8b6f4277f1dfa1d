# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Redfish service on loopback: resources of a real machine, and habits of real BMCs on demand.

As a program it is given a folder and a number of seconds: it writes ``bmc.json``, the options of a module that talks to
it, into that folder, and ends after that time.
"""

from __future__ import annotations

import base64
import copy
import json
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Data = dict[str, Any]
FIXTURES = Path(__file__).parents[1] / "fixtures" / "redfish"
SYSTEM = "/redfish/v1/Systems/1"
DRIVE = "/redfish/v1/Managers/1/VirtualMedia/Cd"
ISO = "http://files.example.com/boot/4711.iso"


def plain_machine() -> dict[str, Data]:
    """Return the resources of a machine without any habits."""
    return dict(json.loads((FIXTURES.parent / "plain_machine.json").read_text()))


def recorded(name: str) -> dict[str, Data]:
    """Return the resources of a real machine."""
    return dict(json.loads((FIXTURES / f"{name}.json").read_text()))


def recorded_lights(name: str) -> dict[str, Data]:
    """Return what the system and the chassis of a real machine say of their lights."""
    return dict(json.loads((FIXTURES.parent / "redfish_indicators.json").read_text())[name])


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    body: Data
    headers: dict[str, str]


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: Data | str = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


def refusal(status: int, code: str = "GeneralError", message: str = "") -> Answer:
    return Answer(status, {"error": {"code": f"Base.1.8.{code}", "message": message}})


Habit = Callable[[Request], Answer | None]


class BmcServer:
    """The service. ``habits`` are asked first, each request; ``log`` holds what came."""

    def __init__(self, resources: dict[str, Data] | None = None) -> None:
        self.resources = copy.deepcopy(resources or plain_machine())
        self.habits: list[Habit] = []
        self.log: list[Request] = []
        self.login: tuple[str, str] | None = None
        self.sessions: set[str] = set()
        self.power_delay = 0.0
        self.connections = 0
        self.url = ""

    @contextmanager
    def running(self, tls: ssl.SSLContext | None = None) -> Iterator[BmcServer]:
        server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"bmc": self}))
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    def context(self, **more: Any) -> Data:
        """Return what the door tells of this BMC."""
        user, password = self.login or (None, None)
        given = {"protocol": "redfish", "address": self.url, "username": user, "password": password}
        return {**given, "system_id": None, "verify_ca": True, "auth_type": "auto", **more}

    def options(self, **more: Any) -> Data:
        """Return the options of a module that talks to this BMC."""
        return {key: value for key, value in self.context(**more).items() if value is not None}

    def calls(self, *methods: str) -> list[str]:
        """Return the changes that were asked for, in order, but for sessions."""
        wanted = methods or ("POST", "PATCH")
        return [f"{one.method} {one.path}" for one in self.log if one.method in wanted and "Session" not in one.path]

    def bodies(self, method: str) -> list[Data]:
        return [one.body for one in self.log if one.method == method and "Session" not in one.path]

    def reset_answers(self, *answers: Answer) -> None:
        """Answer the next requests that change something with these, in turn."""
        left = list(answers)

        def habit(request: Request) -> Answer | None:
            changing = request.method in ("POST", "PATCH") and "Session" not in request.path
            return left.pop(0) if left and changing else None

        self.habits.append(habit)

    def answer(self, request: Request) -> Answer:
        self.log.append(request)
        if not self._is_allowed(request):
            return refusal(401, message="no valid session")
        for habit in self.habits:
            if (answer := habit(request)) is not None:
                return answer
        return self.apply(request)

    def apply(self, request: Request) -> Answer:
        """Answer without habits."""
        answer: Answer = getattr(self, f"_{request.method.lower()}")(request)
        return answer

    def _is_allowed(self, request: Request) -> bool:
        root = request.path.rstrip("/") == "/redfish/v1"
        if self.login is None or root or (request.method == "POST" and request.path.endswith("/Sessions")):
            return True
        basic = base64.b64encode(":".join(self.login).encode()).decode()
        return request.headers.get("X-Auth-Token") in self.sessions or (
            request.headers.get("Authorization") == f"Basic {basic}"
        )

    def _get(self, request: Request) -> Answer:
        found = self.resources.get(request.path) or self.resources.get(request.path.rstrip("/"))
        if found is None:
            return refusal(404)
        etag = found.get("@odata.etag")
        return Answer(200, found, {"ETag": etag} if etag else {})

    def _patch(self, request: Request) -> Answer:
        if request.path not in self.resources:
            return refusal(404)
        _merge(self.resources[request.path], request.body)
        return Answer()

    def _delete(self, request: Request) -> Answer:
        self.sessions.discard(request.path.rpartition("/")[2])
        return Answer(204)

    def _post(self, request: Request) -> Answer:
        owner, _actions, action = request.path.partition("/Actions/")
        match action.rpartition(".")[2]:
            case "Reset":
                if request.body["ResetType"] == "Nmi":
                    return Answer(204)
                state = "Off" if request.body["ResetType"] in ("ForceOff", "GracefulShutdown") else "On"
                threading.Timer(self.power_delay, self.resources[owner].update, [{"PowerState": state}]).start()
            case "InsertMedia":
                self.resources[owner].update(Image=request.body["Image"], Inserted=True)
            case "EjectMedia":
                self.resources[owner].update(Image=None, Inserted=False)
            case _:
                return self._open_session(request)
        return Answer(204)

    def _open_session(self, request: Request) -> Answer:
        if not request.path.endswith("/Sessions"):
            return refusal(404)
        if (request.body.get("UserName"), request.body.get("Password")) != self.login:
            return refusal(401)
        token = f"session-{len(self.log)}"
        self.sessions.add(token)
        return Answer(201, {}, {"X-Auth-Token": token, "Location": f"{request.path}/{token}"})


def _merge(target: Data, changes: Data) -> None:
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = value


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Take it as given that a client may go away."""


class _Handler(BaseHTTPRequestHandler):
    bmc: BmcServer
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        """Count the connections."""
        super().setup()
        self.bmc.connections += 1

    def _serve(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Request(self.command, self.path, json.loads(content) if content else {}, dict(self.headers))
        answer = self.bmc.answer(request)
        text = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
        body = b"" if answer.status == 204 else text.encode()
        self.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PATCH = do_DELETE = _serve

    def log_message(self, *args: Any) -> None:
        """Write no log."""


def wait_until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def main(folder: Path, seconds: float) -> None:
    """Run a BMC for a while, and tell how to reach it."""
    bmc = BmcServer()
    bmc.login = ("admin", "password")
    with bmc.running():
        part = folder / "bmc.json.part"
        part.write_text(json.dumps(bmc.options()))
        part.rename(folder / "bmc.json")
        time.sleep(seconds)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
