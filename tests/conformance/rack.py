# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A machine of the virtual rack for a client: a rack, our daemon on its network, a server of images."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rackwright_lab.commands import SYSTEM_PATH
from rackwright_lab.enclosure import TOOLS
from tests.integration.server.lab.image_server import ImageServer, lay_out, serve_images
from tests.integration.server.lab.lab_daemon import LabDaemon
from tests.integration.server.lab.light_rack import LightRack, Machine, lab

PROGRAMS = (*TOOLS.split(), "dnsmasq", "losetup", "unshare", "genisoimage")
NAME, NETWORK = "client", "172.26.0.0/24"
WHOLE = {"kernel_append_params": "console=ttyS0 no_timer_check"}
"""Settings of a daemon whose machines have a kernel."""


class CannotServeError(Exception):
    """This computer has not what a server needs; the text says what to do."""


@dataclass(frozen=True)
class Rack:
    """What is there for a client: the daemon, one machine, who serves its images, and what kind of machine it is."""

    daemon: LabDaemon
    machine: Machine
    images: ImageServer
    light: bool


@contextlib.contextmanager
def on_rack(state: Path, folder: Path, *, light: bool) -> Iterator[Rack]:
    """Start it all, and leave nothing but logs: ``server.log`` and ``machine.console`` in ``folder``.

    Raises CannotServeError when it needs what is not there.
    """
    if lacking := _lacking():
        raise CannotServeError(f"Could not start the virtual rack: {lacking}")
    with contextlib.ExitStack() as stack:
        rack = stack.enter_context(_rack(folder, light))
        images = state / "images"
        images.mkdir()
        with _refusing():
            lay_out(images, light=light)
        server = stack.enter_context(serve_images(rack.host, images))
        (state / "daemon.log").symlink_to(folder / "server.log")
        daemon = LabDaemon(state, rack, images, **({} if light else WHOLE))
        stack.callback(daemon.end)
        yield Rack(daemon, rack.machines[0], server, light)


def _lacking() -> str | None:
    """Return what this computer lacks, and what to do about it."""
    if os.geteuid():
        return "it makes network namespaces and loop devices. Run this as root."
    absent = sorted(name for name in PROGRAMS if shutil.which(name, path=SYSTEM_PATH) is None)
    if absent:
        packages = "server/rackwright_lab/packages.txt"
        return f"{', '.join(absent)} not installed. Run `make system`, which installs the packages of {packages}."
    return None


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    """Turn what a command of the rack said when it failed into a refusal."""
    try:
        yield
    except AssertionError as error:
        raise CannotServeError(str(error).strip()) from error


@contextlib.contextmanager
def _rack(folder: Path, light: bool) -> Iterator[LightRack]:
    home = folder / "rack"
    _remove(home)  # of a run that was killed
    try:
        with _refusing():
            rack = LightRack(home, name=NAME, network=NETWORK, machines=1, light=light)
        try:
            yield rack
        finally:
            rack.client.close()
            shutil.copy(rack.machines[0].console, folder / "machine.console")
    finally:
        _remove(home)


def _remove(home: Path) -> None:
    lab("stop", "--dir", home)
    shutil.rmtree(home, ignore_errors=True)
