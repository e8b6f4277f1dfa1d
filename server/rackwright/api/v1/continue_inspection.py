# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Where an agent sends its inspection report. Open to everybody: agents have no credentials.

Agents name no version here, so the resource is there at exactly 1.1, and again from 1.84 on.
"""

from __future__ import annotations

import json
from typing import Any

from fastapi import Response

from rackwright.api.deps import Call, CallDep, reply
from rackwright.api.documents import takes
from rackwright.api.gate import BODY_KEY
from rackwright.api.routing import PromptRouter
from rackwright.api.schemas.agent import REPORT, told
from rackwright.api.versions import DEFAULT, NewerEndpoint
from rackwright.domain.errors import Invalid
from rackwright.services import inspection

router = PromptRouter(prefix="/v1/continue_inspection", tags=["agents"])

SINCE = 84


@router.post("", summary="Take an inspection report", status_code=202, openapi_extra=takes(REPORT))
def continue_inspection(call: CallDep) -> Response:
    """Store and evaluate a report; at 1.1 the answer is the node's UUID only, later that of a lookup."""
    if DEFAULT < call.minor < SINCE:
        raise NewerEndpoint(since=SINCE, minor=call.minor)
    given = call.query(REPORT)
    found = inspection.continue_inspection(_report(call), node_uuid=given.get("node_uuid"), context=call.context)
    return reply({"uuid": found.node.uuid} if call.minor == DEFAULT else told(found, call.site), 202)


def _report(call: Call) -> Any:
    """Return the parsed body. Firmware puts broken characters into it, which a strict parser would refuse."""
    try:
        return json.loads(call.request.scope.get(BODY_KEY, b""))
    except ValueError as error:
        raise Invalid(f"The report is not valid JSON: {error}.") from error
