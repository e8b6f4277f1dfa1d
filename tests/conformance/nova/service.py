# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Nova's driver for bare metal as a process that takes one step after the other."""

from __future__ import annotations

import configparser
import contextlib
import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.conformance.checks import Check
from tests.peers.environments import environment

PROGRAM = Path(__file__).with_name("compute.py")
Sections = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Instance:
    """What is told of an instance: its node, the MAC address of its network, its image, and how it is rescued."""

    node: str
    address: str
    image: str
    password: str
    config_drive: str = ""


@contextlib.contextmanager
def driver(
    url: str, instance: Instance, folder: Path, more: Sections | None = None
) -> Iterator[Callable[[str], Check]]:
    """Start the driver for one instance; what is returned takes a step. ``more`` are settings of Nova, by section."""
    settings = folder / "nova.conf"
    _configure(settings, url, more or {})
    schema = [str(environment("nova") / "nova-manage"), "--config-file", str(settings), "db", "sync", "--local_cell"]
    command = [str(environment("nova") / "python"), str(PROGRAM), str(settings)]
    with (folder / "nova.out").open("w") as log:
        subprocess.run(schema, check=True, stdout=log, stderr=log)
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, text=True, cwd=folder) as process:
            try:
                _say(process, json.dumps(asdict(instance)))
                yield lambda step: _take(process, step, log.name)
            finally:
                process.kill()


def _say(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it has ended, which the end of its output tells too
        process.stdin.write(f"{line}\n")
        process.stdin.flush()


def _take(process: subprocess.Popen[str], step: str, log: str) -> Check:
    _say(process, step)
    assert process.stdout is not None
    told = process.stdout.readline()
    return Check(**json.loads(told)) if told else Check(step, "failed", f"Nova's driver has ended: see {log}")


def _configure(file: Path, url: str, more: Sections) -> None:
    """Write the settings; the database, empty, is asked only for other compute services and for volumes."""
    database = file.with_name("nova.sqlite")
    database.unlink(missing_ok=True)
    parser = configparser.RawConfigParser()
    parser.read_dict(
        {
            "DEFAULT": {
                "host": "compute",
                "state_path": str(file.parent),
                "log_file": str(file.with_name("nova.log")),
                "compute_driver": "ironic.IronicDriver",
            },
            "database": {"connection": f"sqlite:///{database}"},
            "ironic": {"auth_type": "none", "endpoint_override": url, "api_retry_interval": "1"},
        }
    )
    parser.read_dict(more)
    with file.open("w") as out:
        parser.write(out)
