# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a step of the agent is sent with, and how far it has got.

An asynchronous command is looked for before it is started, so that the same step may be entered any number of times and
is carried out once. Source: contract/agent-protocol.md section 3.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._agent import (
    MISMATCH,
    RUNNING,
    Agent,
    AgentBusy,
    Command,
    succeeded,
)
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError

MASK = "******"
_SECRET_WORDS = (
    *("password", "adminpass", "admin_pass", "auth_token", "token", "new_pass", "secret", "sys_pswd"),
    *("chappassword", "chapsecret", "encrypted_key", "private_key", "fernetkey", "sslkey", "passphrase"),
    *("snmp_auth_key", "snmp_priv_key", "passwd", "pwd", "credential", "api_key", "apikey", "ssh_key", "sshkey"),
    *("kg_key", "community", "authorization", "cookie"),
)
"""Parts of keys whose values are secret (contract/node-fields.md, "Masking")."""

ERASE_DEFAULTS = {
    "agent_erase_devices_iterations": 1,
    "agent_erase_devices_zeroize": True,
    "agent_continue_if_secure_erase_failed": False,
    "agent_continue_if_ata_erase_failed": False,
    "agent_enable_nvme_secure_erase": True,
    "agent_enable_ata_secure_erase": True,
    "disk_erasure_concurrency": 4,
    "agent_erase_skip_read_only": False,
}
"""What the agent reads from driver_internal_info before it erases (contract, "Clean parameters")."""

POLL = 2.0
"""Seconds between two looks of a module that waits for a command to end."""


@dataclass(frozen=True)
class Job:
    """One asynchronous command of the agent.

    ``make`` returns its parameters, and is called only when the command must be started; ``pair`` is (interface, step)
    where the command carries out a step of ``kind`` clean, deploy or service.
    """

    name: str
    make: Callable[[], dict[str, Any]] = dict
    kind: str = ""
    pair: tuple[str, str] = ("", "")

    @property
    def attempted(self) -> str:
        """Return what the command is called in errors."""
        return f"{self.name} ({'.'.join(self.pair)})" if self.kind else self.name


def step_job(kind: str, pair: tuple[str, str], make: Callable[[], dict[str, Any]]) -> Job:
    """Return the command that carries out the step ``pair``; ``make`` gives its parameters, see ``step_params``."""
    return Job(name=f"{kind}.execute_{kind}_step", make=make, kind=kind, pair=pair)


def step_params(
    kind: str, pair: tuple[str, str], machine: Mapping[str, Any], *, args: Mapping[str, Any] | None = None, version: Any
) -> dict[str, Any]:
    """Return the parameters of a step; ``machine`` holds node and ports, ``version`` that of the agent's managers."""
    step = {"interface": pair[0], "step": pair[1], "priority": 0, "args": dict(args or {})}
    return {"step": step, **machine, f"{kind}_version": version}


def find(commands: Iterable[Command], job: Job, claimed: Collection[str]) -> Command | None:
    """Return the newest command that is, or may be, this job; None when it has not been started since the agent booted.

    ``claimed`` are ids of commands that carried out other steps: the result of an equal step is not taken twice. A
    command that runs, or failed, does not say its step; only one runs at a time, and a failure ends the list: it is
    this one.
    """
    short = job.name.rpartition(".")[2]
    for command in reversed(list(commands)):
        if command.name != short or command.id in claimed:
            continue
        done = command.result.get(f"{job.kind}_step") if job.kind else None
        if isinstance(done, dict) and (done.get("interface"), done.get("step")) != job.pair:
            return None
        return command
    return None


def advance(agent: Agent, job: Job, claimed: Collection[str] = ()) -> Command:
    """Look for the job's command, start it when there is none, and return it: RUNNING or SUCCEEDED.

    Raise AgentBusy while the agent runs another command, and OperationError when the command failed.
    """
    command = find(agent.commands(), job, claimed) or agent.start(job.name, job.make())
    if command.status == MISMATCH:
        raise OperationError(
            f"run {job.attempted} on the agent at {agent.name}",
            "the versions of the agent's hardware managers are not those of the start of this operation",
            "The machine has booted another deploy ramdisk meanwhile: start the operation again.",
        )
    if command.status != RUNNING:
        succeeded(command, job.attempted, agent.name)
    return command


def finish(agent: Agent, job: Job, limit: float) -> Command:
    """Carry out the job and wait up to ``limit`` seconds for its end; raise OperationError when it takes longer."""
    end = time.monotonic() + limit
    known = {command.id for command in agent.commands() if command.status != RUNNING}
    while True:
        try:
            command = advance(agent, job, known)
        except AgentBusy:
            command = None
        if command is not None and command.status != RUNNING:
            return command
        if time.monotonic() >= end:
            raise OperationError(
                f"run {job.attempted} on the agent at {agent.name}",
                f"it has not ended after {limit:.0f} seconds",
                "Raise wait_timeout, or look at the console of the machine.",
            )
        time.sleep(POLL)


def machine(
    node: Mapping[str, Any], ports: Iterable[Mapping[str, Any]], *, configdrive: bool = False
) -> dict[str, Any]:
    """Return the ``node`` and ``ports`` parameters: as the API shows them, secrets masked, with the erase parameters.

    Only deploy steps get the config drive.
    """
    shown = mask(dict(node))
    shown["driver_internal_info"] = {**ERASE_DEFAULTS, **(shown.get("driver_internal_info") or {})}
    instance_info = node.get("instance_info") or {}
    if configdrive and "configdrive" in instance_info:
        shown["instance_info"]["configdrive"] = instance_info["configdrive"]
    return {"node": shown, "ports": [dict(port) for port in ports]}


def mask(value: Any, key: str = "") -> Any:
    """Return a copy in which every text with a secret's key, at any depth, and every config drive reads ``******``."""
    if "configdrive" in key.lower():
        return value and MASK
    if isinstance(value, Mapping):
        return {name: mask(each, str(name)) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [mask(each, key) for each in value]
    secret = any(word in key.lower() for word in _SECRET_WORDS) or re.search(r"(?<![a-z])pass$", key, re.IGNORECASE)
    return MASK if secret and isinstance(value, str) else value
