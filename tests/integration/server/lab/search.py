# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Search for secrets wherever they could have come to, while a daemon works."""

from __future__ import annotations

import io
import os
import re
import tarfile
import threading
from pathlib import Path

from tests.integration.server.lab.lab_daemon import LabDaemon

CANARY = "canary-6f1d0c3b-of-the-bmc"
_TOKEN = re.compile(rb"ipa-agent-token=([\w-]{20,})")


class Search(threading.Thread):
    """Looks all the time into files and processes of a daemon; ``found`` says where a secret was."""

    def __init__(self, daemon: LabDaemon) -> None:
        super().__init__(daemon=True)
        self.house, self.found, self.tokens = daemon, set[str](), set[bytes]()
        self.runs = 0
        self._over = threading.Event()

    def run(self) -> None:
        """Look until the end."""
        while not self._over.wait(0.2):
            self.look()

    def look(self) -> None:
        """Look once."""
        for iso in self.house.state.glob("http/boot/*.iso"):
            self.tokens |= set(_TOKEN.findall(_read(iso)))
        places = [Path(folder, name) for folder, _, names in os.walk(self.house.state) for name in names]
        places = [place for place in places if place.suffix != ".iso"]
        processes = [Path(f"/proc/{pid}") for pid in self.house.left()]
        places += [process / name for process in processes for name in ("cmdline", "environ")]
        self.runs += sum(b"ansible-playbook" in _read(process / "cmdline") for process in processes)
        for place in (*places, self.house.log):
            content = _read(place)
            self.found |= {str(place) for secret in (CANARY.encode(), *self.tokens) if secret in content}

    def end(self) -> None:
        """Look a last time."""
        self._over.set()
        self.join()
        self.look()


def _read(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError:  # gone meanwhile
        return b""
    if path.name.endswith(".tar.gz"):
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            files = (archive.extractfile(each) for each in archive if each.isfile())
            return b"".join(file.read() for file in files if file)
    return content
