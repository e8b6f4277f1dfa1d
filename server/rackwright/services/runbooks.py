# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Runbooks: named lists of clean and service steps (contract: node-fields.md, "Runbook")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rackwright.domain.errors import Invalid, RunbookNotFound
from rackwright.services import access, step_lists
from rackwright.services.context import Context
from rackwright.services.traits import LIMIT
from rackwright.store.node import Node
from rackwright.store.paging import Page
from rackwright.store.runbook import RUNBOOKS, Runbook

Row = dict[str, Any]

_TRAITS_SINCE = 112


def get(ident: str, *, context: Context, lock: bool = False) -> Runbook:
    """Return the runbook with this UUID or name; raise RunbookNotFound or Forbidden."""
    found = RUNBOOKS.get(ident, session=context.session, lock=lock)
    access.see(found, context=context, hidden=RunbookNotFound(ident=ident))
    return found


def listed(columns: Sequence[str], *, context: Context, filters: Mapping[str, Any], page: Page) -> list[Row]:
    """Return one page of runbooks; the filter ``project`` leaves what the caller's project may use.

    Raise RunbookNotFound for an unknown marker, or Forbidden.
    """
    project = access.visible_to("runbook", context=context)
    stored = {} if project is None else {"visible_to": project}
    if filters.get("project") and context.project is not None:
        stored["usable_by"] = context.project
    return RUNBOOKS.listed(columns, session=context.session, page=page, filters=stored)


def create(values: Mapping[str, Any], *, context: Context) -> Runbook:
    """Create a runbook and return it; raise Invalid, Duplicate or Forbidden.

    Callers who may not choose an owner get their own project as the owner.
    """
    access.demand("baremetal:runbook:create", context=context)
    given = dict(values)
    if not access.allows("baremetal:runbook:update:owner", context=context):
        if given.setdefault("owner", context.project) != context.project:
            access.demand("baremetal:runbook:update:owner", context=context)
        if given.get("public"):
            access.demand("baremetal:runbook:update:public", context=context)
    runbook = Runbook(name=given["name"])
    _store(runbook, given, context)
    return runbook


def update(runbook: Runbook, values: Mapping[str, Any], *, context: Context) -> None:
    """Change fields of a runbook; one that becomes public loses its owner. Raise Invalid, Duplicate or Forbidden."""
    access.demand("baremetal:runbook:update", runbook, context=context)
    for name in values.keys() & {"owner", "public"}:
        access.demand(f"baremetal:runbook:update:{name}", runbook, context=context)
    _store(runbook, values, context)


def delete(ident: str, *, context: Context) -> None:
    """Remove a runbook; operations that go on keep its steps. Raise RunbookNotFound or Forbidden."""
    runbook = get(ident, context=context, lock=True)
    access.demand("baremetal:runbook:delete", runbook, context=context)
    context.session.delete(runbook)
    context.session.commit()


def set_traits(runbook: Runbook, traits: Iterable[str], *, context: Context) -> None:
    """Give a runbook exactly these traits; raise Invalid for too many, or Forbidden."""
    access.demand("baremetal:runbook:update", runbook, context=context)
    wanted = sorted(set(traits))
    if len(wanted) > LIMIT:
        raise Invalid(f"A runbook has at most {LIMIT} traits; these would be {len(wanted)}.")
    runbook.traits = wanted
    context.session.add(runbook)
    context.session.commit()


def usable(ident: str, node: Node, *, context: Context) -> Runbook:
    """Return the runbook for a node that it matches; raise RunbookNotFound, Forbidden or Invalid.

    From 1.112 one trait of the runbook must be a trait of the node, before that the runbook's name.
    """
    runbook = get(ident, context=context)
    access.demand("baremetal:runbook:use", runbook, context=context)
    matching = runbook.traits if context.minor >= _TRAITS_SINCE else [runbook.name]
    if not set(matching) & set(node.traits):
        wanted = f"one of {', '.join(matching)}" if matching else "a trait of the runbook, which has none"
        raise Invalid(f"Runbook {runbook.name} does not match node {node.uuid}: the node needs the trait {wanted}.")
    return runbook


def _store(runbook: Runbook, values: Mapping[str, Any], context: Context) -> None:
    step_lists.change(runbook, values, context=context)
    if runbook.public and values.get("owner") is not None:
        raise Invalid("A public runbook has no owner; give either public or owner.")
    if runbook.public:
        runbook.owner = None
    step_lists.store(runbook, context=context)
