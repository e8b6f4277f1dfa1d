# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The servers that take a fleet from enroll to active: our daemon, and a real Ironic that is given the same work.

Kernel, ramdisk and boot loader are files that the server reads. The image is at a web server beside it, which also
serves the discs that Ironic makes; our daemon serves its own.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import httpx

from tests import peer_ironic
from tests.benchmark.processes import cpu
from tests.integration.server.daemon_house import VERSION, free_port, until
from tests.integration.server.simulated_house import Data, Fleet, Rack

PATIENCE = 600.0
"""Seconds that a server may take to answer."""

# Ironic 39 derives a key from the BMC's password, in 600,000 rounds, each time it is about to speak to a BMC.
_REMEMBER = "import functools, hashlib\nhashlib.pbkdf2_hmac = functools.cache(hashlib.pbkdf2_hmac)\n"


class Web:
    """A web server in a process of its own, for the files of a folder that it makes."""

    def __init__(self, folder: Path) -> None:
        """Start it."""
        self.folder, port = folder, free_port()
        folder.mkdir(parents=True)
        command = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "--directory", str(folder), str(port)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.url = f"http://127.0.0.1:{port}"
        until(self._answers, 30, "an answer of the web server")

    def _answers(self) -> bool:
        try:
            return httpx.head(self.url, trust_env=False).is_success
        except httpx.TransportError:
            return False

    def stop(self) -> None:
        """Stop it."""
        self.process.terminate()
        self.process.wait(30)


class Server(Fleet):
    """Our daemon, and what is asked of every server."""

    def __init__(self, folder: Path, rack: Rack, **settings: object) -> None:
        """Start it, and the web server."""
        self.web = Web(folder / "web")
        try:
            super().__init__(folder, rack, **settings)
        except BaseException:
            self.web.stop()
            raise
        (self.web.folder / "image").hardlink_to(self.files / "image")
        self.client.timeout = PATIENCE

    def node(self, machine: Data) -> Data:
        """Return the node of a machine; its image is at the web server."""
        node = super().node(machine)
        image = node["instance_info"] | {"image_source": f"{self.web.url}/image"}
        return {**node, "deploy_interface": "direct", "inspect_interface": "agent", "instance_info": image}

    def ask(self, uuid: str, target: str) -> bool:
        """Ask for a provision target; return whether that was taken. While a server holds a node it may refuse."""
        answer = self.client.put(f"/v1/nodes/{uuid}/states/provision", json={"target": target})
        assert answer.is_success or answer.status_code == httpx.codes.CONFLICT, answer.text
        return answer.is_success

    def pids(self) -> Sequence[int]:
        """Return the processes that have started all others."""
        return [self.process.pid]

    def parts(self) -> Mapping[str, float]:
        """Return the CPU seconds of its parts by name."""
        children = {"api": self.child("api"), "conductor and runs": self.child("conductor")}
        return {name: cpu(pid) for name, pid in children.items() if pid}

    def stop(self) -> int:
        """Stop it, and the web server; return its exit status."""
        self.web.stop()
        return super().stop()


class Ironic(Server):
    """A real Ironic: one process, no authentication, no network interface."""

    def __init__(
        self, folder: Path, rack: Rack, *, database: peer_ironic.Database = "sqlite", remembers: bool = False
    ) -> None:
        """Start it, and the web server; an Ironic that remembers derives the key of each BMC's password only once."""
        self._home, self._database, self._remembers = folder / "ironic", database, remembers
        super().__init__(folder, rack)

    def start(self) -> None:
        """Start it, with all that it takes to let no machine wait for others by order."""
        most = str(len(self.rack.machines))
        conductor = {"max_concurrent_deploy": most, "max_concurrent_clean": most}
        settings = {
            "conductor": {**conductor, "file_url_allowed_paths": str(self.files)},
            "deploy": {"http_root": str(self.web.folder), "http_url": self.web.url},
        }
        url = peer_ironic.start(self._home, self._database, settings=settings, variables=self._variables())
        self.client.close()
        self.client = httpx.Client(base_url=url, headers=VERSION)

    def _variables(self) -> Mapping[str, str]:
        if not self._remembers:
            return {}
        place = self._home / "python"
        place.mkdir(parents=True)
        (place / "sitecustomize.py").write_text(_REMEMBER)
        return {"PYTHONPATH": str(place)}

    def node(self, machine: Data) -> Data:
        """Return the node of a machine, with the interface that Ironic is to boot it by."""
        return {**super().node(machine), "boot_interface": "redfish-virtual-media"}

    def pids(self) -> Sequence[int]:
        """Return the processes that have started all others."""
        return peer_ironic.started(self._home)

    def parts(self) -> Mapping[str, float]:
        """Return the CPU seconds of its parts by name."""
        *database, ironic = self.pids()
        return {"database": cpu(*database), "ironic": cpu(ironic)} if database else {}

    def stop(self) -> int:
        """Stop it, and the web server."""
        self.client.close()
        self.web.stop()
        peer_ironic.stop(self._home)
        return 0


PEERS: Mapping[str, Callable[[Path, Rack], Server]] = {
    "ironic": Ironic,
    "ironic-remembering": partial(Ironic, remembers=True),
    "ironic-remembering-mariadb": partial(Ironic, remembers=True, database="mariadb"),
}
"""Who can do the work beside us, by name."""
