# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The command API of the stand-in for the agent: HTTPS requests, tokens, and one command at a time.

Source: contract/agent-protocol.md section 3.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import json
import secrets
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx

if TYPE_CHECKING:
    from tests.integration.server.agent_stub import AgentStub

Data = dict[str, Any]

RUNNING, SUCCEEDED, FAILED, MISMATCH = "RUNNING", "SUCCEEDED", "FAILED", "CLEAN_VERSION_MISMATCH"
HARDWARE_MANAGER = {"generic_hardware_manager": "1.2"}


def step(name: str, interface: str = "deploy", priority: int = 0, **more: Any) -> Data:
    """Return a step as hardware managers describe it."""
    usual = {"reboot_requested": False, "abortable": True, "argsinfo": None, "requires_ramdisk": True}
    return {"step": name, "interface": interface, "priority": priority, **usual, **more}


STEPS: Mapping[str, Sequence[Data]] = {
    "clean": (step("erase_devices_metadata", priority=99), step("erase_devices", priority=10)),
    "deploy": (step("write_image"), step("inject_files")),
    "service": (step("burnin_cpu"),),
}


@dataclass
class Behaviour:
    """What the agent does, and what goes wrong with it."""

    steps: Mapping[str, Sequence[Data]] = field(default_factory=lambda: STEPS)
    step_seconds: float = 0.1
    heartbeat_seconds: float | None = None  # None: as the protocol says, 0.3 to 0.6 of heartbeat_timeout
    failing: Mapping[str, str] = field(default_factory=dict)  # step or command to the text of its error
    dies_in: str = ""  # a step in whose middle the machine goes silent
    heartbeat_token: str | None = None  # carried in place of the right one
    plain_http: bool = False  # tells an http address
    clock: timedelta = timedelta(0)  # the machine's clock minus the real one
    lookup_seconds: float = 60
    disk: Path | None = None  # write_image fetches the image into this file and checks its sum


class RequestError(Exception):
    """The command API refuses a request."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Commands:
    """The command API behind the sockets: one command at a time, results oldest first."""

    def __init__(self, stub: AgentStub) -> None:
        self._stub = stub
        self._lock = threading.Lock()
        self.results: list[Data] = []
        self._sync: Mapping[str, Callable[[Data], Any]] = {
            **{f"{kind}.get_{kind}_steps": self._lister(kind) for kind in STEPS},
            "standby.get_partition_uuids": lambda _: {},
            "standby.sync": lambda _: None,
            "rescue.finalize_rescue": self._rescue,
            "log.collect_system_logs": lambda _: {"system_logs": base64.b64encode(gzip.compress(b"logs")).decode()},
            "system.lockdown": lambda _: self._stub.fall_silent(),
            "poll.get_hardware_info": lambda _: self._stub.inventory,
        }
        self._slow: Mapping[str, Callable[[Data], Any]] = {
            **{f"{kind}.execute_{kind}_step": self._runner(kind) for kind in STEPS},
            "image.install_bootloader": lambda _: None,
            "standby.run_image": lambda _: self._stub.fall_silent(),
            "standby.power_off": lambda _: self._stub.fall_silent(),
        }

    def execute(self, name: str, params: Data, *, wait: bool) -> Data:
        """Start a command and return its result, after its end if that is wanted or the command is a quick one."""
        extension = name.partition(".")[0]
        if name not in self._sync and name not in self._slow:
            known = any(each.startswith(f"{extension}.") for each in (*self._sync, *self._slow))
            raise RequestError(400 if known else 404, f"Unknown command {name}")
        with self._lock:
            if any(result["command_status"] == RUNNING for result in self.results):
                raise RequestError(409, "Agent is busy")
            result: Data = {"id": secrets.token_hex(8), "command_name": name.partition(".")[2]}
            result |= {"command_status": RUNNING, "command_error": None, "command_result": None}
            self.results.append(result)
        worker = threading.Thread(target=self._work, args=(name, params, result), daemon=True)
        worker.start()
        if wait or name in self._sync:
            worker.join()
        return dict(result)

    def _work(self, name: str, params: Data, result: Data) -> None:
        try:
            if name in self._stub.behaviour.failing:
                raise RuntimeError(self._stub.behaviour.failing[name])
            found = {**self._sync, **self._slow}[name](params)
            status = MISMATCH if found == MISMATCH else SUCCEEDED
            result["command_result"] = {} if status == MISMATCH else found
        except Exception as error:  # the agent tells every failure of a command as its result
            details = str(error)
            told = {"type": type(error).__name__, "code": 500, "message": "Command failed", "details": details}
            status, result["command_error"] = FAILED, told
        result["command_status"] = status
        if name in self._slow:
            self._stub.beat_now.set()

    def _lister(self, kind: str) -> Callable[[Data], Data]:
        def listing(params: Data) -> Data:
            self._stub.record("steps listed", kind=kind, node=params["node"]["uuid"], ports=len(params["ports"]))
            steps = [dict(each) for each in self._stub.behaviour.steps.get(kind, ())]
            return {f"{kind}_steps": {"GenericHardwareManager": steps}, "hardware_manager_version": HARDWARE_MANAGER}

        return listing

    def _runner(self, kind: str) -> Callable[[Data], Any]:
        def running(params: Data) -> Any:
            version = params.get(f"{kind}_version")
            if version is not None and version != HARDWARE_MANAGER:
                return MISMATCH
            wanted, behaviour = params["step"], self._stub.behaviour
            name = wanted["step"]
            self._stub.record("step began", kind=kind, step=name, args=wanted.get("args"))
            time.sleep(behaviour.step_seconds)
            if name == behaviour.dies_in:
                self._stub.fall_silent()
                return None
            if name in behaviour.failing:
                raise RuntimeError(behaviour.failing[name])
            if name == "write_image":
                self._write_image(wanted["args"])
            self._stub.record("step ended", kind=kind, step=name)
            return {f"{kind}_result": None, f"{kind}_step": wanted}

        return running

    def _write_image(self, args: Data) -> None:
        info = args["image_info"]
        sum_wanted = info.get("os_hash_value") or info.get("checksum")
        if not sum_wanted:
            raise RuntimeError("the image has no checksum")
        if self._stub.behaviour.disk is not None:
            content = httpx.get(info["urls"][0], timeout=60, trust_env=False).raise_for_status().content
            found = hashlib.new(info.get("os_hash_algo") or "sha256", content).hexdigest()
            if found != sum_wanted:
                raise RuntimeError(f"the image has the sum {found}, expected was {sum_wanted}")
            self._stub.behaviour.disk.write_bytes(content)
        self._stub.record("image written", image=info, configdrive=args.get("configdrive"))

    def _rescue(self, params: Data) -> None:
        self._stub.record("rescue password set", hashed=params.get("hashed"))
        self._stub.fall_silent()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stub: AgentStub

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        path = [part for part in urlsplit(self.path).path.split("/") if part]
        if path in ([], ["v1"]):
            self._answer(200, {"name": "Agent stub", "versions": [], "links": []})
        elif path == ["v1", "status"]:
            self._answer(200, {"started_at": 0.0, "version": self.stub.version})
        elif self._may() and path == ["v1", "commands"]:
            self._answer(200, {"commands": self.stub.commands.results})
        elif self._may():
            found = next((each for each in self.stub.commands.results if path[-1] == each["id"]), None)
            self._answer(404, _fault("No such command")) if found is None else self._answer(200, found)
        else:
            self._answer(401, _fault("Token invalid."))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self._may():
            self._answer(401, _fault("Token invalid."))
            return
        try:
            asked = json.loads(body)
            wait = parse_qs(urlsplit(self.path).query).get("wait") == ["true"]
            answer = self.stub.commands.execute(str(asked["name"]), dict(asked["params"]), wait=wait)
        except RequestError as error:
            self._answer(error.status, _fault(str(error)))
        except (KeyError, TypeError, ValueError):
            self._answer(400, _fault("Invalid command request"))
        else:
            self._answer(200, answer)

    def _may(self) -> bool:
        given = parse_qs(urlsplit(self.path).query).get("agent_token", [""])[0]
        allowed = secrets.compare_digest(given.encode(), (self.stub.token or "").encode()) and bool(given)
        self.stub.record("asked", method=self.command, path=urlsplit(self.path).path, with_token=allowed)
        return allowed

    def _answer(self, status: int, content: Data) -> None:
        data = json.dumps(content).encode()
        with contextlib.suppress(OSError, ssl.SSLError):  # whoever asked is gone
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)


def _fault(text: str) -> Data:
    return {"faultcode": "Client", "faultstring": text}


class AgentServer(ThreadingHTTPServer):
    """The sockets of one agent; ``pem`` holds key and certificate, None is plain http."""

    daemon_threads = True

    def __init__(self, stub: AgentStub, pem: Path | None) -> None:
        super().__init__((stub.address, 0), type("Handler", (_Handler,), {"stub": stub}))
        if pem is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            context.load_cert_chain(pem)
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that broke off or do not trust us."""

    def start(self) -> None:
        """Answer from now on."""
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self) -> None:
        """Answer no more."""
        self.shutdown()
        self.server_close()
