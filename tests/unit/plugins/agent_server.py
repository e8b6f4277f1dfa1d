# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small HTTPS server that speaks the command API of ironic-python-agent, and records what it was asked.

As a program it is an agent with one disk whose commands end by themselves: with a folder and a number of seconds as
arguments it writes how to reach it to ``agent.json`` in the folder, and serves for so long.
"""

from __future__ import annotations

import base64
import gzip
import ipaddress
import json
import socket
import ssl
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

TOKEN = "canary-token-of-forty-three-characters-0123"
ASYNCHRONOUS = ("execute_clean_step", "execute_deploy_step", "execute_service_step", "install_bootloader", "power_off")


def certificate(start: datetime, folder: Path, *, address: str = "127.0.0.1") -> tuple[str, Path]:
    """Return PEM text and a file with certificate and key, valid for 30 days from start, as the agent makes them."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ramdisk")])
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = built.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / f"{uuid.uuid4()}.pem"
    file.write_bytes(pem + secret)
    return pem.decode(), file


class AgentServer:
    """What a test sees of the agent: its commands, the requests that came, and what it will answer."""

    def __init__(self, folder: Path, *, clock: timedelta = timedelta(), tls: bool = True) -> None:
        self.clock = clock
        self.commands: list[dict[str, Any]] = []
        self.requests: list[tuple[str, str]] = []
        self.tokens: list[str | None] = []
        self.posted: list[dict[str, Any]] = []
        self.answers: dict[str, Callable[[dict[str, Any]], Any]] = {}
        self.ending: Callable[[], None] | None = None
        """Ends the last command, once it has been seen running."""
        self.pages: dict[str, Any] = {}
        self.drop_after_post = False
        self.drop_before_post = False
        self.address = "127.0.0.1"
        self.ca: str | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.agent = self  # type: ignore[attr-defined]  # the handler finds us there
        if tls:
            self.ca, file = certificate(datetime.now(UTC) + clock - timedelta(hours=1), folder)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(file)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @contextmanager
    def running(self) -> Iterator[AgentServer]:
        self._thread.start()
        try:
            yield self
        finally:
            self.stop()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    def context(self) -> dict[str, Any]:
        """Return what the door says of this agent."""
        return {"url": self.url, "token": TOKEN, "ca": self.ca, "seen_at": "2026-01-01T00:00:00+00:00"}

    def options(self) -> dict[str, Any]:
        """Return the options with which a module reaches this agent."""
        return {"url": self.url, "token": TOKEN, "ca": self.ca}

    def names(self) -> list[str]:
        """Return the names of the commands that were posted."""
        return [body["name"] for body in self.posted]

    def end(self, result: Any = None, error: Any = None, status: str | None = None) -> None:
        """Let the last command end."""
        command = self.commands[-1]
        command["command_status"] = status or ("FAILED" if error else "SUCCEEDED")
        command["command_result"], command["command_error"] = result, error

    def end_step(self, kind: str, **more: Any) -> None:
        """Let the last command, which carries out a step, end well."""
        self.end({f"{kind}_result": None, f"{kind}_step": self.posted[-1]["params"]["step"], **more})

    def execute(self, body: dict[str, Any]) -> tuple[int, Any]:
        """Answer a posted command as the agent does."""
        self.posted.append(body)
        if self.commands and self.commands[-1]["command_status"] == "RUNNING":
            return 409, {"faultcode": "Client", "faultstring": "Agent is busy - executing command"}
        short = body["name"].rpartition(".")[2]
        command: dict[str, Any] = {
            "id": str(uuid.uuid4()),
            "command_name": short,
            "command_status": "RUNNING",
            "command_error": None,
            "command_result": None,
        }
        self.commands.append(command)
        if short not in ASYNCHRONOUS or body["name"] in self.answers:
            answer = self.answers.get(body["name"])
            result = answer(body["params"]) if answer else None
            self.end(**result) if isinstance(result, dict) and set(result) == {"error"} else self.end(result)
        return 200, command


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def do_GET(self) -> None:
        agent: AgentServer = self.server.agent
        path, allowed = self._asked()
        if path in agent.pages:
            return self._answer(200, agent.pages[path])
        if path == "/v1/status":
            return self._answer(200, {"started_at": 1.0, "version": "13.0.0"})
        if not path.startswith("/v1/commands/"):
            return self._answer(200, {"name": "OpenStack Ironic Python Agent API"})
        if not allowed:
            return self._answer(401, {"faultcode": "Client", "faultstring": "Token invalid."})
        self._answer(200, {"commands": agent.commands})
        if agent.ending and agent.commands and agent.commands[-1]["command_status"] == "RUNNING":
            agent.ending()
        return None

    def do_POST(self) -> None:
        agent: AgentServer = self.server.agent
        _path, allowed = self._asked()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not allowed:
            return self._answer(401, {"faultcode": "Client", "faultstring": "Token invalid."})
        if agent.drop_before_post:
            return self._hang_up()
        status, answer = agent.execute(body)
        if agent.drop_after_post:
            return self._hang_up()
        return self._answer(status, answer)

    def _asked(self) -> tuple[str, bool]:
        agent: AgentServer = self.server.agent
        parts = urlsplit(self.path)
        token = parse_qs(parts.query).get("agent_token", [None])[0]
        agent.requests.append((self.command, parts.path))
        agent.tokens.append(token)
        return parts.path, token == TOKEN

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _answer(self, status: int, data: Any) -> None:
        content = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def date_time_string(self, _timestamp: float | None = None) -> str:
        """Tell the time of the machine's own clock."""
        return format_datetime(datetime.now(UTC) + self.server.agent.clock, usegmt=True)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def always(result: Any) -> Callable[[dict[str, Any]], Any]:
    """Return a command whose result is this, whatever it is asked."""
    return lambda _: result


def _executed(kind: str, params: dict[str, Any]) -> dict[str, Any]:
    return {f"{kind}_step": params["step"]}


def main(folder: Path, seconds: float) -> None:
    """Be an agent for a while."""
    agent = AgentServer(folder)
    disk = {"name": "/dev/sda", "size": 8 << 30, "serial": "S1", "model": "disk"}
    steps = {"Generic": [{"step": "erase_devices", "interface": "deploy", "priority": 10}]}
    logs = base64.b64encode(gzip.compress(b"archive")).decode()
    agent.answers = {
        "poll.get_hardware_info": lambda _: {"disks": [disk]},
        "standby.get_partition_uuids": lambda _: {},
        "log.collect_system_logs": lambda _: {"system_logs": logs},
        "image.install_bootloader": lambda _: None,
        "standby.power_off": lambda _: None,
    }
    for kind in ("clean", "deploy", "service"):
        offered = {f"{kind}_steps": steps, "hardware_manager_version": {"generic": "1"}}
        agent.answers[f"{kind}.get_{kind}_steps"] = always(offered)
        agent.answers[f"{kind}.execute_{kind}_step"] = partial(_executed, kind)
    agent.pages = {
        "/v1/nodes/node-1": {"provision_state": "manageable", "last_error": None},
        "/v1/nodes/node-1/inventory": {"inventory": {"disks": [disk]}},
    }
    with agent.running():
        part = folder / "agent.json.part"
        part.write_text(json.dumps(agent.options()))
        part.replace(folder / "agent.json")
        time.sleep(seconds)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
