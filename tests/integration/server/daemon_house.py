# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A whole daemon: supervisor, API, conductor, ansible-runner, spoken to over HTTP."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

VERSION = {"X-OpenStack-Ironic-API-Version": "1.82"}


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def command(*arguments: str) -> list[str]:
    """Return the command line of the daemon."""
    return [str(Path(sys.executable).with_name("rackwright")), *arguments]


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, out of which files and folders of runs come and go meanwhile."""
    for root, _, names in os.walk(folder):
        yield from (path for name in names if (path := Path(root, name)).is_file())


def until(true: Callable[[], Any], seconds: float, what: str) -> Any:
    """Wait until something is true and return it."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, f"{what} did not happen in {seconds} s"
        time.sleep(0.05)
    return found


class Daemon:
    """One daemon with its state directory."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.state, self.log = folder / "state", folder / "daemon.log"
        self.home = folder / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        given = {"enabled_hardware_types": '["fake-hardware"]', "poll_interval": 0.1, **settings}
        clean = {key: value for key, value in os.environ.items() if not key.startswith("RACKWRIGHT_")}
        self.environment = clean | {f"RACKWRIGHT_{key.upper()}": str(value) for key, value in given.items()}
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", headers=VERSION, timeout=30)
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command("serve", "--state-dir", str(self.state), "--port", str(self.port)),
                cwd=self.home,
                env=self.environment,
                stdout=log,
                stderr=log,
            )
        until(self.answers, 60, f"an answer (see {self.log})")

    def answers(self) -> bool:
        """Tell whether the API answers and a conductor works, without which no driver can be used."""
        try:
            return self.client.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def child(self, name: str) -> int | None:
        """Return the process ``name`` (api, conductor) of the supervisor."""
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
                parent = (path.parent / "stat").read_text().rpartition(")")[2].split()[1]
            except OSError:
                continue
            if name.encode() in words and int(parent) == self.process.pid:
                return int(path.parent.name)
        return None

    def kill(self, name: str) -> None:
        """Kill a process of the daemon as hard as that goes."""
        pid = self.child(name)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)

    def left(self) -> list[int]:
        """Return the processes that have to do with this daemon's state directory."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if str(self.state).encode() in path.read_bytes() + (path.parent / "environ").read_bytes():
                    found.append(int(path.parent.name))
            except OSError:
                continue
        return [pid for pid in found if pid != os.getpid()]

    def stop(self) -> int:
        """Stop it with SIGTERM; return its exit status."""
        self.client.close()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def create(self, count: int, **fields: Any) -> list[str]:
        """Create nodes of fake hardware; return their UUIDs."""
        return [self.done("POST", "/v1/nodes", {"driver": "fake-hardware", **fields})["uuid"] for _ in range(count)]

    def verb(self, uuids: Sequence[str], target: str, **more: Any) -> None:
        """Ask for a provision target."""
        for uuid in uuids:
            self.done("PUT", f"/v1/nodes/{uuid}/states/provision", {"target": target, **more})

    def nodes(self) -> Mapping[str, dict[str, Any]]:
        """Return what is to be seen of all nodes."""
        fields = "uuid,provision_state,target_provision_state,last_error,reservation,power_state"
        listed = self.done("GET", f"/v1/nodes?fields={fields}")["nodes"]
        return {node["uuid"]: node for node in listed}

    def reached(self, uuids: Sequence[str], state: str) -> bool:
        """Tell whether all of the nodes rest in a state; say so at once when one of them failed."""
        seen = self.nodes()
        errors = {uuid: seen[uuid]["last_error"] for uuid in uuids if seen[uuid]["last_error"]}
        assert not errors, errors
        return all(seen[uuid]["provision_state"] == state and not seen[uuid]["reservation"] for uuid in uuids)

    def bring(self, uuids: Sequence[str], target: str, state: str, seconds: float = 60, **more: Any) -> None:
        """Ask for a target and wait for the state that it leads to."""
        self.verb(uuids, target, **more)
        until(lambda: self.reached(uuids, state), seconds, f"{target} to {state}")

    def done(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request and return its answer, which must be a good one."""
        answer = self.client.request(method, path, json=body)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None
