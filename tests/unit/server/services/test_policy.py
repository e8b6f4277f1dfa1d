# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from rackwright.domain.caller import Caller
from rackwright.services.policy import Policy, PolicyInvalid
from tests.unit.server.keystone_house import ROLES, implied

ROOT = Path(__file__).parents[4]
SERVER = ROOT / "server" / "rackwright"
SCOPES = ("system", "owner", "lessee", "other")
KINDS = ("node", "allocation", "runbook")


def table() -> dict[str, tuple[dict[str, str], set[str]]]:
    """Return the least role by scope, and the scopes in which the role service is enough, of each rule."""
    text = (ROOT / "tests" / "unit" / "fixtures" / "who_may_what.txt").read_text()
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    everywhere = {*SCOPES, "home"}
    return {
        rule: (dict(zip(SCOPES, rest[:4], strict=True)), everywhere if rest[4:] == ["all"] else set(rest[4:]) - {"-"})
        for rule, *rest in rows
    }


TABLE = table()


def caller(scope: str, *roles: str, home: bool = False) -> Caller:
    named = frozenset(implied(roles))
    if scope == "system":
        return Caller(system_scope="all", roles=named)
    return Caller(project_id="mine", project_name="service" if home else "mine", roles=named)


def target(scope: str) -> dict[str, str]:
    if scope == "system":
        return {}
    found = {f"{kind}.owner": "mine" if scope == "owner" else "theirs" for kind in KINDS}
    return found | {"node.lessee": "mine" if scope == "lessee" else "theirs"}


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy.load(service_project="service")


@pytest.mark.parametrize("rule", TABLE)
def test_a_rule_allows_the_roles_of_the_contract_in_each_scope_and_nobody_else(policy: Policy, rule: str) -> None:
    least, services = TABLE[rule]
    for scope in SCOPES:
        allowed = [role for role in ROLES if policy.allows(rule, caller(scope, role), target(scope))]
        first = {"-": len(ROLES), "anybody": 0}.get(least[scope])
        assert allowed == [*ROLES[ROLES.index(least[scope]) if first is None else first :]], scope
        assert policy.allows(rule, caller(scope), target(scope)) is (least[scope] == "anybody"), scope
        assert policy.allows(rule, caller(scope, "service"), target(scope)) is (scope in services), scope
    assert policy.allows(rule, caller("other", "service", home=True), target("other")) is ("home" in services)


def test_the_table_has_every_rule_of_requests() -> None:
    rules = yaml.safe_load((SERVER / "services" / "policies.yaml").read_text())
    assert {rule for rule in rules if rule.startswith("baremetal:")} - TABLE.keys() == {
        "baremetal:allocation:create_pre_rbac"  # asks for names of projects from before roles had scopes
    }


def test_every_rule_that_the_code_names_exists(policy: Policy) -> None:
    named = {
        name
        for file in SERVER.rglob("*.py")
        for name in re.findall(r'"(baremetal:[\w:]+)"', file.read_text())
        if not name.endswith(":")
    }
    assert len(named) > 40
    assert [name for name in sorted(named) if not policy.knows(name)] == []


def test_a_rule_that_does_not_exist_allows_nobody(policy: Policy) -> None:
    assert not policy.allows("baremetal:node:paint", caller("system", "admin"), {})


def test_the_rules_of_a_file_take_the_place_of_ours(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text('"baremetal:node:get": rule:friends\nfriends: role:friend\n"baremetal:step:execute:bios.x": "!"\n')
    policy = Policy.load(file, service_project="service")
    assert policy.allows("baremetal:node:get", caller("other", "friend"), {})
    assert not policy.allows("baremetal:node:get", caller("system", "admin"), {})
    assert policy.allows("baremetal:port:get", caller("system", "admin"), {})
    assert policy.knows("baremetal:step:execute:bios.x")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "table"),
        ("- a\n- b\n", "table"),
        ('"baremetal:node:get": [role:reader]\n', "table"),
        ('"baremetal:node:gett": role:reader\n', "did you mean baremetal:node:get?"),
        ('"baremetal:node:get": role:reader or\n', "baremetal:node:get cannot be understood"),
        ('"baremetal:node:get": "rule:see_node" \nsee_node: rule:baremetal:node:get\n', "asks itself"),
        ("a: {", "while parsing"),
    ],
)
def test_a_file_of_rules_that_cannot_be_used_is_refused_with_its_name_and_the_reason(
    tmp_path: Path, text: str, reason: str
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    with pytest.raises(PolicyInvalid, match=re.escape(reason)) as caught:
        Policy.load(file, service_project="service")
    assert str(file) in caught.value.message


def test_a_file_of_rules_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyInvalid, match="No such file"):
        Policy.load(tmp_path / "policy.yaml", service_project="service")
