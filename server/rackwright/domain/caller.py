# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Who asks (contract: policies.yaml). The names of the fields are those that checks of rules use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sent a request, as far as somebody vouches for it: nobody in particular by default."""

    user_id: str | None = None
    user_name: str | None = None
    user_domain_id: str | None = None
    project_id: str | None = None
    project_name: str | None = None
    project_domain_id: str | None = None
    system_scope: str | None = None
    """``all`` when the caller acts on the whole deployment, not on a project."""
    roles: frozenset[str] = frozenset()
    """The names of all roles in the caller's scope, in lower case."""
    is_admin_project: bool = False
    is_public_api: bool = False
    """The route is open to everybody."""


ANYBODY = Caller()
"""The caller where nobody has to say who they are."""
