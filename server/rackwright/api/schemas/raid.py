# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The RAID configuration that clients send (contract: api.yaml, states/raid)."""

from __future__ import annotations

from typing import Any

from rackwright.api.kinds import Kind

_COUNT = {"type": "integer", "minimum": 1}
LOGICAL_DISK: dict[str, dict[str, Any]] = {
    "raid_level": {
        "enum": ["JBOD", "0", "1", "2", "5", "6", "1+0", "5+0", "6+0"],
        "description": "RAID level of the logical disk. Required.",
    },
    "size_gb": {
        "anyOf": [_COUNT, {"const": "MAX"}],
        "description": "Size in GiB, or MAX for all the space that is left. Required.",
    },
    "volume_name": {"type": "string", "description": "Name of the logical disk; the controller names it by default."},
    "is_root_volume": {"type": "boolean", "description": "Whether the image is written to it; one disk at most."},
    "share_physical_disks": {
        "type": "boolean",
        "description": "Whether other logical disks may lie on the same physical disks; no by default.",
    },
    "disk_type": {"enum": ["hdd", "ssd"], "description": "Kind of physical disks to use; any by default."},
    "interface_type": {
        "enum": ["sata", "scsi", "sas"],
        "description": "Interface of the physical disks to use; any by default.",
    },
    "number_of_physical_disks": {
        **_COUNT,
        "description": "How many physical disks to use; the fewest that the level needs by default.",
    },
    "controller": {"type": "string", "description": "Name of the RAID controller; chosen by the driver by default."},
    "physical_disks": {
        "type": "array",
        "items": {"anyOf": [{"type": "string"}, {"type": "object"}]},
        "description": "The physical disks to use, by the names that the controller gives them.",
    },
}
"""What can be said of a logical disk: JSON schemas with descriptions."""

_DISK = {
    "type": "object",
    "properties": LOGICAL_DISK,
    "required": ["raid_level", "size_gb"],
    "additionalProperties": False,
}
RAID = Kind(
    {
        "type": "object",
        "properties": {"logical_disks": {"type": "array", "items": _DISK, "minItems": 1}},
        "additionalProperties": False,
    }
)
