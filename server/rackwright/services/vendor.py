# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Methods that only some vendor interfaces have (contract: api.yaml, vendor_passthru).

A method of a node is a step of its vendor interface in the phase ``management`` that declares ``passthru``; a method of
a driver is one that declares there ``of: driver``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from anyio.to_thread import run_sync

from rackwright.domain.errors import Invalid, MissingParameter, OperationFailed
from rackwright.domain.passthru import Passthru
from rackwright.domain.steps import Step
from rackwright.domain.verbs import Interface, Phase
from rackwright.engine import composition, driver_calls
from rackwright.services import access, drivers, management, nodes, validate
from rackwright.services.context import Context
from rackwright.services.management import Question
from rackwright.store import driver_call as calls
from rackwright.store.node import Node
from rackwright.store.operation import UNFINISHED
from rackwright.store.session import reading, writing

Methods = dict[str, Passthru]
Offer = Mapping[str, tuple[Step, Passthru]]
Called = tuple[bool, Any]
"""Whether the result is there already, and the result."""

_ATTEMPTED = "Calling a vendor method"


def methods(ident: str, *, context: Context) -> Methods:
    """Return the methods of a node by name; raise NodeNotFound, or Invalid without a vendor interface."""
    return {name: passthru for name, (_step, passthru) in _offered(_node(ident, context), context).items()}


async def call(ident: str, method: str, verb: str, args: Mapping[str, Any], *, context: Context) -> Called:
    """Call a method with the HTTP method ``verb``; return whether its result is there, and the result.

    Raise Invalid or MissingParameter for a wrong call, else as ``management.ask`` does.
    """
    step, passthru = await run_sync(_found, ident, method, verb, context)
    _check_arguments(step, args)
    attempted = f"Calling vendor method {method}"
    question = Question(method, "vendor_passthru", attempted, Interface.VENDOR, exclusive=passthru.exclusive)
    if passthru.wait:
        return True, (await management.ask(ident, question, args, context=context)).get("result")
    await management.begin(ident, question, args, context=context)
    return False, None


def methods_of_driver(name: str, *, context: Context) -> Methods:
    """Return the methods of a driver: those of its default vendor interface that need no node. Raise DriverNotFound."""
    return {method: passthru for method, (_step, passthru) in _offered_by(name, context).items()}


async def call_driver(name: str, method: str, verb: str, args: Mapping[str, Any], *, context: Context) -> Called:
    """Call a method of a driver, as ``call`` does; a failure that nobody waits for goes to the log of the conductor.

    Raise DriverNotFound, and Forbidden, Invalid, MissingParameter, OperationFailed or Unavailable as ``call`` does.
    """
    step, passthru = await run_sync(_found_in, name, method, verb, context)
    _check_arguments(step, args)
    uuid = await run_sync(_stored, name, step, args, context)
    if not passthru.wait:
        return False, None
    attempted = f"Calling vendor method {method} of driver {name}"
    return True, (await management.answered(partial(_look, uuid, context), attempted)).get("result")


def _found_in(name: str, method: str, verb: str, context: Context) -> tuple[Step, Passthru]:
    with reading(context.engine) as session:
        offered = _offered_by(name, replace(context, session=session))
    return _chosen(offered, method, verb, f"driver {name}")


def _offered_by(name: str, context: Context) -> Offer:
    access.demand("baremetal:driver:vendor_passthru", context=context)
    drivers.get(name, context=context)
    interfaces = {Interface.VENDOR: context.catalog.default_interfaces(name)[Interface.VENDOR]}
    return _methods(context.catalog.offered(interfaces, Phase.MANAGEMENT), of="driver")


def _stored(name: str, step: Step, args: Mapping[str, Any], context: Context) -> str:
    with writing(context.engine) as session:
        call = driver_calls.plan(name, step, args, session=session)
        session.commit()
        return call.uuid


def _look(uuid: str, context: Context) -> dict[str, Any] | None:
    """Return the answer to a call, which is then forgotten; None as long as there is none."""
    with reading(context.engine) as session:
        call = calls.get(uuid, session=session)
    if call is None:
        raise OperationFailed("The call was removed before it was answered; call the method again.")
    if call.status in UNFINISHED:
        return None
    with writing(context.engine) as session:
        session.delete(call)
        session.commit()
    if call.error is not None:
        raise Invalid(call.error) if call.facts.get("refused") else OperationFailed(call.error)
    return call.facts


def _node(ident: str, context: Context) -> Node:
    node = nodes.get(ident, context=context)
    access.demand("baremetal:node:vendor_passthru", node, context=context)
    validate.check(node, Interface.VENDOR, attempted=_ATTEMPTED, context=context)
    return node


def _found(ident: str, method: str, verb: str, context: Context) -> tuple[Step, Passthru]:
    with reading(context.engine) as session:  # the request's own would hold the lock that management waits for
        own = replace(context, session=session)
        return _chosen(_offered(_node(ident, own), own), method, verb, f"node {ident}")


def _offered(node: Node, context: Context) -> Offer:
    return _methods(composition.offered(node, Phase.MANAGEMENT, context.catalog), of="node")


def _methods(steps: Iterable[Step], *, of: str) -> Offer:
    vendor = (step for step in steps if step.interface is Interface.VENDOR)
    return {step.name: (step, step.passthru) for step in vendor if step.passthru is not None and step.passthru.of == of}


def _check_arguments(step: Step, args: Mapping[str, Any]) -> None:
    missing = sorted(name for name, info in step.argsinfo.items() if info.required and name not in args)
    if missing:
        raise MissingParameter(name=f"Argument {', '.join(missing)} of vendor method {step.name}")


def _chosen(offered: Offer, method: str, verb: str, whose: str) -> tuple[Step, Passthru]:
    if method not in offered:
        known = ", ".join(sorted(offered)) or "none"
        raise Invalid(f"Vendor method {method or '(none named)'} is not one of {whose}; its methods: {known}.")
    step, passthru = offered[method]
    if verb not in passthru.http_methods:
        allowed = ", ".join(passthru.http_methods)
        raise Invalid(f"Vendor method {method} is called with {allowed}, not with {verb}.")
    return step, passthru
