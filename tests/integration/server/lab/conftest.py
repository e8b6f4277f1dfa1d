# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A light rack, a daemon on its network and images, shared by all tests of this folder."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.integration.server.lab.image_server import ImageServer, lay_out, serve_images
from tests.integration.server.lab.lab_daemon import LabDaemon
from tests.integration.server.lab.light_rack import LightRack, Machine, lab
from tests.integration.server.lab.lives import Lives, begin
from tests.integration.server.lab.relay import Relay, relay

ROOT = Path(__file__).parents[4]
MACHINES = 6
NUMBER = os.getpid() % 250
"""Tells the rack from those of other tests that may run on this computer."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the rack; of workers that share the tests each has a rack, but one alone has the lives."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.lab)
            item.add_marker(pytest.mark.timeout(240))
            together = "lives" if "lives" in getattr(item, "fixturenames", ()) else item.path.stem
            item.add_marker(pytest.mark.xdist_group(together))


@pytest.fixture(scope="session")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightRack]:
    folder = tmp_path_factory.mktemp("rack")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # clean up, as after Ctrl-C
    try:
        yield (made := LightRack(folder, name=f"e2e{NUMBER}", network=f"172.25.{NUMBER}.0/24", machines=MACHINES))
        made.client.close()
    finally:
        lab("stop", "--dir", folder)


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what machines boot and get, and a disk image that is too large."""
    folder = tmp_path_factory.mktemp("images")
    lay_out(folder)
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", folder / "large.qcow2", "8G"], check=True)
    return folder


@pytest.fixture(scope="session")
def image_server(rack: LightRack, images: Path) -> Iterator[ImageServer]:
    with serve_images(rack.host, images) as server:
        yield server


@pytest.fixture(scope="session")
def daemon(rack: LightRack, images: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabDaemon]:
    """Return the daemon of all tests that are content with its settings."""
    made = LabDaemon(tmp_path_factory.mktemp("daemon"), rack, images)
    try:
        yield made
    finally:
        made.end()


@pytest.fixture(scope="session")
def lives(rack: LightRack, images: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lives]:
    """Return lives of nodes on daemons of their own, which go on at the same time."""
    with ExitStack() as stack:
        yield begin(rack, images, tmp_path_factory.mktemp("lives"), stack)


@pytest.fixture
def machine(rack: LightRack, daemon: LabDaemon) -> Iterator[Machine]:
    """Return a machine as new, which no test after this one finds in use."""
    rack.machines[0].reset()
    yield rack.machines[0]
    daemon.release(rack.machines[0])


@pytest.fixture
def bmc(rack: LightRack) -> Iterator[Relay]:
    """Return a relay before the rack's BMC."""
    with relay(rack.host, rack.redfish) as made:
        yield made


@pytest.fixture
def api(rack: LightRack, daemon: LabDaemon) -> Iterator[Relay]:
    """Return a relay before the API of the daemon."""
    with relay(rack.host, daemon.url) as made:
        yield made
