# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Conductors: the processes that run operations."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.collections import CHOICE, FIELDS, PAGING, listing, show
from rackwright.api.deps import CallDep
from rackwright.api.documents import lists, shows, takes
from rackwright.api.routing import Router
from rackwright.api.schemas.conductor import CONDUCTOR
from rackwright.api.versions import since
from rackwright.services import conductors

router = Router(prefix="/v1/conductors", tags=["conductors"], dependencies=[since(49)])


@router.get("", summary="List conductors", openapi_extra=takes(PAGING, CHOICE) | lists(CONDUCTOR))
def index(call: CallDep) -> Response:
    """Return one page of conductors."""
    wanted = listing(call, CONDUCTOR, {})
    rows = conductors.listed(("hostname", *wanted.columns), context=call.context, page=wanted.page)
    return wanted.answer(rows, key="hostname")


@router.get("/{hostname}", summary="Show a conductor", openapi_extra=takes(FIELDS) | shows(CONDUCTOR))
def one(call: CallDep, hostname: str) -> Response:
    """Return one conductor."""
    return show(call, CONDUCTOR, conductors.get(hostname, context=call.context))
