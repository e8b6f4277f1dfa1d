# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Two secrets, the BMC's password and the agent's token, are searched for wherever they could have come to."""

from __future__ import annotations

import io
import os
import re
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.server.lab.faults import WRONG_SUM
from tests.integration.server.lab.image_server import ImageServer
from tests.integration.server.lab.lab_daemon import DRIVE, LabDaemon
from tests.integration.server.lab.light_rack import LightRack
from tests.integration.server.lab.relay import Relay

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
            return b"".join(archive.extractfile(each).read() for each in archive if each.isfile())
    return content


@pytest.fixture
def house(rack: LightRack, images: Path, tmp_path: Path) -> Iterator[LabDaemon]:
    """Return a daemon that nobody has used and that says all it can."""
    made = LabDaemon(tmp_path, rack, images, log_level="DEBUG")
    try:
        yield made
    finally:
        made.end()


def test_secrets_are_where_they_are_needed_and_nowhere_else(
    house: LabDaemon, rack: LightRack, bmc: Relay, image_server: ImageServer
) -> None:
    machine = rack.machines[0]
    machine.reset()
    bmc.login = (rack.facts["username"], rack.facts["password"])
    search = Search(house)
    search.start()
    info = {"redfish_address": bmc.url, "redfish_password": CANARY, "redfish_auth_type": "basic"}
    good = image_server.image("lab-os.raw")
    uuid = house.enroll(machine, info=info, instance_info={**good, "image_os_hash_value": WRONG_SUM})
    for verb, state in (("manage", "manageable"), ("inspect", "manageable"), ("provide", "available")):
        house.go(uuid, verb, state)
    house.ask(uuid, "active", configdrive=DRIVE)
    assert house.rest(uuid)["provision_state"] == "deploy failed"
    assert list(house.state.glob("logs/deploy/*.tar.gz")), "the agent's logs are kept"
    house.change(uuid, instance_info=good)
    house.go(uuid, "active", "active", configdrive=DRIVE)
    search.end()
    assert len(search.tokens) >= 4, "each boot has a token of its own"
    assert search.runs > 5, "runs were looked into"
    assert search.found == set()
    assert CANARY not in house.client.get("/v1/nodes/detail").text
    assert list(house.state.rglob("*.iso")) == []
