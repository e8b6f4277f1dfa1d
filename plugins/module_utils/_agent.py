# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A client of the command API of ironic-python-agent.

The token goes with every request, reads too. TLS is verified with the certificate that the agent's heartbeat brought
and with nothing else; without one, with the certificates this host trusts.
Source: contract/agent-protocol.md section 3 (command API) and section 5 (automatic TLS).
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError

AGENT_OPTIONS: dict[str, dict[str, Any]] = {
    "url": {"type": "str"},
    "token": {"type": "str", "no_log": True},
    "ca": {"type": "str"},
    "timeout": {"type": "int", "default": 60},
}
"""The options of every module that talks to the agent; same as the doc fragment C(agent)."""

RUNNING, SUCCEEDED, FAILED = "RUNNING", "SUCCEEDED", "FAILED"
MISMATCH = "CLEAN_VERSION_MISMATCH"
ATTEMPTS = 3
PAUSE = 1.0
ANSWER_LIMIT = 256 << 20
"""Bytes; an archive of logs is the largest thing an agent sends."""

_NOT_YET_VALID, _EXPIRED = 9, 10
"""X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED of OpenSSL."""
_NO_CHECK_TIME = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME of OpenSSL, which module ssl has no name for."""
_REACH = (
    "Check that the machine is on and still runs the agent, and that the provisioning network lets port {port} through."
)


class AgentBusy(Exception):
    """The agent runs another command; it will say by a heartbeat when that one has ended."""


@dataclass(frozen=True)
class Command:
    """One command as the agent lists it; ``error`` is text, empty unless the command failed."""

    id: str
    name: str
    status: str
    result: dict[str, Any]
    error: str

    @classmethod
    def read(cls, data: Any) -> Command:
        """Return the command out of the agent's JSON; raise OperationError when it is none."""
        try:
            return cls(
                id=str(data["id"]),
                name=str(data["command_name"]),
                status=str(data["command_status"]),
                result=data["command_result"] if isinstance(data.get("command_result"), dict) else {},
                error=_error_text(data.get("command_error")),
            )
        except (KeyError, TypeError) as error:
            raise OperationError(
                "understand the answer of the agent",
                f"it describes a command without {error}",
                "Use a deploy ramdisk with ironic-python-agent.",
            ) from error


class Agent:
    """The agent of one machine. Every method raises OperationError when it cannot be reached or refuses."""

    def __init__(self, url: str, token: str, *, ca: str | None = None, timeout: int = 60) -> None:
        """Take the callback URL and the certificate (PEM text) of the heartbeat, and the token of this boot."""
        self._url = _split(url)
        self.token = token
        self._timeout = timeout
        self._context = _tls(ca) if self._url.scheme == "https" else None
        self.name = f"{self._url.scheme}://{self._url.netloc}"

    def status(self) -> dict[str, Any]:
        """Return what the agent says of itself: ``started_at`` and ``version``."""
        return self._ask("GET", "/v1/status", attempted="read the status")

    def commands(self) -> list[Command]:
        """Return all commands since the agent booted, oldest first."""
        answer = self._ask("GET", "/v1/commands/", attempted="list the commands")
        listed = answer.get("commands")
        return [Command.read(item) for item in listed] if isinstance(listed, list) else []

    def start(self, name: str, params: Mapping[str, Any]) -> Command:
        """Start an asynchronous command; return it, still RUNNING as a rule. Raise AgentBusy."""
        return self._post(name, params, wait=False)

    def call(self, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Run a command to its end and return its result. Raise AgentBusy, and OperationError when it failed."""
        return succeeded(self._post(name, params, wait=True), name, self.name)

    def _post(self, name: str, params: Mapping[str, Any], *, wait: bool) -> Command:
        body = json.dumps({"name": name, "params": params})
        attempted = f"run {name}"
        try:
            answer = self._ask("POST", "/v1/commands/", attempted=attempted, wait=str(wait).lower(), body=body)
        except _Dropped as dropped:
            last = next(reversed(self.commands()), None)
            if last is None or last.name != name.rpartition(".")[2] or last.status != RUNNING:
                raise self._lost(attempted, dropped) from dropped
            return last
        return Command.read(answer)

    def _ask(
        self, method: str, path: str, *, attempted: str, wait: str = "", body: str | None = None
    ) -> dict[str, Any]:
        query = {"agent_token": self.token, **({"wait": wait} if wait else {})}
        target = f"{self._url.path.rstrip('/')}{path}?{urlencode(query, quote_via=quote)}"
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._read(self._send(method, target, body), attempted)
            except ssl.SSLCertVerificationError as error:
                raise self._untrusted(attempted, error) from error
            except ConnectionRefusedError as error:
                lost: Exception = error
            except (OSError, http.client.HTTPException) as error:
                if method == "POST":
                    raise _Dropped(str(error) or type(error).__name__) from error
                lost = error
            if attempt < ATTEMPTS:
                time.sleep(PAUSE)
        raise self._lost(attempted, lost) from lost

    def _send(self, method: str, target: str, body: str | None) -> tuple[int, bytes]:
        headers = {"Accept": "application/json", "Connection": "close"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection = self._connection(self._context)
        try:
            connection.request(method, target, body=body, headers=headers)
            with connection.getresponse() as answer:
                return answer.status, answer.read(ANSWER_LIMIT)
        finally:
            connection.close()

    def _connection(self, context: ssl.SSLContext | None) -> http.client.HTTPConnection:
        host, port = self._url.hostname or "", self._url.port
        if context is None:
            return http.client.HTTPConnection(host, port, timeout=self._timeout)
        return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=context)

    def _read(self, answer: tuple[int, bytes], attempted: str) -> dict[str, Any]:
        status, content = answer
        try:
            data = json.loads(content)
        except ValueError:
            data = {}
        if status == 200 and isinstance(data, dict):
            return data
        text = str(data.get("faultstring") or "no explanation") if isinstance(data, dict) else "no explanation"
        if status == 409 or "Agent is busy" in text:
            raise AgentBusy(text)
        raise OperationError(
            f"{attempted} on the agent at {self.name}",
            f"it answered HTTP {status}: {text}",
            _ADVICE.get(status, "Read the agent's log on the console of the machine."),
        )

    def _lost(self, attempted: str, error: Exception) -> OperationError:
        port = self._url.port or 443
        cause = f"no usable answer came ({str(error) or type(error).__name__})"
        return OperationError(f"{attempted} on the agent at {self.name}", cause, _REACH.format(port=port))

    def _untrusted(self, attempted: str, error: ssl.SSLCertVerificationError) -> OperationError:
        attempted = f"{attempted} on the agent at {self.name}"
        if error.verify_code not in (_NOT_YET_VALID, _EXPIRED):
            return OperationError(
                attempted,
                f"its certificate is not the one of its heartbeat ({error.verify_message})",
                "Find out who answers at this address; boot the machine again when it is the right one.",
            )
        return OperationError(
            attempted,
            f"its certificate is not valid now ({error.verify_message}): {self._skew()}",
            "Set the clock of the machine (its BMC or firmware) or of this host, and repeat the operation.",
        )

    def _skew(self) -> str:
        """Say by how much the clocks differ; ask without the token, all of TLS verified except the time."""
        context = self._context
        if context is None:
            return "the clocks of the machine and of this host differ"
        context.verify_flags |= _NO_CHECK_TIME
        try:
            connection = self._connection(context)
            connection.request("GET", "/", headers={"Connection": "close"})
            date = parsedate_to_datetime(connection.getresponse().headers["Date"])
            connection.close()
        except (OSError, http.client.HTTPException, ValueError, TypeError):
            return "the clocks of the machine and of this host differ"
        finally:
            context.verify_flags &= ~_NO_CHECK_TIME
        return f"the machine's clock differs by {describe_skew(date, datetime.now(UTC))} from the clock of this host"


_ADVICE = {
    401: "The token of this boot is not the one that the agent has: end the operation and start it again.",
    404: "The ramdisk's agent does not know this command: use a newer deploy ramdisk.",
}


class _Dropped(Exception):
    """The connection ended after a command may have been sent."""


def succeeded(command: Command, name: str, agent: str) -> dict[str, Any]:
    """Return the result of a command that has ended well; raise OperationError with the agent's words otherwise."""
    if command.status == SUCCEEDED:
        return command.result
    raise OperationError(
        f"run {name} on the agent at {agent}",
        f"the agent says: {command.error or command.status}",
        "Read the agent's log (it is saved where logs are collected), correct the cause and repeat the operation.",
    )


def describe_skew(theirs: datetime, ours: datetime) -> str:
    """Return how far another clock is from ours, as ``1 day, 0:00:00 (behind)``."""
    difference = timedelta(seconds=round((theirs - ours).total_seconds()))
    return f"{abs(difference)} ({'ahead' if difference > timedelta() else 'behind'})"


def _tls(ca: str | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca is None:
        context.load_default_certs()
        return context
    # The agent's certificate signs itself: it is the end of the chain, whether or not it may sign others.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=ca)
    except (ssl.SSLError, ValueError) as error:
        raise OperationError(
            "use the agent's certificate", f"it is no PEM certificate ({error})", "Boot the machine's agent again."
        ) from error
    return context


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    except ValueError:
        pass
    raise OperationError(
        "reach the agent",
        f"its address {url!r} is no http or https URL",
        "Give the callback URL of the agent's heartbeat.",
    )


def _error_text(error: Any) -> str:
    if not error:
        return ""
    if isinstance(error, dict):
        words = [error.get(key) for key in ("message", "details", "error")]
        return ": ".join(dict.fromkeys(str(word) for word in words if word)) or str(
            error.get("type") or "unknown error"
        )
    return str(error)
