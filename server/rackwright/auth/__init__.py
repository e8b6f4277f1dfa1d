# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""How clients prove who they are: one file per strategy (contract: api.yaml, auth)."""

from __future__ import annotations

from rackwright.auth.base import Authenticator
from rackwright.domain.errors import Invalid
from rackwright.settings import Settings

__all__ = ["Authenticator", "authenticator"]


class LibraryMissing(Invalid):
    """auth_strategy keystone needs the library keystoneauth1; install it with: pip install 'rackwright[keystone]'"""


def authenticator(settings: Settings) -> Authenticator | None:
    """Return what checks the credentials of requests, None where nobody has to prove who they are.

    Raise UsersInvalid or LibraryMissing. A strategy is only loaded where it is used.
    """
    if settings.auth_strategy == "http_basic":
        from rackwright.auth.basic import Basic

        return Basic(settings)
    if settings.auth_strategy == "keystone":
        try:
            from rackwright.auth.keystone import Keystone
        except ImportError as error:
            raise LibraryMissing from error
        return Keystone(settings)
    return None
