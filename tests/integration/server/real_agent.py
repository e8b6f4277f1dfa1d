# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Run the real ironic-python-agent beside other work: nothing of this computer is probed, changed or shut down.

Its hardware manager describes a small made-up machine; everything else is the agent's own code. Arguments: a folder for
its certificate, the address of its interface, then those of the agent (``--api_url URL`` and so on).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from ironic_python_agent import agent, hardware, tls_utils
from oslo_config import cfg
from oslo_log import log

GIB = 1024**3
STEP_SECONDS = 1.0


class SmallMachine(hardware.HardwareManager):  # type: ignore[misc]  # the base class has no types
    """One interface, one disk, and a clean step that only takes its time."""

    HARDWARE_MANAGER_NAME = "SmallMachine"
    HARDWARE_MANAGER_VERSION = "1"

    def __init__(self, folder: Path, mac: str) -> None:
        super().__init__()
        self.folder, self.mac = folder, mac

    def evaluate_hardware_support(self) -> int:
        return int(hardware.HardwareSupport.MAINLINE)

    def list_network_interfaces(self) -> list[Any]:
        return [hardware.NetworkInterface("eth0", self.mac, ipv4_address="192.0.2.20")]

    def list_block_devices(self, **_: Any) -> list[Any]:
        return [hardware.BlockDevice("/dev/vda", "small", 8 * GIB, False, serial="small-1")]

    def wait_for_disks(self) -> None:
        """Wait for nothing: the disk is there."""

    def get_cpus(self) -> Any:
        return hardware.CPU("small", "1000", 2, "x86_64", flags=["aes"], socket_count=1)

    def get_memory(self) -> Any:
        return hardware.Memory(4 * GIB, physical_mb=4096)

    def get_bmc_address(self) -> None:
        return None

    get_bmc_v6address = get_bmc_mac = get_bmc_address

    def get_system_vendor_info(self) -> Any:
        return hardware.SystemVendorInfo("Small", "1", "Rackwright", hardware.SystemFirmware("", "", ""))

    def get_boot_info(self) -> Any:
        return hardware.BootInfo("uefi", pxe_interface=self.mac)

    def generate_tls_certificate(self, ip_address: str) -> Any:
        certificate, key = self.folder / "agent.crt", self.folder / "agent.key"
        text = tls_utils._generate_tls_certificate(certificate, key, "small", ip_address)
        return tls_utils.TlsCertificate(text, str(certificate), str(key))

    def get_clean_steps(self, _node: Any, _ports: Any) -> list[dict[str, Any]]:
        return [{"step": "settle", "interface": "deploy", "priority": 10, "reboot_requested": False, "abortable": True}]

    def settle(self, _node: Any, _ports: Any) -> str:
        time.sleep(STEP_SECONDS)
        return "settled"


def main(folder: str, mac: str, *arguments: str) -> None:
    """Run the agent until it is ended."""
    machine = SmallMachine(Path(folder), mac)
    hardware._global_managers = [
        {"name": "SmallMachine", "manager": machine, "support": hardware.HardwareSupport.MAINLINE}
    ]
    agent.IronicPythonAgent._lockdown_system = lambda _: sys.exit("locked down")
    log.register_options(cfg.CONF)
    cfg.CONF(args=list(arguments), default_config_files=[], default_config_dirs=[])
    log.setup(cfg.CONF, "ironic-python-agent")
    agent.IronicPythonAgent.from_config(cfg.CONF).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
