# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""How the firmware of a node boots: its mode, and whether it takes signed software only."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass

from fastapi import Request, Response, params

from rackwright.api.deps import Arg, Args, CallDep, call, checked_ident, reply
from rackwright.api.documents import takes
from rackwright.api.kinds import BOOLEAN, choice
from rackwright.api.routing import Router
from rackwright.api.versions import Since, hides
from rackwright.services import access, management, nodes
from rackwright.services.management import Question

router = Router(prefix="/v1/nodes/{ident}/states", tags=["node states"])

_SINCE = 76

_MODE: Args = {"target": Arg(choice("bios", "uefi"), required=True)}
_SECURE: Args = {"target": Arg(BOOLEAN, required=True)}


@dataclass(frozen=True, slots=True)
class _SinceFor(Since):
    """Hides an endpoint from older versions; who may not use it anyway learns that first."""

    rule: str = ""

    def __call__(self, request: Request) -> None:
        if hides(self, request.scope):
            with contextmanager(call)(request) as opened:
                node = nodes.get(checked_ident(request.path_params["ident"]), context=opened.context)
                access.demand(f"baremetal:node:{self.rule}", node, context=opened.context)
        Since.__call__(self, request)


def _since(question: Question) -> list[params.Depends]:
    return [params.Depends(_SinceFor(_SINCE, rule=question.rule))]


def _accepted(call: CallDep, ident: str) -> Response:
    return reply(status=202, location=f"{call.url}/v1/nodes/{ident}/states")


@router.put(
    "/boot_mode",
    summary="Change the boot mode",
    status_code=202,
    dependencies=_since(management.SET_BOOT_MODE),
    openapi_extra=takes(body=_MODE),
)
async def boot_mode(call: CallDep, ident: str) -> Response:
    """Let the boot mode be changed; the node shows it when that is done."""
    args = {"boot_mode": call.arguments(_MODE)["target"]}
    await management.begin(checked_ident(ident), management.SET_BOOT_MODE, args, context=call.context)
    return _accepted(call, ident)


@router.put(
    "/secure_boot",
    summary="Switch secure boot",
    status_code=202,
    dependencies=_since(management.SET_SECURE_BOOT),
    openapi_extra=takes(body=_SECURE),
)
async def secure_boot(call: CallDep, ident: str) -> Response:
    """Let secure boot be switched on or off; the node shows it when that is done."""
    args = {"secure_boot": call.arguments(_SECURE)["target"]}
    await management.begin(checked_ident(ident), management.SET_SECURE_BOOT, args, context=call.context)
    return _accepted(call, ident)
