# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Deployments that go wrong, all at once, as on a bad day in a data centre."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.integration.server.lab.image_server import ImageServer
from tests.integration.server.lab.lab_daemon import DRIVE, LabDaemon
from tests.integration.server.lab.light_rack import Machine

WRONG_SUM = "0" * 64
NAMES = (
    *("no-image", "wrong-sum-of-file", "raw-that-is-qcow2", "file-of-others", "no-kernel"),
    *("wrong-sum-of-url", "too-large", "no-such-disk"),
)


@dataclass
class Fault:
    """What is wrong with a node, and what must be said of it."""

    instance_info: Mapping[str, Any]
    words: tuple[str, ...]
    """Parts of last_error: the step, the cause, the next action."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)
    boots: bool = False
    """Whether only the agent can find out."""


@dataclass
class Case:
    """A fault, the node that has it, and what became of the node."""

    fault: Fault
    machine: Machine
    uuid: str
    node: dict[str, Any] = field(default_factory=dict)


def local(folder: Path, name: str, **changes: str) -> dict[str, str]:
    """Return the instance_info of an image that is a file of the daemon's host."""
    digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    info = {"image_source": f"file://{folder / name}", "image_os_hash_algo": "sha256", "image_os_hash_value": digest}
    return {**info, **changes}


def deploy_faults(folder: Path, server: ImageServer) -> dict[str, Fault]:
    """Return the faults of images, disks and nodes that end a deployment, by name."""
    return dict(zip(NAMES, (*_seen_at_once(folder, server), *_seen_by_the_agent(server)), strict=True))


def _seen_at_once(folder: Path, server: ImageServer) -> tuple[Fault, ...]:
    good, nothing = server.image("lab-os.raw"), f"{server.url}/nothing.raw"
    return (
        Fault({**good, "image_source": nothing}, ("deploy.deploy", nothing, "404", "Check the URL")),
        Fault(
            local(folder, "lab-os.raw", image_os_hash_value=WRONG_SUM),
            ("deploy.deploy", "lab-os.raw", WRONG_SUM, "Copy the image again"),
        ),
        Fault(
            local(folder, "lab-os.qcow2", image_disk_format="raw"),
            ("deploy.deploy", "says raw", "qcow2", "Set image_disk_format"),
        ),
        Fault(
            {"image_source": "file:///etc/shadow", "image_checksum": WRONG_SUM},
            ("deploy.deploy", "allowed folders", "Put it into an allowed folder"),
        ),
        Fault(
            good,
            ("boot.boot_ramdisk", "gone", "no such file", "Correct the URL"),
            info={"deploy_kernel": f"file://{folder}/gone"},
        ),
    )


def _seen_by_the_agent(server: ImageServer) -> tuple[Fault, ...]:
    good = server.image("lab-os.raw")
    hints = {"properties": {"capabilities": "boot_mode:uefi", "root_device": {"serial": "another-disk"}}}
    return (
        Fault(
            {**good, "image_os_hash_value": WRONG_SUM},
            ("deploy.write_image", "checksum", WRONG_SUM, "correct the cause and repeat"),
            boots=True,
        ),
        Fault(
            server.image("large.qcow2"),
            ("deploy.write_image", str(8 << 30), str(4 << 30), "Use a smaller image"),
            boots=True,
        ),
        Fault(
            good,
            ("deploy.write_image", "root disk", "none of the disks", "light-disk", "Set root_device"),
            fields=hints,
            boots=True,
        ),
    )


def start(daemon: LabDaemon, machine: Machine, name: str, fault: Fault) -> Case:
    """Create the node of a fault and lead it to available; one that never boots needs no port of its own."""
    node = daemon.enroll(
        machine,
        address=machine.mac if fault.boots else _address(),
        name=name,
        info=fault.info,
        automated_clean=False,
        instance_info=dict(fault.instance_info),
        **fault.fields,
    )
    return Case(fault, machine, node)


def _address() -> str:
    return "02:" + ":".join(f"{byte:02x}" for byte in secrets.token_bytes(5))


def run_all(daemon: LabDaemon, machines: list[Machine], faults: Mapping[str, Fault]) -> dict[str, Case]:
    """Deploy a node for each fault, all at once, and wait for their ends."""
    free = list(machines)
    cases = {
        name: start(daemon, free.pop() if fault.boots else machines[0], name, fault) for name, fault in faults.items()
    }
    for verb, more in (("manage", {}), ("provide", {}), ("active", {"configdrive": DRIVE})):
        for case in cases.values():
            daemon.ask(case.uuid, verb, **more)
        for case in cases.values():
            case.node = daemon.rest(case.uuid)
    return cases
