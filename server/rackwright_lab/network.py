# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The rack's network: a bridge in the rack, one link from there to this machine, DHCP."""

import time
from collections.abc import Sequence
from pathlib import Path

from rackwright_lab.commands import run
from rackwright_lab.errors import LabError
from rackwright_lab.machine import Machine
from rackwright_lab.options import RackOptions

BRIDGE = "rack"
_UPLINK = "uplink"
_BRIDGE_MAC = "02:00:00:22:00:02"
_PATIENCE = 10  # seconds for a link whose rack just ended to go


def _wire(options: RackOptions) -> str:
    return f"{options.name}-wire"


def _has_link(name: str) -> bool:
    return Path("/sys/class/net", name).exists()


def join(options: RackOptions, pid: int) -> None:
    """Link this machine to the rack, whose network namespace is that of a process.

    Raises:
        LabError: a rack of this name is there, or its network is in use.
    """
    wire = _wire(options)
    end = time.monotonic() + _PATIENCE
    while _has_link(wire) and time.monotonic() < end:
        time.sleep(0.1)
    if _has_link(wire):
        raise LabError(f"Could not make the link {wire}: there is one. Stop the rack that has it, or use --name.")
    if taken := run("ip", "-o", "addr", "show", "to", options.host):
        raise LabError(f"Could not use {options.host}: {taken.split()[1]} has it. Use another --network.")
    run("ip", "link", "add", wire, "type", "veth", "peer", "name", _UPLINK, "netns", str(pid))
    run("ip", "addr", "add", f"{options.host}/{options.prefix}", "dev", wire)
    run("ip", "link", "set", wire, "up")


def wait_until_left(options: RackOptions) -> None:
    """Return when the link of a rack that has ended is gone, which the kernel sees to."""
    end = time.monotonic() + _PATIENCE
    while _has_link(_wire(options)):
        if time.monotonic() > end:
            raise LabError(f"The link {_wire(options)} stays: some process still uses the rack's network. End it.")
        time.sleep(0.05)


def build(options: RackOptions) -> None:
    """Build the inner side: called in the rack's network namespace."""
    run("ip", "link", "set", "lo", "up")
    # An address of its own: else a bridge takes the lowest of its ports, which come and go.
    run("ip", "link", "add", BRIDGE, "address", _BRIDGE_MAC, "type", "bridge")
    run("ip", "link", "set", _UPLINK, "master", BRIDGE, "up")
    run("ip", "addr", "add", f"{options.bmc}/{options.prefix}", "dev", BRIDGE)
    run("ip", "link", "set", BRIDGE, "up")


def plug(card: str) -> None:
    """Plug a network card into the bridge."""
    run("ip", "link", "set", card, "master", BRIDGE, "up")


def serve_dhcp(options: RackOptions, machines: Sequence[Machine]) -> None:
    """Start DHCP with one address for each machine, and network boot where it is wanted.

    The server goes to the background when it is ready, and ends with the rack.
    """
    command: list[str | Path] = [
        "dnsmasq",
        "--conf-file=/dev/null",
        "--port=0",
        f"--interface={BRIDGE}",
        "--bind-interfaces",
        "--dhcp-authoritative",
        "--no-ping",
        f"--dhcp-range={options.host},static,1h",
        f"--dhcp-option=option:router,{options.host}",
        f"--dhcp-leasefile={options.directory / 'leases'}",
        f"--log-facility={options.directory / 'dhcp.log'}",
        "--pid-file",
        *(f"--dhcp-host={machine.mac},{machine.address},{machine.name}" for machine in machines),
    ]
    if options.ipxe:
        command += [
            "--enable-tftp",
            "--tftp-root=/usr/lib/ipxe",
            "--dhcp-match=set:ipxe,175",  # the option that only iPXE sends
            "--dhcp-boot=tag:!ipxe,snponly.efi",
            f"--dhcp-boot=tag:ipxe,{options.ipxe}",
        ]
    run(*command)
