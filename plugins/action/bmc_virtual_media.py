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
    """Insert an image into a virtual drive, or empty the drives."""

    arguments = BmcAction.arguments | MEDIA_ARGUMENTS
    rules = MEDIA_RULES
    operation = staticmethod(set_media)
    asks = (("devices", "device_types"), ("image", "image_url"))

    def options(self, context: dict[str, Any]) -> dict[str, Any]:
        """Take what the step was asked for, else the image that was made for this boot."""
        image, device = (context.get("boot") or {}).get("url"), self.asked(context, "device_type")
        made = {"image": image} if image else {}
        return made | super().options(context) | ({"devices": [device]} if device else {})
