# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Images in the virtual drives of a machine (contract: api.yaml, vmedia)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from anyio.to_thread import run_sync

from rackwright.domain.errors import Unavailable
from rackwright.services import access, management, nodes
from rackwright.services.context import Context
from rackwright.store.session import reading

_POWER_FAILURE = "power failure"


async def listed(ident: str, *, context: Context) -> list[dict[str, Any]]:
    """Return the virtual drives of a node as its BMC shows them; raise as ``management.ask`` does."""
    found = await management.ask(ident, management.GET_MEDIA, context=context)
    return list(found.get("virtual_media", []))


async def attach(ident: str, device: str, image: str, *, context: Context) -> None:
    """Let an image be inserted into a drive of this kind.

    Raise Unavailable while the node is in power failure, else as ``management.begin`` does.
    """
    await run_sync(_check_bmc, ident, context)
    args = {"device_type": device, "image_url": image}
    await management.begin(ident, management.ATTACH_MEDIA, args, context=context)


async def detach(ident: str, devices: Sequence[str], *, context: Context) -> None:
    """Let the drives of these kinds be emptied; raise as ``management.begin`` does."""
    await management.begin(ident, management.DETACH_MEDIA, {"device_types": list(devices)}, context=context)


def _check_bmc(ident: str, context: Context) -> None:
    with reading(context.engine) as session:  # the request's own would hold the lock that management waits for
        node = nodes.get(ident, context=replace(context, session=session))
    access.demand(f"baremetal:node:{management.ATTACH_MEDIA.rule}", node, context=context)
    if node.fault == _POWER_FAILURE:
        raise Unavailable(f"Node {ident} is in power failure: its BMC does not answer. Attach the image afterwards.")
