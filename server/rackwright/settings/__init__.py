# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Every setting of the daemon: what an operator can set, its default, and what is refused at start."""

from rackwright.settings.daemon import CONFIG_VARIABLE, PREFIX, Settings, SettingsInvalid, load

__all__ = ("CONFIG_VARIABLE", "PREFIX", "Settings", "SettingsInvalid", "load")
