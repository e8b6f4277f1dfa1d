# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What is refused after all else was looked for: writing below lists that only list, and to states that are none.

Items of a list below another resource are created, shown, changed and removed in their own collection.

Contract: api.yaml, notes of /v1/nodes/{uuid}/ports and /v1/chassis/{uuid}/nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Response
from starlette.exceptions import HTTPException

from rackwright.api.deps import CallDep
from rackwright.api.errors import BadIdent
from rackwright.api.routing import Router

router = Router(include_in_schema=False)

_LISTS = {
    "/v1/nodes/{ident}/ports": "ports",
    "/v1/nodes/{ident}/portgroups": "portgroups",
    "/v1/nodes/{ident}/volume/connectors": "volume/connectors",
    "/v1/nodes/{ident}/volume/targets": "volume/targets",
    "/v1/portgroups/{ident}/ports": "ports",
    "/v1/chassis/{ident}/nodes": "nodes",
}
"""Each list below another resource, and the collection that its items belong to."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Answers what is asked below a list that only lists."""

    collection: str

    def answer(self, _call: CallDep, ident: str, item: str = "") -> Response:
        """Refuse the request; raise BadIdent."""
        what = f"{item} of {ident}" if item else f"the list of {ident}"
        raise BadIdent(f"{what} is not reached here: this path only lists; use /v1/{self.collection}.")


for path, collection in _LISTS.items():
    refuse = Refusal(collection).answer
    router.add_api_route(path, refuse, methods=["POST", "PATCH", "DELETE"])
    router.add_api_route(f"{path}/{{item}}", refuse, methods=["GET", "POST", "PATCH", "DELETE"])


@router.api_route("/v1/nodes/{ident}/states/{name}", methods=["DELETE", "PATCH", "POST", "PUT"])
def refuse_state(_call: CallDep, ident: str, name: str) -> Response:
    """Refuse to write a state that is none."""
    del ident, name
    raise HTTPException(405)
