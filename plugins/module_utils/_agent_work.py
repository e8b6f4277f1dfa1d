# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the agent's modules do: each function takes a module's options and returns its answer.

They wait for the agent where they must. In a run of the daemon the action plugins of the same names never wait.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._agent import (
    AGENT_OPTIONS,
    ANSWER_LIMIT,
    Agent,
    AgentBusy,
)
from ansible_collections.rackwright.metal.plugins.module_utils._agent_steps import (
    Job,
    finish,
    machine,
    step_job,
    step_params,
)
from ansible_collections.rackwright.metal.plugins.module_utils._config_drive import ready
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.plugins.module_utils._hints import find
from ansible_collections.rackwright.metal.plugins.module_utils._image import check_fits, image_info

Data = dict[str, Any]

KINDS = ("clean", "deploy", "service")
_MACHINE: Data = {
    "node": {"type": "dict", "default": {}},
    "ports": {"type": "list", "elements": "dict", "default": []},
}
_STEP: Data = {
    **AGENT_OPTIONS,
    **_MACHINE,
    "version": {"type": "dict"},
    "wait_timeout": {"type": "int", "default": 3600},
}

OPTIONS: dict[str, Data] = {
    "agent_info": {
        **AGENT_OPTIONS,
        "gather": {
            "type": "list",
            "elements": "str",
            "choices": ["status", "commands", "inventory"],
            "default": ["status", "commands"],
        },
    },
    "agent_command": {
        **AGENT_OPTIONS,
        "name": {"type": "str", "required": True},
        "parameters": {"type": "dict", "default": {}},
        "best_effort": {"type": "bool", "default": False},
        "wait_timeout": {"type": "int", "default": 3600},
    },
    "agent_steps_info": {**AGENT_OPTIONS, **_MACHINE, "type": {"type": "str", "choices": [*KINDS], "required": True}},
    "agent_step": {
        **_STEP,
        "type": {"type": "str", "choices": [*KINDS]},
        "interface": {"type": "str"},
        "step": {"type": "str"},
        "args": {"type": "dict", "default": {}},
    },
    "agent_image": {
        **_STEP,
        "image": {"type": "dict", "default": {}},
        "image_url": {"type": "str"},
        "configdrive": {"type": "raw", "no_log": True},
        "root_device": {"type": "dict", "default": {}},
    },
    "agent_bootloader": {
        **AGENT_OPTIONS,
        "boot_mode": {"type": "str", "choices": ["uefi", "bios"], "default": "uefi"},
        "wait_timeout": {"type": "int", "default": 600},
    },
    "agent_logs": {
        **AGENT_OPTIONS,
        "dest": {"type": "path"},
        "label": {"type": "str", "default": "agent"},
        "best_effort": {"type": "bool", "default": False},
    },
    "root_device": {
        **AGENT_OPTIONS,
        "hints": {"type": "dict", "default": {}},
        "skip_block_devices": {"type": "list", "elements": "dict", "default": []},
    },
}
"""The options of each module by its name."""

WRITE_IMAGE = ("deploy", "write_image")
_DISK_KEYS = ("name", "by_path", "serial", "wwn", "model", "size")
_PLAIN = re.compile(r"[A-Za-z0-9._:/-]+")
"""What a hint may consist of so that no reader takes a part of it for an operator."""


def connect(params: Mapping[str, Any]) -> Agent:
    """Return the agent that the options name; raise OperationError when they name none."""
    if not params.get("url") or not params.get("token"):
        raise OperationError(
            "reach the agent",
            "its url or token is not given",
            "Give url and token of the agent that runs on the machine.",
        )
    return Agent(params["url"], params["token"], ca=params.get("ca"), timeout=params["timeout"])


def info(params: Data, _check_mode: bool) -> Data:
    """Return what the agent is, what it did and what it sees."""
    return {"changed": False, **gather(connect(params), params["gather"])}


def gather(agent: Agent, wanted: Collection[str]) -> Data:
    """Return what is wanted: ``status``, ``commands``, ``inventory``."""
    found = Data()
    if "status" in wanted:
        found["status"] = agent.status()
    if "commands" in wanted:
        commands = agent.commands()
        found["commands"] = [
            {"id": one.id, "name": one.name, "status": one.status, "error": one.error} for one in commands
        ]
    if "inventory" in wanted:
        found["inventory"] = ask(agent, "poll.get_hardware_info", {})
    return found


def ask(agent: Agent, name: str, params: Mapping[str, Any]) -> Data:
    """Return the result of a synchronous command; raise OperationError also when the agent is busy."""
    try:
        return agent.call(name, params)
    except AgentBusy as busy:
        raise OperationError(
            f"run {name} on the agent at {agent.name}", "it runs another command", "Wait until that one has ended."
        ) from busy


def command(params: Data, check_mode: bool) -> Data:
    """Run one command to its end."""
    if check_mode:
        return {"changed": True}
    try:
        done = finish(connect(params), Job(params["name"], lambda: params["parameters"]), params["wait_timeout"])
    except OperationError as error:
        if not params["best_effort"]:
            raise
        return {"changed": False, "warnings": [str(error)]}
    return {"changed": True, "result": done.result}


def steps(params: Data, _check_mode: bool) -> Data:
    """Return the steps that the agent offers."""
    return {"changed": False, **offered(connect(params), params["type"], machine(params["node"], params["ports"]))}


def offered(agent: Agent, kind: str, sent: Mapping[str, Any]) -> Data:
    """Return the steps of a kind, grouped by hardware manager, and the managers' versions. Raise AgentBusy too."""
    result = agent.call(f"{kind}.get_{kind}_steps", sent)
    return {
        "agent_steps": result.get(f"{kind}_steps") or {},
        "hardware_manager_version": result.get("hardware_manager_version") or {},
    }


def step(params: Data, check_mode: bool) -> Data:
    """Carry out one step of the agent."""
    _demand(params, "run a step of the agent", "type", "interface", "step")
    if check_mode:
        return {"changed": True}
    kind, pair = params["type"], (params["interface"], params["step"])
    sent = machine(params["node"], params["ports"], configdrive=kind == "deploy")
    values = step_params(kind, pair, sent, args=params["args"], version=params["version"])
    done = finish(connect(params), step_job(kind, pair, lambda: values), params["wait_timeout"])
    return {"changed": True, "result": done.result.get(f"{kind}_result")}


def _demand(params: Data, attempted: str, *names: str) -> None:
    missing = [name for name in names if not params[name]]
    if missing:
        raise OperationError(attempted, f"not given: {', '.join(missing)}", "Give these options.")


def image(params: Data, check_mode: bool) -> Data:
    """Write an image and its config drive to the root device."""
    _demand(params, "write the image", "image", "image_url", "root_device")
    check_fits(params["image"], params["root_device"])
    if check_mode:
        return {"changed": True}
    drive = ready(params["configdrive"], params["node"])
    values = write_image(params, drive)
    finish(connect(params), step_job("deploy", WRITE_IMAGE, lambda: values), params["wait_timeout"])
    return {"changed": True}


def write_image(params: Mapping[str, Any], configdrive: str | None) -> Data:
    """Return the parameters of the step that writes an image; the node is narrowed to the one disk that was chosen."""
    hint = params["root_device"]["hint"]
    sent = machine(params["node"], params["ports"])
    for place in ("instance_info", "properties"):
        sent["node"][place] = {**(sent["node"].get(place) or {}), "root_device": hint}
    written = image_info(params["image"], params["image_url"], params["node"])
    args = {"image_info": written, "configdrive": configdrive}
    return step_params("deploy", WRITE_IMAGE, sent, args=args, version=params["version"])


def bootloader(params: Data, check_mode: bool) -> Data:
    """Make the firmware boot what was written."""
    if params["boot_mode"] != "uefi":
        return {"changed": False}
    if check_mode:
        return {"changed": True}
    agent = connect(params)
    finish(agent, bootloader_job(agent, params["boot_mode"]), params["wait_timeout"])
    return {"changed": True}


def bootloader_job(agent: Agent, boot_mode: str) -> Job:
    """Return the command that makes the firmware boot what was written (contract section 6, deploy 4)."""

    def params() -> Data:
        found = agent.call("standby.get_partition_uuids", {})
        return {
            "root_uuid": found.get("root uuid"),
            "efi_system_part_uuid": found.get("efi system partition uuid"),
            "prep_boot_part_uuid": found.get("PReP Boot partition uuid"),
            "target_boot_mode": boot_mode,
        }

    return Job("image.install_bootloader", params)


def root_device(params: Data, _check_mode: bool) -> Data:
    """Choose the disk that the image goes to."""
    inventory = ask(connect(params), "poll.get_hardware_info", {})
    return {"changed": False, "root_device": choose(inventory, params["hints"], params["skip_block_devices"])}


def choose(inventory: Mapping[str, Any], hints: Mapping[str, Any], skip: list[Data]) -> Data:
    """Return the one disk that fits, with a ``hint`` that fits no other disk; raise OperationError."""
    disks = [disk for disk in inventory.get("disks") or [] if isinstance(disk, dict)]
    disk = find(hints, disks, skip=skip)
    return {**{key: disk.get(key) for key in _DISK_KEYS}, "hint": _only(disk, disks)}


def _only(disk: Mapping[str, Any], disks: list[Data]) -> Data:
    for key in ("serial", "wwn", "by_path"):
        value = str(disk.get(key) or "")
        same = [other for other in disks if str(other.get(key) or "").lower() == value.lower()]
        if _PLAIN.fullmatch(value) and len(same) == 1:
            return {key: f"s== {value}"}
    return {"name": f"s== {disk['name']}"}


def logs(params: Data, check_mode: bool) -> Data:
    """Save the agent's logs; with best_effort a failure is only a warning."""
    if check_mode:
        return {"changed": True}
    try:
        path = save_logs(connect(params), params["dest"], params["label"])
    except OperationError as error:
        if not params["best_effort"]:
            raise
        return {"changed": False, "warnings": [str(error)]}
    return {"changed": True, "path": str(path)}


def save_logs(agent: Agent, folder: str | None, label: str) -> Path:
    """Save the agent's logs as ``<label>_<time>.tar.gz`` in a folder, readable by us alone, and return the path."""
    attempted = "save the logs of the agent"
    if not folder:
        raise OperationError(attempted, "no folder for them is given", "Give dest.")
    try:
        archive = base64.b64decode(str(ask(agent, "log.collect_system_logs", {}).get("system_logs") or ""))
        content = _starred(archive, agent.token)
    except (binascii.Error, EOFError, OSError, zlib.error) as error:
        raise OperationError(
            attempted, f"they are no base64 text of a gzip archive ({error})", "Use a newer deploy ramdisk."
        ) from error
    name = f"{safe_name(label)}_{datetime.now(UTC):%Y-%m-%d-%H-%M-%S}.tar.gz"
    target = Path(folder) / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(content)
    except OSError as error:
        raise OperationError(
            attempted, str(error), "Make room in the folder, and let the daemon's user write to it."
        ) from error
    return target


def _starred(archive: bytes, secret: str) -> bytes:
    """Return a gzip archive with stars for a secret, which kernels and agents log; as many, since it holds a tar."""
    with gzip.open(io.BytesIO(archive)) as stream:
        plain = stream.read(ANSWER_LIMIT)
    return gzip.compress(plain.replace(secret.encode(), b"*" * len(secret.encode())))


def safe_name(text: str) -> str:
    """Return text as a part of a file name: letters, digits, dots, dashes and underscores, not more than 100."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).lstrip(".-")[:100] or "agent"


WORK: dict[str, Callable[[Data, bool], Data]] = {
    "agent_info": info,
    "agent_command": command,
    "agent_steps_info": steps,
    "agent_step": step,
    "agent_image": image,
    "agent_bootloader": bootloader,
    "agent_logs": logs,
    "root_device": root_device,
}
"""What each module does by its name."""
