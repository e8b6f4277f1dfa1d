# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Inspection rules: lists, creation, one rule (contract: api.yaml, inspection rules)."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from rackwright.api.collections import listing
from rackwright.api.deps import Arg, Args, Call, CallDep, reply
from rackwright.api.endpoints import Endpoints
from rackwright.api.fields import Row
from rackwright.api.kinds import TEXT
from rackwright.api.patch import WITH_SOURCE
from rackwright.api.routing import Router
from rackwright.api.schemas.inspection_rule import INSPECTION_RULE, SINCE
from rackwright.api.versions import since
from rackwright.domain.errors import Invalid
from rackwright.services import inspection_rules

router = Router(tags=["inspection rules"])

_FILTERS: Args = {"phase": Arg(TEXT)}


def _visible(row: Row) -> Row:
    """Return what clients may see of a rule."""
    return {**row, "conditions": None, "actions": None} if row["sensitive"] else row


class _Endpoints(Endpoints):
    """What a sensitive rule looks for and does is shown to nobody."""

    def page(self, call: Call, *, detail: bool | None = None) -> Response:
        """Return one page of them; all are of the one phase that there is."""
        wanted = listing(call, self.resource, self.filters, detail=detail)
        rows = inspection_rules.listed(("uuid", "sensitive", *wanted.columns), context=call.context, page=wanted.page)
        return wanted.answer([_visible(row) for row in rows])

    def shown(self, found: Any, call: Call) -> Row:
        """Return what clients may see of one."""
        return _visible(super().shown(found, call))

    def operations(self, found: Any, call: Call) -> Any:
        """Return a patch; raise Invalid where it would read a sensitive rule."""
        given = call.json()
        known = [each.get("op") for each in given if isinstance(each, dict)] if isinstance(given, list) else []
        if found.sensitive and any(op in ("test", *WITH_SOURCE) for op in known):
            raise Invalid(f"Inspection rule {found.uuid} is sensitive; its patch may add, replace and remove only.")
        return given


@router.delete(
    "/v1/inspection_rules",
    summary="Remove all inspection rules",
    status_code=204,
    dependencies=[since(SINCE, refusal=405)],
)
def delete_all(call: CallDep) -> Response:
    """Remove all inspection rules; those of the operator's file stay."""
    call.query({})
    inspection_rules.delete_all(context=call.context)
    return reply(status=204)


_Endpoints(resource=INSPECTION_RULE, service=inspection_rules, filters=_FILTERS, ident="uuid", first=SINCE).join(
    router, index="Return one page of inspection rules; all are of the one phase that there is."
)
