# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""How clients prove who they are: one file per strategy (contract: api.yaml, auth)."""

from __future__ import annotations

from rackwright.auth.base import Authenticator
from rackwright.settings import Settings

__all__ = ["Authenticator", "authenticator"]


def authenticator(settings: Settings) -> Authenticator | None:
    """Return what checks the credentials of requests, None where nobody has to prove who they are.

    Raise UsersInvalid or KeystoneUnusable. A strategy is only loaded where it is used.
    """
    if settings.auth_strategy == "http_basic":
        from rackwright.auth.basic import Basic

        return Basic(settings)
    if settings.auth_strategy == "keystone":
        from rackwright.auth.keystone import Keystone

        return Keystone(settings)
    return None
