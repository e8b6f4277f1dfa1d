# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Who may do what, and who sees what (contract: policies.yaml; engine.md, "Authorization").

Without a policy, that is unless callers come from keystone, everybody may do everything and nothing here costs time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rackwright.domain.checks import Target
from rackwright.domain.errors import AllocationNotFound, Forbidden, NodeNotFound, NotFound, RunbookNotFound
from rackwright.services.context import Context
from rackwright.services.policy import STEP

_SEEN_BY: Mapping[str, tuple[str, type[NotFound]]] = {
    "node": ("baremetal:node:get", NodeNotFound),
    "allocation": ("baremetal:allocation:get", AllocationNotFound),
    "runbook": ("baremetal:runbook:get", RunbookNotFound),
}
"""By table: the rule that decides who sees a row, and the error for the others, who must not learn that it exists."""

_OPEN_WHEN_PUBLIC = ("baremetal:runbook:get", "baremetal:runbook:use")
_FACTS = ("owner", "lessee")


def demand(rule: str, target: object = None, *, context: Context, hidden: NotFound | None = None) -> None:
    """Raise Forbidden unless the caller may do what ``rule`` names, such as ``baremetal:chassis:create``.

    ``target`` is the row that it is about; its ``owner`` and ``lessee`` count. A node, allocation or runbook that the
    caller does not see at all raises ``hidden``, by default the error of its table: what is hidden and what does not
    exist look the same. For an object below a node the target is the node, and ``hidden`` the object's own error.
    """
    if context.policy is None:
        return
    if target is not None and not sees(target, context=context):
        raise hidden or _unseen(target)
    if not allows(rule, target, context=context):
        raise _refusal(rule, context)


def demand_steps(keys: Iterable[str], target: object, *, context: Context) -> None:
    """Raise Forbidden for the first of these steps (``interface.step``) that a rule of its own denies the caller."""
    if context.policy is not None:
        for rule in (f"{STEP}{key}" for key in keys):
            if context.policy.knows(rule):
                demand(rule, target, context=context)


def allows(rule: str, target: object = None, *, context: Context) -> bool:
    """Return whether the caller may do what ``rule`` names to the row ``target``."""
    policy = context.policy
    if policy is None or policy.allows(rule, context.caller, facts(target)):
        return True
    is_open = rule in _OPEN_WHEN_PUBLIC and getattr(target, "public", False)
    return is_open and policy.allows("baremetal:runbook:list", context.caller, {})


def sees(target: object, *, context: Context) -> bool:
    """Return whether the caller may know that the row exists. Who acts on the whole deployment knows of every row."""
    if context.policy is None or context.caller.system_scope is not None:
        return True
    rule, _ = _SEEN_BY.get(_kind(target), (None, None))
    return rule is None or allows(rule, target, context=context)


def see(target: object, *, context: Context, hidden: NotFound) -> None:
    """Raise ``hidden`` unless the caller may know that the row exists, Forbidden when it may not be read."""
    if context.policy is not None and (known := _SEEN_BY.get(_kind(target))) is not None:
        demand(known[0], target, context=context, hidden=hidden)


def visible_to(kind: str, *, context: Context) -> str | None:
    """Return the project whose rows alone the caller may list, None when it is all of them.

    ``kind`` is what the rules are named after: ``node``, ``port``, ``portgroup``, ``volume``, ``allocation``,
    ``runbook``. Raise Forbidden for a caller who may list none.
    """
    if context.policy is None or allows(f"baremetal:{kind}:list_all", context=context):
        return None
    demand(f"baremetal:{kind}:list", context=context)
    if context.caller.project_id is None:
        raise _refusal(f"baremetal:{kind}:list_all", context)
    return context.caller.project_id


def check_project_filter(kind: str, wanted: str | None, *, context: Context) -> None:
    """Raise Forbidden when a list is to be narrowed to a project that is not the caller's own."""
    own = visible_to(kind, context=context) if wanted is not None else None
    if own is not None and own != wanted:
        raise _refusal(f"baremetal:{kind}:list_all", context)


def facts(target: object) -> Target:
    """Return what rules may ask about a row, as ``node.owner``; null is left out."""
    kind = _kind(target)
    found = {f"{kind}.{name}": getattr(target, name, None) for name in _FACTS}
    return {name: value for name, value in found.items() if isinstance(value, str)}


def _kind(target: object) -> str:
    return str(getattr(type(target), "__tablename__", ""))


def _unseen(target: object) -> NotFound:
    return _SEEN_BY[_kind(target)][1](ident=getattr(target, "uuid", None))


def _refusal(rule: str, context: Context) -> Forbidden:
    who = context.caller.user_name or context.caller.user_id or "who is unknown"
    return Forbidden(f"The rule {rule} does not allow this to user {who}; ask an administrator for a role that does.")
