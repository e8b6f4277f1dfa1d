# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The resources of version 1 of the API, one router per file."""

from rackwright.api.v1 import (
    conductors,
    continue_inspection,
    drivers,
    heartbeat,
    history,
    lookup,
    management,
    nodes,
    operations,
    ports,
    root,
    states,
    traits,
    vifs,
)

ROUTERS = tuple(
    module.router
    for module in (
        *(root, nodes, states, management, traits, history, vifs, ports, drivers, conductors),
        *(lookup, heartbeat, continue_inspection, operations),
    )
)
"""The router of each file, in the order in which paths are looked up."""
