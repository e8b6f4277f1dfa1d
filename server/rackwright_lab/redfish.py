# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The BMCs' Redfish service: sushy-tools, with a driver for the machines of the rack."""

import shutil
import ssl
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bcrypt
from sushy_tools import error  # type: ignore[import-untyped]  # ships no types
from sushy_tools.emulator import main as sushy  # type: ignore[import-untyped]  # ships no types
from sushy_tools.emulator.resources.systems import base  # type: ignore[import-untyped]  # ships no types
from werkzeug.serving import BaseWSGIServer, make_server

from rackwright_lab.certificate import make_certificate
from rackwright_lab.errors import LabError
from rackwright_lab.machine import Machine
from rackwright_lab.options import RackOptions

PORT = 8000
USERNAME, PASSWORD = "admin", "password"
_HASH_ROUNDS = 4  # the least there is: each request pays for it


class SystemsDriver(base.AbstractSystemsDriver):  # type: ignore[misc]  # the base class has no types
    """The systems of the service: each method does what its name says to one machine."""

    driver = "rack"

    def __init__(self, machines: Sequence[Machine]) -> None:
        """Drive these machines."""
        self._machines = {machine.uuid: machine for machine in machines}
        self._uuids = {machine.name: machine.uuid for machine in machines}
        self._http_boot_uri: str | None = None

    @property
    def systems(self) -> list[str]:
        """Return the UUIDs."""
        return list(self._machines)

    def find(self, identity: str) -> Machine:
        """Return a machine by its UUID; its name leads to that."""
        if identity in self._uuids:
            raise error.AliasAccessError(self._uuids[identity])
        if identity not in self._machines:
            raise error.NotFound(f"There is no system {identity}")
        return self._machines[identity]

    def uuid(self, identity: str) -> str:
        """Return the UUID."""
        return self.find(identity).uuid

    def name(self, identity: str) -> str:
        """Return the name."""
        return self.find(identity).name

    def get_power_state(self, identity: str) -> str:
        """Return the power state in Redfish's word."""
        return "On" if self.find(identity).is_on else "Off"

    def set_power_state(self, identity: str, state: str) -> None:
        """Do what a ResetType asks for."""
        machine = self.find(identity)
        actions = {
            "On": machine.power_on,
            "ForceOn": machine.power_on,
            "ForceOff": machine.power_off,
            "GracefulShutdown": machine.press_power_button,
            "GracefulRestart": machine.restart,
            "ForceRestart": machine.restart,
        }
        if state not in actions:
            raise error.BadRequest(f"ResetType {state} is none of {', '.join(actions)}")
        actions[state]()

    def get_boot_device(self, identity: str) -> str:
        """Return the boot device."""
        return self.find(identity).boot_device

    def set_boot_device(self, identity: str, boot_source: str) -> None:
        """Set the boot device."""
        try:
            self.find(identity).boot_device = boot_source
        except LabError as refused:
            raise error.BadRequest(str(refused)) from refused

    def get_boot_mode(self, identity: str) -> str:
        """Return the only boot mode."""
        self.find(identity)
        return "UEFI"

    def set_boot_mode(self, identity: str, boot_mode: str) -> None:
        """Refuse any other boot mode."""
        self.find(identity)
        if boot_mode != "UEFI":
            raise error.BadRequest(f"Boot mode {boot_mode} is not there: the firmware is UEFI")

    def get_secure_boot(self, identity: str) -> bool:
        """Return that there is no secure boot."""
        self.find(identity)
        return False

    def get_total_memory(self, identity: str) -> float:
        """Return the memory in GiB."""
        return self.find(identity).options.memory / 1024

    def get_total_cpus(self, identity: str) -> int:
        """Return the number of processors."""
        return self.find(identity).options.cpus

    def get_nics(self, identity: str) -> list[dict[str, str]]:
        """Return the network card."""
        mac = self.find(identity).mac
        return [{"id": mac, "mac": mac}]

    def get_boot_image(self, identity: str, device: str) -> tuple[str | None, bool, bool]:
        """Return path, write protection and presence of a medium."""
        path = self.find(identity).media.get(device)
        return str(path) if path else None, True, path is not None

    def set_boot_image(self, identity: str, device: str, boot_image: str | None = None, **_: object) -> None:
        """Insert a medium, or take it out; all media are write protected."""
        media = self.find(identity).media
        media.pop(device, None)
        if boot_image:
            media[device] = Path(boot_image)

    def get_http_boot_uri(self, identity: str) -> str | None:
        """Return what HTTP boot was last told."""
        self.find(identity)
        return self._http_boot_uri

    def set_http_boot_uri(self, uri: str) -> None:
        """Remember what HTTP boot was told; the service inserts it as a disc."""
        self._http_boot_uri = uri


class RedfishService:
    """The service in a thread of its own."""

    def __init__(self, options: RackOptions, machines: Sequence[Machine]) -> None:
        """Listen; requests are answered from `start` on."""
        self.options = options
        self.url = f"{'https' if options.tls else 'http'}://{options.bmc}:{PORT}"
        self.certificate: Path | None = None
        context: ssl.SSLContext | None = None
        if options.tls:
            self.certificate, key = make_certificate(options.directory, options.bmc)
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(self.certificate, key)
        app = _application(options.directory, SystemsDriver(machines))
        self._server: BaseWSGIServer = make_server(options.bmc, PORT, app, threaded=True, ssl_context=context)

    def start(self) -> None:
        """Answer requests until the process ends."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()


def _application(directory: Path, driver: SystemsDriver) -> Any:
    state = directory / "bmc-state"  # of an earlier rack, whose media are gone
    shutil.rmtree(state, ignore_errors=True)
    passwords = directory / "bmc.htpasswd"
    passwords.write_text(f"{USERNAME}:{bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(_HASH_ROUNDS)).decode()}\n")
    sushy.Application.systems = property(lambda _: driver)
    sushy.app.configure(
        extra_config={"SUSHY_EMULATOR_AUTH_FILE": str(passwords), "SUSHY_EMULATOR_STATE_DIR": str(state)}
    )
    return sushy.app
