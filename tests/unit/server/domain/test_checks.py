# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest

from rackwright.domain.caller import ANYBODY, Caller
from rackwright.domain.checks import CheckInvalid, compiled

MEMBER = Caller(user_id="u", project_id="p1", project_name="demo", roles=frozenset({"reader", "member"}))
SYSTEM = Caller(user_id="s", system_scope="all", roles=frozenset({"reader"}))


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("", True),
        ("@", True),
        ("!", False),
        ("role:member", True),
        ("role:MEMBER", True),
        ("role:admin", False),
        ("not role:admin", True),
        ("not not role:admin", False),
        ("role:member and role:admin", False),
        ("role:member or role:admin", True),
        ("role:member or role:admin and role:admin", True),
        ("(role:member or role:admin) and role:admin", False),
        ("not (role:admin or role:reader)", False),
        ("ROLE_x:1 or role:member", None),
        ("project_name:demo", True),
        ("project_name:other", False),
        ("system_scope:all", False),
        ("system_scope:None", True),
        ("is_admin_project:False", True),
        ("project_id:%(node.owner)s", True),
        ("project_id:%(node.lessee)s", False),
        ("user_domain_id:%(node.owner)s", False),
        ("rule:other", True),
        ("rule:other and rule:nobody", False),
    ],
)
def test_a_check_says_whom_it_allows(text: str, allowed: bool | None) -> None:
    rules = {"asked": text, "other": "role:reader", "nobody": "!"}
    if allowed is None:
        with pytest.raises(CheckInvalid):
            compiled(rules)
    else:
        assert compiled(rules)["asked"](MEMBER, {"node.owner": "p1", "node.lessee": "p2"}) is allowed


@pytest.mark.parametrize("caller", [ANYBODY, SYSTEM])
@pytest.mark.parametrize("target", [{}, {"node.owner": "None"}, {"node.owner": ""}])
def test_nobody_owns_what_has_no_owner(caller: Caller, target: dict[str, str]) -> None:
    assert compiled({"own": "project_id:%(node.owner)s"})["own"](caller, target) is False


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("role:member and", "ends where"),
        ("(role:member", "closing parenthesis"),
        ("role:member)", "stands where"),
        ("role:member role:admin", "stands where"),
        ("member", "kind:value"),
        ("http://rules.example/%(name)s", "no kind"),
        ("color:red", "known: .*project_id"),
        ("rule:missing", "missing, which does not exist"),
        ("rule:asked", "asks itself"),
        ("rule:circle", "asks itself"),
    ],
)
def test_a_check_that_cannot_be_understood_is_refused_with_its_rule_and_the_reason(text: str, reason: str) -> None:
    with pytest.raises(CheckInvalid, match=reason):
        compiled({"asked": text, "circle": "role:member or rule:asked"})
