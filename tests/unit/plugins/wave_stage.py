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
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Data = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]
ANSIBLE = str(Path(sys.executable).with_name("ansible-playbook"))


class Door(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, path: Path) -> None:
        self.path = path
        self.contexts: dict[str, dict[str, Any]] = {}
        self.requests: list[dict[str, Any]] = []
        self.marks: dict[str, threading.Event] = defaultdict(threading.Event)
        super().__init__(str(path), _Answer)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(request)
        if request["run"] != "run-1":
            return {"error": "no such run"}
        if "step" not in request:
            return {
                "nodes": {uuid: {"node": {"uuid": uuid, **context["shown"]}} for uuid, context in self.contexts.items()}
            }
        if "mark" in request:
            self.marks[request["mark"]].wait(10)
        return {"nodes": {uuid: _of_step(context, request["step"]) for uuid, context in self.contexts.items()}}

    def hear(self, line: str) -> None:
        """Take a line of the run in: what it tells is known to those who ask after it."""
        kind, _space, text = line.rstrip("\n").partition(" ")
        if kind == "@mark":
            self.marks[text].set()
        for told in json.loads(text) if kind == "@node" else ():
            if told["event"] == "facts":
                context = self.contexts[told["node"]]
                context["facts"] = {**context["facts"], **told["facts"]}


def _of_step(context: dict[str, Any], index: int) -> dict[str, Any]:
    return {**context, "step": {**context["steps"][index], "index": index}}


@contextmanager
def staged(folder: Path) -> Iterator[Stage]:
    """Open a door in ``folder``, and close it in the end."""
    door = Door(folder / "door.sock")
    thread = threading.Thread(target=door.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield Stage(door, folder)
    finally:
        door.shutdown()
        thread.join()
        door.server_close()


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

    def node(
        self, uuid: str, *, steps: list[dict[str, Any]], shown: dict[str, Any] | None = None, **context: Any
    ) -> None:
        node = {"uuid": uuid, "power_state": None, "driver_info": {}, **context.pop("node", {})}
        self.door.contexts[uuid] = {"node": node, "facts": {}, "steps": steps, "shown": shown or {}, **context}

    def play(
        self, steps: list[Data], *, batched: bool = True, playbook: str = "rackwright.metal.verify", run: str = "run-1"
    ) -> Run:
        """Run steps as the conductor does, at the highest verbosity that a worker of ours may meet."""
        return self._finish([playbook, *self._arguments(steps, batched=batched, run=run)])

    def start(self, steps: list[Data]) -> subprocess.Popen[str]:
        """Begin to run steps, and return the process, whose output has to be heard."""
        arguments = ["rackwright.metal.verify", *self._arguments(steps, batched=True, run="run-1")]
        return self._begin(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def play_alone(self, tasks: list[Data], *options: str, defaults: Data | None = None) -> Run:
        """Run tasks as a playbook of anybody does, outside the daemon."""
        play = {"name": "Alone", "hosts": "localhost", "gather_facts": False, "tasks": tasks}
        playbook = self.folder / "alone.yml"
        playbook.write_text(json.dumps([{**play, "module_defaults": defaults or {}}]))
        return self._finish([str(playbook), "-i", "localhost,", *options])

    def _arguments(self, steps: list[Data], *, batched: bool, run: str) -> list[str]:
        source = self.folder / "run.wave.yml"
        source.write_text(json.dumps({"plugin": "rackwright.metal.wave", "door": str(self.door.path), "run": "run-1"}))
        extra = {
            "rackwright_run": run,
            "rackwright_door": str(self.door.path),
            "wave_batched": batched,
            "provision_steps": [{"tasks": step["name"], **step, "index": index} for index, step in enumerate(steps)],
        }
        return ["-i", str(source), "-vvv", "-e", json.dumps(extra)]

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible/collections"),
            "ANSIBLE_INVENTORY_ENABLED": "rackwright.metal.wave,ansible.builtin.host_list",
            "ANSIBLE_NOCOLOR": "1",
            "PYTHONUNBUFFERED": "1",
        }

    def _finish(self, arguments: list[str]) -> Run:
        with self._begin(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            output = []
            for line in process.stdout or ():
                self.door.hear(line)
                output.append(line)
        marked = [line.partition("@node ")[2] for line in output if line.startswith("@node ")]
        reports = [report for line in marked for report in json.loads(line)]
        return Run(process.returncode, "".join(output), reports)

    def _begin(self, arguments: list[str], **streams: Any) -> subprocess.Popen[str]:
        return subprocess.Popen([ANSIBLE, *arguments], env=self._environment(), cwd=self.folder, text=True, **streams)
