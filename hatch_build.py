# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Put the collection into the daemon's wheel, so that one installation brings both in lockstep."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PARTS = ("galaxy.yml", "README.md", "meta", "playbooks", "plugins", "roles")
PLACE = "ansible_collections/rackwright/metal"


class CollectionHook(BuildHookInterface[Any]):
    """Add the collection's run-time parts to a standard wheel; an editable one links the tree instead."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the parts for the build; `version` is the wheel's kind, `standard` or `editable`."""
        if self.target_name == "wheel" and version == "standard":
            root = Path(self.root)
            build_data["force_include"] |= {
                str(root / part): f"{PLACE}/{part}" for part in PARTS if (root / part).exists()
            }
