# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Whose allocations and runbooks a project sees and changes (contract: policies.yaml)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rackwright.domain.caller import Caller
from rackwright.domain.errors import AllocationNotFound, Forbidden, RunbookNotFound
from rackwright.services import allocations, deploy_templates, runbooks
from rackwright.services.context import Context
from rackwright.services.policy import Policy
from rackwright.store.paging import Page
from rackwright.store.session import session_of
from tests.unit.server.api_house import House

As = Callable[..., Context]
STEPS = [{"interface": "bios", "step": "factory_reset", "args": {}, "order": 1, "priority": 1}]


@pytest.fixture
def caller(tmp_path: Path) -> Iterator[As]:
    """Return a function that makes the context of somebody: a project with its roles, or a system role."""
    parts = House(tmp_path).parts
    session = session_of(parts.engine, write=True)
    everybody = Context(
        session=session,
        engine=parts.engine,
        settings=parts.settings,
        catalog=parts.catalog,
        sealer=parts.sealer,
        minor=115,
        policy=Policy.load(service_project="service"),
    )

    def of(project: str | None, *roles: str) -> Context:
        scope = None if project else "all"
        who = Caller(user_id="u", project_id=project, system_scope=scope, roles=frozenset(roles))
        return replace(everybody, caller=who)

    yield of
    session.close()


def names(listed: list[dict[str, Any]]) -> list[str]:
    return [each["name"] for each in listed]


def wish(context: Context, name: str, **more: Any) -> Any:
    return allocations.create({"name": name, "resource_class": "metal"} | more, context=context)


def book(context: Context, name: str, **more: Any) -> Any:
    return runbooks.create({"name": name, "steps": STEPS} | more, context=context)


def test_a_project_asks_for_itself_only(caller: As) -> None:
    member = caller("one", "member", "reader")
    assert wish(member, "mine").owner == "one"
    assert wish(member, "too", owner="one").owner == "one"
    with pytest.raises(Forbidden):
        wish(member, "theirs", owner="two")
    with pytest.raises(Forbidden):
        wish(caller("one", "reader"), "read")


def test_the_operator_asks_for_anybody(caller: As) -> None:
    system = caller(None, "admin", "member", "reader")
    assert wish(system, "nobody").owner is None
    assert wish(system, "theirs", owner="two").owner == "two"


def test_a_project_sees_and_changes_its_own_allocations(caller: As) -> None:
    mine, theirs = caller("one", "member", "reader"), caller("two", "member", "reader")
    found = wish(mine, "mine")
    wish(theirs, "theirs")
    assert names(allocations.listed(["name"], context=mine, filters={}, page=Page())) == ["mine"]
    with pytest.raises(Forbidden):
        allocations.listed(["name"], context=mine, filters={"owner": "two"}, page=Page())
    with pytest.raises(AllocationNotFound):
        allocations.get("mine", context=theirs)
    with pytest.raises(AllocationNotFound):
        allocations.delete(found, context=theirs)
    with pytest.raises(Forbidden):
        allocations.update(found, {"name": "other"}, context=caller("one", "reader"))
    allocations.delete(found, context=mine)


def test_the_runbooks_of_a_project_are_its_own(caller: As) -> None:
    manager = caller("one", "manager", "member", "reader")
    assert book(manager, "CUSTOM_MINE").owner == "one"
    for more in ({"owner": "two"}, {"public": True}):
        with pytest.raises(Forbidden):
            book(manager, "CUSTOM_NOT", **more)
    with pytest.raises(Forbidden):
        book(caller("one", "member", "reader"), "CUSTOM_NOT")
    mine = runbooks.get("CUSTOM_MINE", context=manager)
    for values in ({"public": True}, {"owner": "two"}):
        with pytest.raises(Forbidden):
            runbooks.update(mine, values, context=manager)
    runbooks.update(mine, {"extra": {"a": 1}}, context=manager)
    with pytest.raises(RunbookNotFound):
        runbooks.delete("CUSTOM_MINE", context=caller("two", "manager", "member", "reader"))
    runbooks.delete("CUSTOM_MINE", context=manager)


def test_a_public_runbook_is_there_for_everybody_and_changed_by_the_operator(caller: As) -> None:
    system, manager = caller(None, "admin", "member", "reader"), caller("one", "manager", "member", "reader")
    book(system, "CUSTOM_PUBLIC", public=True)
    book(system, "CUSTOM_PRIVATE")
    book(manager, "CUSTOM_MINE")
    assert names(runbooks.listed(["name"], context=manager, filters={}, page=Page())) == [
        "CUSTOM_PUBLIC",
        "CUSTOM_MINE",
    ]
    assert len(runbooks.listed(["name"], context=system, filters={}, page=Page())) == 3
    public = runbooks.get("CUSTOM_PUBLIC", context=manager)
    with pytest.raises(Forbidden):
        runbooks.update(public, {"extra": {"a": 1}}, context=manager)
    with pytest.raises(Forbidden):
        runbooks.set_traits(public, ["CUSTOM_A"], context=manager)
    with pytest.raises(RunbookNotFound):
        runbooks.get("CUSTOM_PRIVATE", context=manager)


def test_deploy_templates_are_the_operators(caller: As) -> None:
    template = {"name": "CUSTOM_ONE", "steps": STEPS}
    with pytest.raises(Forbidden):
        deploy_templates.create(template, context=caller("one", "admin", "member", "reader"))
    stored = deploy_templates.create(template, context=caller(None, "admin", "member", "reader"))
    assert deploy_templates.get("CUSTOM_ONE", context=caller(None, "reader")) is stored
    with pytest.raises(Forbidden):
        deploy_templates.update(stored, {"extra": {}}, context=caller(None, "reader"))
    with pytest.raises(Forbidden):
        deploy_templates.listed(["name"], context=caller("one", "reader"), page=Page())
