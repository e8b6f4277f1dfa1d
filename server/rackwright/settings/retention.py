# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The settings of what is kept, and how much of it or for how long."""

from __future__ import annotations

from pydantic import Field

from rackwright.settings.interfaces import InterfaceSettings
from rackwright.settings.values import Count, Seconds


class RetentionSettings(InterfaceSettings):
    """Bounds of rows and files that come with the work."""

    node_history: bool = Field(True, description="Keep errors and events of nodes.")
    node_history_max_entries: Count = Field(300, description="Entries kept for each node; 0: all.")
    record_step_flows_in_history: bool = Field(True, description="Keep start and end of step lists in the history.")
    node_operations_max_entries: Count = Field(
        30, description="Operations that are over and kept for each node, with their timelines; 0: all."
    )
    cache_clean_up_interval: Seconds = Field(
        3600, description="Time between two removals of what is kept no longer, such as boot images; 0: never."
    )
    image_cache_ttl: Seconds = Field(
        10080, description="Minutes without use after which a downloaded kernel, ramdisk or bootloader goes; 0: never."
    )
    deploy_logs_max_files: Count = Field(1000, description="Archives of agents' logs that are kept; 0: all.")
