# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Tokens of OpenStack's identity service, which says whose they are, for which scope and with which roles.

Source: the Identity API v3, ``GET /v3/auth/tokens``. Tokens of application credentials with access rules are refused by
keystone itself, because we do not announce that we would enforce such rules.

A service that acts for a user sends its own token beside the user's (X-Service-Token). When it is good and has one of
the roles of the setting, the user's token counts although it has expired, as long as keystone still knows it: work that
takes longer than a token lives must not break in the middle.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from keystoneauth1.exceptions import ClientException
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session

from rackwright.auth.base import Authenticator, Proof
from rackwright.domain.caller import Caller
from rackwright.domain.errors import Unauthenticated, Unavailable
from rackwright.settings import Settings

_log = logging.getLogger(__name__)

_TIMEOUT = 10  # seconds that keystone may take
_TOKEN = re.compile(r"[\x21-\x7e]{1,8192}")
_VERSION = "/v3"
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)
"""What reading raises where an answer is no token as the Identity API describes it."""


class KeystoneUnavailable(Unavailable):
    """The identity service cannot tell whose token this is; the log of the daemon tells why. Try again later."""


class Keystone(Authenticator):
    """Asks keystone about tokens, with an account of its own."""

    header = "x-auth-token"
    voucher = "x-service-token"

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        """Prepare for asking; keystone itself is asked with the first token only."""
        super().__init__(lifetime=settings.token_cache_time, clock=clock)
        url = (settings.keystone_auth_url or "").rstrip("/")
        self._url = url if url.endswith(_VERSION) else url + _VERSION
        self.challenge = f'Keystone uri="{settings.www_authenticate_uri or url.removesuffix(_VERSION)}"'
        account = Password(
            auth_url=self._url,
            username=settings.keystone_username,
            password=settings.keystone_password.get_secret_value() if settings.keystone_password else "",
            user_domain_name=settings.keystone_user_domain_name,
            project_name=settings.keystone_project_name,
            project_domain_name=settings.keystone_project_domain_name,
        )
        trusted = settings.keystone_cafile
        self._service_roles = frozenset(role.lower() for role in settings.service_token_roles)
        self._session = Session(auth=account, verify=str(trusted) if trusted else True, timeout=_TIMEOUT)

    def check_vouched(self, given: str, voucher: str) -> Caller:
        """Return whose token this is, which may have expired; raise as ``check`` does, also for the service's token."""
        try:
            service = self.remembered(voucher) or self.check(voucher)
        except Unauthenticated as error:
            raise Unauthenticated(f"The token in {self.voucher} does not count. {error.message}") from error
        if not service.roles & self._service_roles:
            wanted = ", ".join(sorted(self._service_roles))
            raise Unauthenticated(f"The token in {self.voucher} needs one of these roles in its scope: {wanted}.")
        return self.remembered(given) or self._keep(given, self._verify(given, expired=True))

    def _verify(self, given: str, *, expired: bool = False) -> Proof:
        if not _TOKEN.fullmatch(given):
            raise Unauthenticated("The token has a form that no token has.")
        try:
            token = self._asked(given, expired=expired)
            proof = Proof(caller_of(token), datetime.fromisoformat(token["expires_at"]).timestamp())
        except (ClientException, OSError, *_UNREADABLE) as error:
            raise self._unavailable(f"{type(error).__name__}: {error}") from error
        if proof.until <= self._clock() and not expired:
            raise Unauthenticated("The token has expired; get a new one.")
        return proof

    def _asked(self, given: str, *, expired: bool) -> Mapping[str, Any]:
        """Return what keystone says about a token; raise Unauthenticated, KeystoneUnavailable or what asking raises."""
        answer = self._session.get(
            f"{self._url}/auth/tokens?nocatalog" + ("&allow_expired=1" if expired else ""),
            headers={"X-Subject-Token": given, "Accept": "application/json"},
            authenticated=True,
            raise_exc=False,
            redirect=False,
        )
        if answer.status_code == 404:
            raise Unauthenticated("The token is unknown or no longer valid; get a new one.")
        if answer.status_code != 200:
            raise self._unavailable(f"it answered {answer.status_code}")
        found: Mapping[str, Any] = answer.json()["token"]
        return found

    def _unavailable(self, reason: str) -> KeystoneUnavailable:
        facts = {"url": self._url, "reason": reason}
        _log.error("Keystone cannot be asked; check keystone_auth_url, keystone_cafile and the account", extra=facts)
        return KeystoneUnavailable()


def caller_of(token: Mapping[str, Any]) -> Caller:
    """Return who and what a token stands for (Identity API v3, "Validate and show information for token")."""
    user, project = token.get("user") or {}, token.get("project") or {}
    return Caller(
        user_id=user.get("id"),
        user_name=user.get("name"),
        user_domain_id=(user.get("domain") or {}).get("id"),
        project_id=project.get("id"),
        project_name=project.get("name"),
        project_domain_id=(project.get("domain") or {}).get("id"),
        system_scope="all" if (token.get("system") or {}).get("all") else None,
        roles=frozenset(role["name"].lower() for role in token.get("roles") or ()),
        is_admin_project=bool(token.get("is_admin_project", True)),
    )
