# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The Redfish service: who may ask, what goes wrong, and what is done."""

from __future__ import annotations

import asyncio
import base64
import secrets
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rackwright_lab.simulated import actions, documents, habits
from rackwright_lab.simulated.actions import DONE, refusal
from rackwright_lab.simulated.documents import ROOT, SESSIONS
from rackwright_lab.simulated.faults import Active, Kind, MachineFaults
from rackwright_lab.simulated.firmware import Updates
from rackwright_lab.simulated.http import NOTHING, Answer, Data, Refused, Request
from rackwright_lab.simulated.machine import Machine

USERNAME, PASSWORD = "admin", "password"
_BASIC = "Basic " + base64.b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode()
_KINDS = ("Systems", "Managers", "Chassis", "UpdateService/FirmwareInventory")
_UPDATE = "UpdateService/Actions/UpdateService.SimpleUpdate"
_CUT = 0.5  # the share of a cut answer that arrives
_ABSENT = refusal(404, "ResourceMissingAtURI", "There is no such resource.")

Key = tuple[str, str]


class Sessions:
    """Who is logged in; a session ends when nobody uses it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._used: dict[str, float] = {}
        self._tokens: dict[str, str] = {}

    def __len__(self) -> int:
        self._expire()
        return len(self._used)

    def open(self, body: Data) -> Answer:
        """Log in."""
        if (body.get("UserName"), body.get("Password")) != (USERNAME, PASSWORD):
            return refusal(401, "AccessDenied", "Wrong user name or password.")
        self._expire()
        token, number = secrets.token_hex(16), secrets.token_hex(4)
        self._used[token], self._tokens[number] = time.monotonic(), token
        path = f"{SESSIONS}/{number}"
        about = {"@odata.id": path, "Id": number, "Name": "Session", "UserName": USERNAME}
        return Answer(201, about, {"X-Auth-Token": token, "Location": path})

    def close(self, number: str) -> None:
        """Log out."""
        self._used.pop(self._tokens.pop(number, ""), None)

    def forget(self, token: str) -> None:
        """Lose a session."""
        self._used.pop(token, None)

    def knows(self, token: str) -> bool:
        """Return whether a session is open, and keep it so."""
        now = time.monotonic()
        if now - self._used.get(token, -self.seconds) >= self.seconds:
            return False
        self._used[token] = now
        return True

    def listed(self) -> Sequence[str]:
        """Return the paths of the sessions."""
        self._expire()
        return [f"{SESSIONS}/{number}" for number in self._tokens]

    def _expire(self) -> None:
        end = time.monotonic() - self.seconds
        self._used = {token: used for token, used in self._used.items() if used > end}
        self._tokens = {number: token for number, token in self._tokens.items() if token in self._used}


class Service:
    """A Redfish service for some machines."""

    def __init__(self, machines: Sequence[Machine], shared: MachineFaults, session_seconds: float) -> None:
        self._machines = {machine.uuid: machine for machine in machines}
        self._only = machines[0] if len(machines) == 1 else None
        self._faults = self._only.faults if self._only else shared
        self._updates = Updates()
        self._uuid = str(uuid.uuid4())
        self.requests = 0
        self.sessions = Sessions(session_seconds)

    async def answer(self, request: Request) -> Answer:
        """Answer a request, or not, as the faults will."""
        self.requests += 1
        machine, key = self._find(request.path)
        faults = machine.faults if machine else self._faults
        if machine and self._updates.is_away(machine):
            return NOTHING
        before = faults.request(Kind.BEFORE)
        if before is not None:
            _note(machine, before, request)
            if (spoiled := await self._spoil(before, request)) is not None:
                return spoiled
        answer = self._carry_out(request, machine, key)
        after = faults.request(Kind.AFTER)
        if after is None:
            return answer
        _note(machine, after, request)
        return replace(answer, arrives=0.0 if after.rule.fault == "answer-lost" else _CUT)

    def _find(self, path: str) -> tuple[Machine | None, Key | None]:
        """Return the machine that a path is about, and the path without it; None when it is about the service."""
        rest = path.removeprefix(ROOT).strip("/")
        for kind in _KINDS:
            if rest.startswith(f"{kind}/"):
                ident, _, below = rest.removeprefix(f"{kind}/").partition("/")
                return self._machines.get(ident), (kind, below)
        return self._only, None

    async def _spoil(self, fault: Active, request: Request) -> Answer | None:
        match fault.rule.fault:
            case "unavailable":
                return refusal(503, "ServiceTemporarilyUnavailable", "The service is busy.")
            case "server-error":
                return refusal(500, "InternalError", "Something went wrong.")
            case "connection-reset":
                return NOTHING
            case "session-expired":
                self.sessions.forget(request.headers.get("X-Auth-Token", ""))
                return None
        await asyncio.sleep(fault.seconds)
        return None if fault.rule.fault == "slow-answer" else NOTHING

    def _carry_out(self, request: Request, machine: Machine | None, key: Key | None) -> Answer:
        if not self._may(request):
            return refusal(401, "NoValidSession", "There is no valid session.")
        try:
            if key is None:
                return self._about_service(request, machine, request.path.removeprefix(ROOT).strip("/"))
            return _about_machine(request, machine, key) if machine else _ABSENT
        except Refused as refused:
            return refused.answer

    def _may(self, request: Request) -> bool:
        path = request.path.rstrip("/")
        if path in (ROOT, "/redfish") or (request.method == "POST" and path == SESSIONS):
            return True
        token = request.headers.get("X-Auth-Token")
        return self.sessions.knows(token) if token else request.headers.get("Authorization") == _BASIC

    def _about_service(self, request: Request, machine: Machine | None, path: str) -> Answer:
        sessions = SESSIONS.removeprefix(f"{ROOT}/")
        match request.method:
            case "POST" if path == sessions:
                return self.sessions.open(request.body)
            case "DELETE" if path.startswith(f"{sessions}/"):
                self.sessions.close(path.rpartition("/")[2])
                return DONE
            case "POST" if path == _UPDATE and machine is not None:
                return self._updates.start(machine, request.body)
            case "GET":
                return self._show(request, path)
        return refusal(405, "OperationNotAllowed", "This cannot be done here.")

    def _show(self, request: Request, path: str) -> Answer:
        if path in _KINDS:
            here, slash = f"{ROOT}/{path}", ""
            if self._faults.habit("redirects-and-trailing-slashes"):
                slash = "/"
                if not request.path.endswith("/"):
                    return Answer(308, None, {"Location": f"{request.path}/"})
            return Answer(200, documents.collection(here, [f"{here}/{ident}{slash}" for ident in self._machines]))
        if path.startswith("TaskService/Tasks/"):
            found = self._updates.get(path.rpartition("/")[2])
        else:
            found = self._resources().get(path)
        return _ABSENT if found is None else Answer(200, found)

    def _resources(self) -> Mapping[str, Data]:
        tasks, registries, updates = (f"{ROOT}/{name}" for name in ("TaskService", "Registries", "UpdateService"))
        return {
            "": documents.root(self._uuid),
            "SessionService": documents.session_service(self.sessions.seconds),
            "SessionService/Sessions": documents.collection(SESSIONS, self.sessions.listed()),
            "TaskService": {"@odata.id": tasks, "Id": "TaskService", "Tasks": documents.link(f"{tasks}/Tasks")},
            "TaskService/Tasks": documents.collection(f"{tasks}/Tasks", self._updates.listed()),
            "Registries": documents.collection(registries, [f"{registries}/Simulated.1.0"]),
            "Registries/Simulated.1.0": documents.registry(),
            "UpdateService": {
                **{"@odata.id": updates, "Id": "UpdateService", "Name": "Updates", "ServiceEnabled": True},
                "FirmwareInventory": documents.link(f"{updates}/FirmwareInventory"),
                "Actions": {"#UpdateService.SimpleUpdate": {"target": f"{ROOT}/{_UPDATE}"}},
            },
        }


def _about_machine(request: Request, machine: Machine, key: Key) -> Answer:
    if request.method == "GET":
        return _show(machine, key)
    told: Answer | None
    if request.method == "PATCH" and not habits.accepts(machine, request.headers.get("If-Match")):
        told = refusal(412, "PreconditionFailed", "The resource has changed.")
    else:
        told = habits.answer(machine, key, request)
    if told is None:
        change = {"PATCH": actions.PATCHES, "POST": actions.POSTS}.get(request.method, {}).get(key)
        try:
            told = change(machine, request.body) if change else refusal(405, "OperationNotAllowed")
        except Refused as refused:
            told = refused.answer
    machine.history.add("request", method=request.method, path=request.path, status=told.status)
    return told


def _show(machine: Machine, key: Key) -> Answer:
    make = documents.RESOURCES.get(key)
    found = habits.show(machine, key, make(machine) if make else None)
    if found is None:
        return _ABSENT
    if key == ("Systems", ""):
        machine.tell_power()
    etag = habits.etag_header(machine)
    return Answer(200, found, {"ETag": etag} if etag else {})


def _note(machine: Machine | None, fault: Active, request: Request) -> None:
    if machine is not None:
        machine.history.add("fault", fault=fault.rule.fault, request=f"{request.method} {request.path}")
