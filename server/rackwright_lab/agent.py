# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The real ironic-python-agent, shown one loop device and the network card of its namespace."""

import sys
from pathlib import Path

# The command registers the options that the other modules read, so it comes first.
from ironic_python_agent.cmd import agent as command  # isort: skip
from ironic_python_agent import hardware, netutils

from rackwright_lab.light import LightMachine

_SECTOR = 512  # bytes


def main(loop: str) -> None:
    """Run the agent until it ends, with the loop device of that name as its only disk."""

    def list_disks(block_type: str | list[str] = "disk", *_: object, **__: object) -> list[object]:
        types = [block_type] if isinstance(block_type, str) else block_type
        root = Path("/sys/block", loop)
        paths = [root] * ("disk" in types) + sorted(root.glob(f"{loop}p*")) * ("part" in types)
        return [_block_device(path) for path in paths]

    hardware.list_all_block_devices = list_disks
    netutils.is_network_device = lambda interface: interface != "lo"
    sys.argv[1:] = []
    command.run()


def _block_device(path: Path) -> object:
    return hardware.BlockDevice(
        name=f"/dev/{path.name}",
        model="loop",
        size=int((path / "size").read_text()) * _SECTOR,
        rotational=False,
        vendor=None,
        serial=LightMachine.disk_serial,
        logical_sectors=_SECTOR,
        physical_sectors=_SECTOR,
    )


if __name__ == "__main__":
    main(sys.argv[1])
