# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The settings of what is done to many nodes: limits, fast track, power.

Names and defaults are Ironic's where it has them (contract: ``config-options.yaml``).
"""

from __future__ import annotations

from pydantic import Field

from rackwright.settings.interfaces import InterfaceSettings
from rackwright.settings.values import Count, Positive, Seconds


class FleetSettings(InterfaceSettings):
    """How much happens at once, and how the power is looked after."""

    # Limits
    max_concurrent_deploy: Positive = Field(250, description="Most nodes that are deployed at once.")
    max_concurrent_clean: Positive = Field(50, description="Most nodes that are undeployed or cleaned at once.")
    max_concurrent_per_conductor_group: bool = Field(
        False, description="Count both for each conductor group of its own instead of for all nodes."
    )
    max_running_per_rack: Count = Field(
        0, description="Most nodes of one rack that runs work on at once; the others wait their turn. 0: no limit."
    )
    max_running_per_bmc: Count = Field(
        0, description="Most nodes of one BMC that runs work on at once; the others wait their turn. 0: no limit."
    )
    rack_property: str = Field("rack", description="Property of nodes that names their rack; empty: conductor group.")

    # Fast track
    fast_track: bool = Field(
        False, description="Leave agents running after inspection and cleaning, so that the next verb boots no machine."
    )
    fast_track_timeout: int = Field(300, ge=0, le=300, description="Longest silence of an agent that counts as alive.")

    # Power
    sync_power_state_interval: Seconds = Field(120, description="Time between two power syncs; 0: never.")
    sync_power_state_workers: Positive = Field(
        8, description="Most runs at once that read power states; they have half of run_slots at most."
    )
    power_state_sync_max_retries: Count = Field(3, description="Failed syncs before a node goes into maintenance.")
    force_power_state_during_sync: bool = Field(True, description="Enforce the recorded power state on the machine.")
    power_failure_recovery_interval: Seconds = Field(300, description="Time between two looks at failed nodes.")
    enable_health_monitoring: bool = Field(
        True, description="Record the health that BMCs tell with the power state in the node's field health."
    )
