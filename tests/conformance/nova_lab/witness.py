# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What is to be seen of a machine itself, at its BMC, console and disk, after each step of Nova's driver."""

from __future__ import annotations

import shutil
from typing import Any

from oslo_utils import secretutils

from tests.conformance.nova_lab.login import log_in
from tests.conformance.rack import Rack
from tests.integration.server.daemon_house import until

IMAGE, HOSTNAME, USER, PASSWORD = "lab-os.raw", "one.novalocal", "rescue", "canary of the rescue"
PATIENCE = {True: 60.0, False: 900.0}
"""Seconds for what takes longest, on a light rack and on one that may have to emulate its processors."""

_ERASES = "Asynchronous command execute_clean_step started execution"


class Witness:
    """One machine of the rack; the methods are named for the steps that they look after."""

    def __init__(self, rack: Rack) -> None:
        self.rack, self.daemon, self.machine = rack, rack.daemon, rack.machine
        self.patience = PATIENCE[rack.light]
        self.node, self.starts, self.erasures = "", 0, 0

    def clean(self) -> None:
        """Make the machine's node, with an old system on the disk, available: the agent has to erase the disk."""
        with (self.rack.images.folder / IMAGE).open("rb") as image, self.machine.disk.open("r+b") as disk:
            shutil.copyfileobj(image, disk)
        assert self.machine.has_partitions(), "the disk is to have an old system"
        self.node = self.daemon.enroll(self.machine, **self._fields())
        self.daemon.done("PUT", f"/v1/nodes/{self.node}/traits", {"traits": ["CUSTOM_GOLD"]})
        for target, state in (("manage", "manageable"), ("provide", "available")):
            self.daemon.ask(self.node, target)
            node = self.daemon.rest(self.node, self.patience)
            assert node["provision_state"] == state, node["last_error"]
        self._erased()

    def _fields(self) -> dict[str, Any]:
        info = self.daemon.driver_info(self.machine)
        rescue = {f"rescue_{part}": info[f"deploy_{part}"] for part in ("kernel", "ramdisk")}
        image = self.rack.images.image(IMAGE)
        return {
            "info": rescue,
            "rescue_interface": "agent",
            "resource_class": "metal",
            "properties": {"cpus": 1, "memory_mb": 1024, "local_gb": 4, "cpu_arch": "x86_64"}
            | {"capabilities": "boot_mode:uefi"},
            # Nova names the image and nothing else of it.
            "instance_info": {key: value for key, value in image.items() if key != "image_source"},
        }

    def spawn(self) -> None:
        """See the agent fetch the image, then the image's own system with Nova's config drive."""
        assert len(self.rack.images.whole(self.machine.address)) == 1, "the agent has not fetched the image"
        self._started()
        self._is_instance()
        assert self.machine.has_partitions() and self.machine.has_config_drive(), "the disk lacks something"

    def refuse_second(self) -> None:
        """See the instance run on."""
        self._runs_on()
        self._is_instance()

    def power_off(self) -> None:
        """See the machine off."""
        assert not self.machine.is_on(), "the machine is on"

    def power_on(self) -> None:
        """See the instance start."""
        self._started()

    def reboot_hard(self) -> None:
        """See the instance start again."""
        self._started()

    def reboot_soft(self) -> None:
        """See the instance start again."""
        self._started()

    def rescue(self) -> None:
        """See the agent make way for a rescue user with the password, and the instance not started."""
        end = "The agent ended." if self.rack.light else "log in by telnet"
        until(lambda: end in self._last_boot(), self.patience, "the end of the agent")
        if self.rack.light:
            written = self.machine.console.with_suffix(".scratch") / "etc/ipa-rescue-config/ipa-rescue-password"
            hashed = written.read_text()
            assert hashed == secretutils.crypt_password(PASSWORD, hashed), "it is another password"
        else:
            log_in(self.machine.address, USER, PASSWORD)
        assert PASSWORD not in self.machine.said() + self.daemon.log.read_text(), "the password was told"
        self._runs_on()

    def unrescue(self) -> None:
        """See the instance start again."""
        self._started()

    def rebuild(self) -> None:
        """See the agent fetch the image again, and the same instance start from it."""
        assert len(self.rack.images.whole(self.machine.address)) == 2, "the agent has not fetched the image again"
        self._started()
        self._is_instance()

    def destroy(self) -> None:
        """See the agent erase the disk, and nothing left of the instance."""
        node = self.daemon.rest(self.node, self.patience)
        left = {key: node[key] for key in ("provision_state", "instance_uuid", "instance_info", "last_error")}
        wanted: dict[str, Any] = {
            "provision_state": "available",
            "instance_uuid": None,
            "instance_info": {},
            "last_error": None,
        }
        assert left == wanted, left
        self._erased()

    def _started(self) -> None:
        """See the machine on, without a medium, and its system started once more."""
        self.starts += 1
        until(lambda: self._count() >= self.starts, self.patience, f"start number {self.starts} of the instance")
        self._runs_on()
        assert self.machine.medium() is None, "a medium is left in the machine"

    def _runs_on(self) -> None:
        assert self._count() == self.starts, f"the instance has started {self._count()} times, not {self.starts}"
        assert self.machine.is_on(), "the machine is off"

    def _last_boot(self) -> str:
        return self.machine.said().rpartition(" boot from ")[2]

    def _count(self) -> int:
        return self.machine.said().count("LAB-OS READY")

    def _is_instance(self) -> None:
        instance = self.daemon.node(self.node)["instance_uuid"]
        wanted = f"LAB-OS READY hostname={HOSTNAME} instance={instance} "
        last = [line for line in self.machine.said().splitlines() if line.startswith("LAB-OS READY")][-1]
        assert last.startswith(wanted), f"not {wanted}, but {last}"

    def _erased(self) -> None:
        erasures = self.machine.said().count(_ERASES)
        assert erasures > self.erasures, "the agent has erased nothing"
        self.erasures = erasures
        assert not self.machine.has_partitions() and not self.machine.has_config_drive(), "the disk is not erased"
        assert not self.machine.is_on() and self.machine.medium() is None, "the machine is on, or has a medium"
