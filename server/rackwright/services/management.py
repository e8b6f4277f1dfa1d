# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Questions to a BMC: the engine runs a step, and a client waits for the answer or looks at the node later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any

from anyio.to_thread import run_sync
from sqlalchemy import Engine

from rackwright.domain.errors import (
    Invalid,
    InvalidStep,
    NodeLocked,
    OperationFailed,
    Unavailable,
    Unsupported,
    WrongState,
)
from rackwright.domain.states import ProvisionState
from rackwright.domain.verbs import Interface, Phase
from rackwright.engine import composition, plan
from rackwright.services import access, nodes, validate
from rackwright.services.context import Context, check_unlocked
from rackwright.store import operation as operations
from rackwright.store.node import Node
from rackwright.store.operation import UNFINISHED, OperationStatus
from rackwright.store.session import reading, writing

_LONGEST = 60.0  # seconds that a client waits for an answer, or for the end of a lock
_PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to ask of a node: its step, who may ask, and what the text of a refusal calls it."""

    step: str
    rule: str
    attempted: str
    kind: Interface = Interface.MANAGEMENT
    stable: bool = False
    """It is asked in stable provision states only."""
    exclusive: bool = True
    """A locked node refuses it; else it waits for the end of the lock."""


GET_BOOT_DEVICE = Question("get_boot_device", "get_boot_device", "Reading the boot device")
SET_BOOT_DEVICE = Question("set_boot_device", "set_boot_device", "Setting the boot device")
GET_BOOT_DEVICES = Question("get_supported_boot_devices", "get_boot_device", "Listing the boot devices")
INJECT_NMI = Question("inject_nmi", "inject_nmi", "Injecting an NMI")
SET_BOOT_MODE = Question("set_boot_mode", "set_boot_mode", "Setting the boot mode", stable=True)
SET_SECURE_BOOT = Question("set_secure_boot", "set_secure_boot", "Setting secure boot", stable=True)
GET_INDICATORS = Question("get_indicators", "get_indicator_state", "Reading the indicators")
SET_INDICATOR = Question("set_indicator", "set_indicator_state", "Setting an indicator")
GET_MEDIA = Question("get_virtual_media", "vmedia:get", "Reading the virtual media")
ATTACH_MEDIA = Question("attach_virtual_media", "vmedia:attach", "Attaching virtual media")
DETACH_MEDIA = Question("detach_virtual_media", "vmedia:detach", "Detaching virtual media")


async def ask(
    ident: str, question: Question, args: Mapping[str, Any] | None = None, *, context: Context
) -> dict[str, Any]:
    """Return what the step of a question finds out about a node.

    Raise NodeNotFound, Forbidden, NodeLocked, WrongState, Invalid when the node does not offer what is asked for
    (Unsupported where its interface has no such step), OperationFailed with the text of the failure, or Unavailable
    when no answer comes in time; the step then goes on by itself.
    """
    uuid = await _begun(ident, question, args or {}, context, unattended=False)
    return await answered(partial(_look, uuid, context.engine), f"{question.attempted} of node {ident}")


async def answered(look: Callable[[], dict[str, Any] | None], what: str) -> dict[str, Any]:
    """Return what ``look`` finds, which finds nothing as long as there is no answer; raise Unavailable, or as it does.

    ``what`` names in a text what has not ended in time.
    """
    end = monotonic() + _LONGEST
    while (found := await run_sync(look)) is None:
        if monotonic() > end:
            raise Unavailable(f"{what} has not ended in {_LONGEST:.0f} s; try again later.")
        await asyncio.sleep(_PAUSE)
    return found


async def begin(ident: str, question: Question, args: Mapping[str, Any] | None = None, *, context: Context) -> None:
    """Let the step of a question run; a failure becomes last_error. Raise as ``ask`` does until it runs."""
    await _begun(ident, question, args or {}, context, unattended=True)


async def _begun(ident: str, question: Question, args: Mapping[str, Any], context: Context, *, unattended: bool) -> str:
    end = monotonic() + _LONGEST
    while True:
        try:
            return await run_sync(_store, ident, question, args, context, unattended)
        except NodeLocked:
            if question.exclusive or monotonic() > end:
                raise
        await asyncio.sleep(_PAUSE)


def _store(ident: str, question: Question, args: Mapping[str, Any], context: Context, unattended: bool) -> str:
    with writing(context.engine) as session:  # the session of a GET only reads
        node = nodes.get(ident, context=replace(context, session=session), lock=True)
        access.demand(f"baremetal:node:{question.rule}", node, context=context)
        check(node, question, context=context)
        check_unlocked(node)
        operation = plan.start_query(
            session=session,
            settings=context.settings,
            catalog=context.catalog,
            node=node,
            step=question.step,
            kind=question.kind,
            args=dict(args),
            unattended=unattended,
            user=context.user,
            project=context.project,
        )
        session.commit()
        return operation.uuid


def check(node: Node, question: Question, *, context: Context) -> None:
    """Raise Invalid, Unsupported or WrongState where a question cannot be put to a node."""
    kind = question.kind
    validate.check(node, kind, attempted=question.attempted, context=context)
    try:
        composition.single(node, Phase.MANAGEMENT, question.step, context.catalog, kind=kind)
    except InvalidStep as error:
        name = composition.interfaces(node, context.catalog)[kind]
        what = f"the {kind} interface {name} of node {node.name or node.uuid}; choose another {kind}_interface"
        raise Unsupported(attempted=question.attempted, what=what) from error
    state = ProvisionState(node.provision_state)
    if question.stable and not state.traits.stable:
        action = "Try again when what goes on with it has ended."
        raise WrongState(attempted=question.attempted, node=node.uuid, state=state, action=action)


def _look(uuid: str, engine: Engine) -> dict[str, Any] | None:
    """Return the answer, None as long as there is none."""
    with reading(engine) as session:
        operation = operations.get(uuid, session=session)
    if operation is None:
        raise OperationFailed("The node was removed before its BMC answered.")
    if operation.status == OperationStatus.DONE:
        return operation.facts
    if operation.status in UNFINISHED:
        return None
    if operation.facts.get("refused"):
        raise Invalid(operation.error or "")
    raise OperationFailed(operation.error or "The question to the BMC was ended without an answer; ask again.")
