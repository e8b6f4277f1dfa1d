# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A door that answers as the conductor does, and real ansible-playbook runs that go through it."""

from __future__ import annotations

import json
import os
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[4]


class Door(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, path: Path) -> None:
        self.path = path
        self.contexts: dict[str, dict[str, Any]] = {}
        self.requests: list[dict[str, Any]] = []
        super().__init__(str(path), _Answer)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(request)
        if request["run"] != "run-1":
            return {"error": "no such run"}
        if "step" not in request:
            return {"nodes": {uuid: {"node": {"uuid": uuid, **context["shown"]}} for uuid, context in self.contexts.items()}}
        return {"nodes": {uuid: _of_step(context, request["step"]) for uuid, context in self.contexts.items()}}


def _of_step(context: dict[str, Any], index: int) -> dict[str, Any]:
    return {**context, "step": {**context["steps"][index], "index": index}}


class _Answer(socketserver.StreamRequestHandler):
    server: Door

    def handle(self) -> None:
        self.wfile.write(json.dumps(self.server.answer(json.loads(self.rfile.readline()))).encode())


@dataclass
class Run:
    code: int
    output: str
    lines: list[dict[str, Any]] = field(default_factory=list)

    def of(self, uuid: str) -> list[tuple[str, int]]:
        return [(line["event"], line["step"]) for line in self.lines if line["node"] == uuid]

    def facts(self, uuid: str) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for line in self.lines:
            if line["node"] == uuid and line["event"] == "facts":
                merged |= line["facts"]
        return merged


class Stage:
    """Nodes, steps, and a run of them."""

    def __init__(self, door: Door, folder: Path) -> None:
        self.door = door
        self.folder = folder

    def node(self, uuid: str, *, steps: list[dict[str, Any]], shown: dict[str, Any] | None = None, **context: Any) -> None:
        node = {"uuid": uuid, "power_state": None, "driver_info": {}, **context.pop("node", {})}
        self.door.contexts[uuid] = {"node": node, "facts": {}, "steps": steps, "shown": shown or {}, **context}

    def play(self, steps: list[dict[str, Any]], *, batched: bool = True, playbook: str = "rackwright.metal.verify") -> Run:
        source = self.folder / "run.wave.yml"
        source.write_text(json.dumps({"plugin": "rackwright.metal.wave", "door": str(self.door.path), "run": "run-1"}))
        extra = {
            "rackwright_run": "run-1",
            "rackwright_door": str(self.door.path),
            "wave_batched": batched,
            "provision_steps": [
                {"tasks": step["name"], **step, "index": index} for index, step in enumerate(steps)
            ],
        }
        command = [str(Path(sys.executable).with_name("ansible-playbook")), playbook, "-i", str(source), "-vvv"]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible/collections"),
            "ANSIBLE_LOCAL_TEMP": str(self.folder / "tmp"),
            "ANSIBLE_INVENTORY_ENABLED": "rackwright.metal.wave",
            "ANSIBLE_NOCOLOR": "1",
        }
        done = subprocess.run(
            [*command, "-e", json.dumps(extra)],
            env=environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        output = done.stdout + done.stderr
        marked = [line.partition("@node ")[2] for line in done.stdout.splitlines() if line.startswith("@node ")]
        return Run(done.returncode, output, [json.loads(line) for line in marked])


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    door = Door(tmp_path / "door.sock")
    threading.Thread(target=door.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield Stage(door, tmp_path)
    door.shutdown()
    door.server_close()
