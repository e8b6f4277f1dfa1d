# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import (
    MEDIA_ARGUMENTS,
    MEDIA_RULES,
    set_media,
)
from ansible_collections.rackwright.metal.plugins.plugin_utils._bmc import BmcAction


class ActionModule(BmcAction):
    """Insert an image into the virtual CD drive, or empty it."""

    arguments = BmcAction.arguments | MEDIA_ARGUMENTS
    rules = MEDIA_RULES
    operation = staticmethod(set_media)

    def options(self, context: dict[str, Any]) -> dict[str, Any]:
        """Take the image that was made for this boot."""
        image = (context.get("boot") or {}).get("url")
        return super().options(context) | ({"image": image} if image else {})
