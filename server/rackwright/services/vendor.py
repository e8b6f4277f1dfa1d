# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Methods that only some vendor interfaces have (contract: api.yaml, vendor_passthru).

A method of a node is a step of its vendor interface in the phase ``management`` that declares ``passthru``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

from anyio.to_thread import run_sync

from rackwright.domain.errors import Invalid, MissingParameter
from rackwright.domain.passthru import Passthru
from rackwright.domain.steps import Step
from rackwright.domain.verbs import Interface, Phase
from rackwright.engine import composition
from rackwright.services import access, drivers, management, nodes, validate
from rackwright.services.context import Context
from rackwright.services.management import Question
from rackwright.store.node import Node
from rackwright.store.session import reading

Methods = dict[str, Passthru]
_ATTEMPTED = "Calling a vendor method"


def methods(ident: str, *, context: Context) -> Methods:
    """Return the methods of a node by name; raise NodeNotFound, or Invalid without a vendor interface."""
    return {name: passthru for name, (_step, passthru) in _offered(_node(ident, context), context).items()}


async def call(ident: str, method: str, verb: str, args: Mapping[str, Any], *, context: Context) -> tuple[bool, Any]:
    """Call a method with the HTTP method ``verb``; return whether its result is there, and the result.

    Raise Invalid or MissingParameter for a wrong call, else as ``management.ask`` does.
    """
    step, passthru = await run_sync(_found, ident, method, verb, context)
    missing = sorted(name for name, info in step.argsinfo.items() if info.required and name not in args)
    if missing:
        raise MissingParameter(name=f"Argument {', '.join(missing)} of vendor method {method}")
    attempted = f"Calling vendor method {method}"
    question = Question(method, "vendor_passthru", attempted, Interface.VENDOR, exclusive=passthru.exclusive)
    if passthru.wait:
        return True, (await management.ask(ident, question, args, context=context)).get("result")
    await management.begin(ident, question, args, context=context)
    return False, None


def methods_of_driver(name: str, *, context: Context) -> Methods:
    """Return the methods of a driver that need no node: no interface has one. Raise DriverNotFound."""
    access.demand("baremetal:driver:vendor_passthru", context=context)
    drivers.get(name, context=context)
    return {}


def call_driver(name: str, method: str, *, context: Context) -> NoReturn:
    """Raise Invalid: a driver has no methods. Raise DriverNotFound for an unknown driver."""
    methods_of_driver(name, context=context)
    raise Invalid(f"Driver {name} has no vendor method {method or '(none named)'}; call a method of a node.")


def _node(ident: str, context: Context) -> Node:
    node = nodes.get(ident, context=context)
    access.demand("baremetal:node:vendor_passthru", node, context=context)
    validate.check(node, Interface.VENDOR, attempted=_ATTEMPTED, context=context)
    return node


def _found(ident: str, method: str, verb: str, context: Context) -> tuple[Step, Passthru]:
    with reading(context.engine) as session:  # the request's own would hold the lock that management waits for
        own = replace(context, session=session)
        return _chosen(_offered(_node(ident, own), own), method, verb, ident)


def _offered(node: Node, context: Context) -> dict[str, tuple[Step, Passthru]]:
    steps = composition.offered(node, Phase.MANAGEMENT, context.catalog)
    vendor = (step for step in steps if step.interface is Interface.VENDOR)
    return {step.name: (step, step.passthru) for step in vendor if step.passthru is not None}


def _chosen(offered: Mapping[str, tuple[Step, Passthru]], method: str, verb: str, node: str) -> tuple[Step, Passthru]:
    if method not in offered:
        known = ", ".join(sorted(offered)) or "none"
        raise Invalid(f"Vendor method {method or '(none named)'} is not one of node {node}; its methods: {known}.")
    step, passthru = offered[method]
    if verb not in passthru.http_methods:
        allowed = ", ".join(passthru.http_methods)
        raise Invalid(f"Vendor method {method} is called with {allowed}, not with {verb}.")
    return step, passthru
