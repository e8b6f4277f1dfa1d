# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Shards (contract: api.yaml, shards)."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.deps import CallDep, reply
from rackwright.api.routing import Router
from rackwright.api.versions import since
from rackwright.services import shards

router = Router(tags=["shards"])


@router.get("/v1/shards", summary="Count the nodes of each shard", dependencies=[since(82)])
def index(call: CallDep) -> Response:
    """Return each shard and the number of its nodes."""
    call.query({})
    return reply({"shards": shards.listed(context=call.context)})
