# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Inspection rules: list, create, change and remove them (contract: node-fields.md, "Inspection rule").

The rules of the operator's file (setting ``built_in_rules``) are not among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rackwright.domain.errors import Duplicate, Invalid
from rackwright.services.access import demand
from rackwright.services.context import Context, no_duplicate
from rackwright.store.inspection_rule import INSPECTION_RULES, InspectionRule
from rackwright.store.paging import Page

Row = dict[str, Any]


def get(uuid: str, *, context: Context, lock: bool = False) -> InspectionRule:
    """Return the rule with this UUID; raise InspectionRuleNotFound."""
    demand("baremetal:inspection_rule:get", context=context)
    return INSPECTION_RULES.get(uuid, session=context.session, lock=lock)


def listed(columns: Sequence[str], *, context: Context, page: Page) -> list[Row]:
    """Return one page of rules; raise InspectionRuleNotFound for an unknown marker."""
    demand("baremetal:inspection_rule:list_all", context=context)
    return INSPECTION_RULES.listed(columns, session=context.session, page=page)


def create(values: Mapping[str, Any], *, context: Context) -> InspectionRule:
    """Create a rule and return it; raise Duplicate for a UUID that is taken."""
    demand("baremetal:inspection_rule:create", context=context)
    rule = InspectionRule(**values)
    if INSPECTION_RULES.taken("uuid", rule.uuid, session=context.session):
        raise Duplicate(what="An inspection rule with UUID", ident=rule.uuid)
    context.session.add(rule)
    with no_duplicate("An inspection rule with UUID", rule.uuid):
        context.session.commit()
    return rule


def update(rule: InspectionRule, values: Mapping[str, Any], *, context: Context) -> None:
    """Change fields of a rule, all or none of them; raise Invalid for one that would give its secrets away."""
    demand("baremetal:inspection_rule:update", context=context)
    if rule.sensitive and values.get("sensitive") is False:
        raise Invalid(f"Inspection rule {rule.uuid} is sensitive and stays so; create another rule instead.")
    for name, value in values.items():
        setattr(rule, name, value)
    context.session.add(rule)
    context.session.commit()


def delete(uuid: str, *, context: Context) -> None:
    """Remove a rule; raise InspectionRuleNotFound."""
    demand("baremetal:inspection_rule:delete", context=context)
    context.session.delete(INSPECTION_RULES.get(uuid, session=context.session, lock=True))
    context.session.commit()


def delete_all(*, context: Context) -> None:
    """Remove every rule."""
    demand("baremetal:inspection_rule:delete", context=context)
    for rule in INSPECTION_RULES.find(session=context.session):
        context.session.delete(rule)
    context.session.commit()
