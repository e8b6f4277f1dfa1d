# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The resources of version 1 of the API, one router per file."""

from rackwright.api.v1 import (
    allocations,
    bios,
    boot_mode,
    chassis,
    conductors,
    console,
    continue_inspection,
    deploy_templates,
    drivers,
    events,
    firmware,
    health,
    heartbeat,
    history,
    indicators,
    inspection_rules,
    items,
    lookup,
    management,
    nodes,
    operations,
    portgroups,
    ports,
    raid,
    root,
    runbooks,
    shards,
    states,
    traits,
    vendor,
    vifs,
    virtual_media,
    volume,
)

ROUTERS = tuple(
    module.router
    for module in (
        *(root, nodes, management, traits, history, vifs, ports, drivers, conductors),
        *(raid, boot_mode, console, states, indicators, bios, firmware, virtual_media, vendor),
        *(allocations, deploy_templates, runbooks),
        *(lookup, heartbeat, continue_inspection, operations, inspection_rules),
        *(portgroups, chassis, volume, shards, events, items, health),
    )
)
"""The router of each file, in the order in which paths are looked up."""
