# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What a step must know of its node, as one JSON object; no effects (architecture.md, "The door").

The node comes in clear here: this is one of the two places where secrets are open, and nothing of it is logged or kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rackwright.domain.steps import Step
from rackwright.domain.verbs import Phase
from rackwright.engine.transitions import AGENT_BOOT, RESCUE_PASSWORD
from rackwright.settings import Settings

Data = dict[str, Any]

_BMC_DEFAULTS: Mapping[str, Data] = {
    "redfish": {
        "address": None,
        "system_id": None,
        "username": None,
        "password": None,
        "verify_ca": True,
        "auth_type": "auto",
    }
}
REPEATED_BOOTS = "repeated_boots"
"""Fact of an operation: how often the machine was booted again because its agent had not called."""

_BOOT_MODES = ("uefi", "bios")


@dataclass(frozen=True, slots=True)
class Subject:
    """One node and what its operation knows; ``node`` and ``ports`` are as the API shows them, in clear."""

    node: Data
    ports: Sequence[Data]
    protocol: str | None
    operation: str
    phase: Phase
    facts: Mapping[str, Any]


def compose(subject: Subject, step: Step, index: int, *, settings: Settings) -> Data:
    """Return everything that ``step`` may need of a node."""
    return {
        "node": subject.node,
        "ports": list(subject.ports),
        "phase": subject.phase.value,
        "step": {"name": step.name, "interface": step.interface.value, "index": index, "args": step.args},
        "facts": dict(subject.facts),
        "bmc": bmc(subject.node["driver_info"], subject.protocol),
        "agent": agent(subject.node["driver_internal_info"]),
        "commands": commands(subject),
        "boot": boot(subject, settings),
        "override": override(subject),
        "deploy": deploy(subject.node, settings),
        "fake": {"delay": settings.fake_delays.get(step.interface, "0")},
        "logs": str(settings.state_dir / "logs" / "deploy"),
    }


def override(subject: Subject) -> Data:
    """Return how the boot override is set; after a boot in vain in the other way than before."""
    boots = subject.facts.get(REPEATED_BOOTS, 0)
    return {"persistent": boots % 2 == 1} if boots else {}


def bmc(info: Mapping[str, Any], protocol: str | None) -> Data:
    """Return how to reach the BMC: the keys of driver_info that carry the protocol's name, without it."""
    if protocol is None:
        return {}
    prefix = f"{protocol}_"
    given = {key.removeprefix(prefix): value for key, value in info.items() if key.startswith(prefix)}
    found = {"protocol": protocol, **_BMC_DEFAULTS.get(protocol, {}), **given}
    address = found.get("address")
    if protocol == "redfish" and isinstance(address, str) and "://" not in address:
        found["address"] = f"https://{address}"
    return found


def agent(info: Mapping[str, Any]) -> Data:
    """Return how to reach the agent; its URL is null until it has sent a heartbeat in this operation."""
    return {
        "url": info.get("agent_url"),
        "token": info.get("agent_secret_token"),
        "ca": info.get("agent_verify_ca"),
        "seen_at": info.get("agent_last_heartbeat"),
    }


def commands(subject: Subject) -> Data:
    """Return the parameters of the agent's commands that are made out of what the node knows, by command."""
    if subject.phase is not Phase.RESCUE:
        return {}
    password = subject.node["instance_info"].get(RESCUE_PASSWORD)
    return {"rescue.finalize_rescue": {"rescue_password": password, "hashed": True}}


def boot(subject: Subject, settings: Settings) -> Data:
    """Return what the machine boots the agent with, and where the ISO for it is made and served."""
    info = subject.node["driver_info"]
    kind = _ramdisk(subject.phase)
    name = f"{subject.node['driver_internal_info'].get(AGENT_BOOT) or subject.operation}.iso"
    return {
        "mode": boot_mode(subject.node, settings),
        "kernel": info.get(f"{kind}_kernel") or getattr(settings, f"{kind}_kernel"),
        "ramdisk": info.get(f"{kind}_ramdisk") or getattr(settings, f"{kind}_ramdisk"),
        "bootloader": info.get("bootloader") or settings.bootloader,
        "iso": ready_made(info, subject.phase),
        "parameters": parameters(subject, settings),
        "append": append(subject, settings),
        "file": str(settings.boot_dir.absolute() / name),
        "url": f"{info.get('external_http_url') or settings.files_url}/boot/{name}",
        "cache": str(settings.state_dir.absolute() / "cache"),
    }


def ready_made(info: Mapping[str, Any], phase: Phase) -> str | None:
    """Return the URL of the image that the node brings itself; it is used as it is, so no token can be put into it."""
    found: str | None = info.get(f"{_ramdisk(phase)}_iso")
    return found


def _ramdisk(phase: Phase) -> str:
    return "rescue" if phase is Phase.RESCUE else "deploy"


def boot_mode(node: Data, settings: Settings) -> str:
    """Return the boot mode; the first that is named wins (contract: engine.md section 5)."""
    instance = capabilities(node["instance_info"].get("capabilities"))
    if str(instance.get("secure_boot", "")).lower() == "true":
        return "uefi"
    named = (
        instance.get("boot_mode"),
        node["instance_info"].get("deploy_boot_mode"),
        capabilities(node["properties"].get("capabilities")).get("boot_mode"),
        node["driver_internal_info"].get("deploy_boot_mode"),
    )
    return next((str(mode) for mode in named if mode in _BOOT_MODES), settings.default_boot_mode)


def capabilities(value: object) -> Data:
    """Return capabilities in any of their forms: object, JSON text, or ``key:value,key:value``."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, str):
        return {}
    try:
        parsed = json.loads(value)
    except ValueError:
        pairs = (part.partition(":") for part in value.split(","))
        return {key.strip(): text.strip() for key, colon, text in pairs if colon}
    return parsed if isinstance(parsed, dict) else {}


def parameters(subject: Subject, settings: Settings) -> Data:
    """Return the kernel parameters by which the agent finds us and proves itself."""
    found: Data = {
        "ipa-api-url": settings.callback_url,
        "ipa-agent-token": subject.node["driver_internal_info"].get("agent_secret_token"),
        "boot_method": "vmedia",
    }
    if subject.phase is Phase.INSPECT:
        found["ipa-inspection-callback-url"] = f"{settings.callback_url}/v1/continue_inspection"
    if settings.log_level == "DEBUG":
        found["ipa-debug"] = "1"
    return {key: value for key, value in found.items() if value is not None}


def append(subject: Subject, settings: Settings) -> str:
    """Return further kernel parameters; ``%default%`` in a node's own ones stands for the operator's."""
    node = subject.node
    own = node["instance_info"].get("kernel_append_params") or node["driver_info"].get("kernel_append_params")
    default = settings.kernel_append_params
    text = str(own).replace("%default%", default) if own else default
    return f"{text} {settings.extra_kernel_params}".strip() if subject.phase is Phase.INSPECT else text


def deploy(node: Data, settings: Settings) -> Data:
    """Return what is to be written to the disk."""
    info, properties = node["instance_info"], node["properties"]
    return {
        "instance_info": {key: value for key, value in info.items() if key != "configdrive"},
        "configdrive": info.get("configdrive"),
        "image_dir": str(settings.image_dir.absolute()),
        "image_url": f"{settings.files_url}/images",
        "allowed_paths": [str(path) for path in settings.file_url_allowed_paths],
        "skip_block_devices": properties.get("skip_block_devices") or [],
        "root_device": info.get("root_device") or properties.get("root_device") or {},
    }
