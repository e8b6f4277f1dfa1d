# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection to a Redfish service, on top of sushy: log in and out, read, and write in the way this BMC takes it.

What goes wrong becomes an OperationError with a cause that an operator understands.
"""

from __future__ import annotations

import json
import logging
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from urllib.parse import urljoin, urlsplit

from ansible.module_utils.basic import missing_required_lib

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.redfish_errors import (
    ATTEMPTS,
    BUSY,
    NOT_OFFERED,
    NOT_REDFISH,
    explain,
    kind_of,
)
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.redfish_trust import Trusting
from ansible_collections.rackwright.metal.plugins.module_utils._errors import NotOfferedError, OperationError

try:
    import requests
    import sushy
    from sushy import auth as sushy_auth
    from sushy import connector as sushy_connector
    from sushy import exceptions
except ImportError:
    SUSHY_MISSING: str | None = traceback.format_exc()
else:
    SUSHY_MISSING = None

Data = dict[str, Any]

CONNECT_TIMEOUT = 10
READ_TIMEOUT = 60
PAUSE = 2.0
"""Seconds between two attempts."""

RENEWALS = 2
"""How often a request is sent again after a BMC has refused a session and the next one."""

CONFLICTS = 1
"""How often somebody else may change a resource between our look at it and our change of it."""

_NO_SESSION = 401
_REFUSED_ETAG = (412, 428)
_REDIRECTED = (301, 302, 303, 307, 308)
_KEEPS_METHOD = (307, 308)

# sushy tells its user what it does by warnings in the log; what matters of it is in the errors.
logging.getLogger("sushy").addHandler(logging.NullHandler())


class Service:
    """An open, authenticated connection to the Redfish service of one BMC."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Log in to ``params["address"]``; raise OperationError."""
        if SUSHY_MISSING:
            raise OperationError("speak Redfish", missing_required_lib("sushy"), "Install it for this Python.")
        self.base, prefix = service_address(str(params["address"]))
        self._forms: dict[str, int] = {}
        around = requests.Session().merge_environment_settings(
            self.base, {}, None, verification(params["verify_ca"]), None
        )
        self._connector = sushy_connector.Connector(
            self.base,
            verify=around["verify"],
            server_side_retries=ATTEMPTS - 1,
            server_side_retries_delay=PAUSE,
            default_request_timeout=READ_TIMEOUT,
            connect_timeout=CONNECT_TIMEOUT,
        )
        session: Any = self._connector._session
        # Else the environment, its proxies and ~/.netrc are searched for each request anew, in a tenth of its time.
        session.proxies, session.trust_env = around["proxies"], False
        del session.headers["Connection"]  # sushy's "close" would cost each request a connection, and a handshake
        session.mount("https://", Trusting())
        session.hooks["response"].append(self._check_redirect)
        self._auth = _auth(params)
        self._is_lost = False
        try:
            with self.attempting("connect"):
                self.root = sushy.Sushy(self.base, auth=self._auth, connector=self._connector, root_prefix=prefix)
        except OperationError:
            self._connector.close()
            raise
        except (AttributeError, TypeError) as error:  # sushy takes for granted that the root is an object
            self._connector.close()
            raise OperationError(f"connect (BMC {self.base})", *NOT_REDFISH, kind="malformed") from error

    @contextmanager
    def attempting(self, what: str) -> Iterator[None]:
        """Turn the errors of sushy into one that says what was attempted, why it failed and what to do next."""
        try:
            yield
        except (exceptions.SushyError, json.JSONDecodeError) as error:
            self._is_lost = isinstance(error, exceptions.ConnectionError)
            cause, action = explain(error)
            family = NotOfferedError if getattr(error, "status_code", None) in NOT_OFFERED else OperationError
            raise family(f"{what} (BMC {self.base})", cause, action, kind=kind_of(error)) from error

    def get(self, path: str) -> Data:
        """Return the resource at ``path``; raise sushy's errors."""
        return self._read(path)[0]

    def find(self, path: str | None, *, absent: Sequence[int] = (400, 403, 404, 405, 501)) -> Data:
        """Return the resource at ``path``; nothing where there is no path, or one of the ``absent`` HTTP statuses."""
        if not path:
            return {}
        try:
            return self.get(path)
        except exceptions.HTTPError as error:
            if error.status_code not in absent:
                raise
            return {}

    def post(self, path: str, body: Data | None) -> None:
        """Send ``body`` to an action; raise sushy's errors."""
        self.patiently(lambda: self._connector.post(path, data=body))

    def patch_with_first(self, path: str, *bodies: Data) -> None:
        """Change the resource at ``path`` with the first body that this BMC takes; raise sushy's error for the last."""
        for body in bodies:
            try:
                self.patch(path, body)
            except Exception as error:
                if not rejects(error) or body is bodies[-1]:
                    raise
            else:
                return

    def patch(self, path: str, body: Data) -> None:
        """Change the resource at ``path``, with the ETag in the form that this BMC takes; raise sushy's errors.

        BMCs refuse the very ETag that they hand out: they want it without the mark for weak ones, without quotes, or
        not at all. What worked is remembered for this connection. A resource that has another ETag after a refusal was
        changed by somebody else meanwhile: that is borne once.
        """
        kind = path.rpartition("/")[0]
        forms = list(dict.fromkeys([self._forms.get(kind, 0), *range(len(_ETAG_FORMS))]))
        etag, conflicts = self._read(path)[1], 0
        while True:
            sent = _ETAG_FORMS[forms[0]](etag)
            refusal = self._refusal(path, body, sent)
            if refusal is None:
                self._forms[kind] = forms[0]
                return
            before, etag = etag, self._read(path)[1]
            if etag != before:
                conflicts += 1
                self._check_conflicts(path, conflicts)
                continue
            forms = [form for form in forms if _ETAG_FORMS[form](etag) != sent]
            if not forms:
                raise refusal

    def _refusal(self, path: str, body: Data, etag: str) -> Exception | None:
        """Send a change; return the error with which the BMC refuses the ETag, None when it takes it."""
        try:
            self.patiently(partial(self._connector.patch, path, data=body, headers=_if_match(etag)))
        except exceptions.HTTPError as error:
            if error.status_code not in _REFUSED_ETAG:
                raise
            return error
        return None

    def _check_conflicts(self, path: str, count: int) -> None:
        if count > CONFLICTS:
            raise OperationError(
                f"change {path} (BMC {self.base})",
                f"Somebody else has changed it {count} times meanwhile, so that the BMC refuses our change.",
                "Find out who else manages this BMC, and repeat when that has ended.",
                kind="conflict",
            )

    def connector(self) -> Any:
        """Return sushy's connector, for its resource classes."""
        return self._connector

    def close(self) -> None:
        """Log out, unless the BMC has stopped answering, and close the connection.

        Where the session is gone already, sushy must not log in once more for that.
        """
        if isinstance(self._auth, sushy_auth.SessionAuth) and (path := self._auth.get_session_resource_id()):
            token = {"X-Auth-Token": self._auth.get_session_key()}
            delete = partial(self._connector.delete, path, headers=token, allow_reauth=False)
            self._auth.reset_session_attrs()
            if not self._is_lost:
                with suppress(exceptions.SushyError):
                    self.patiently(delete, busy=(*BUSY, 500))
        self._connector.close()

    def _read(self, path: str) -> tuple[Data, str]:
        """Return a resource and its ETag, which some BMCs send in the body only."""
        answer = self._renewing(lambda: self._connector.get(path))
        content = answer.json()
        if not isinstance(content, dict):
            raise exceptions.MalformedAttributeError(attribute="(all)", resource=path, error="it is no JSON object")
        return content, answer.headers.get("ETag") or str(content.get("@odata.etag") or "")

    def patiently(self, send: Callable[[], Any], *, busy: Sequence[int] = BUSY) -> None:
        """Send a change, again where the BMC is too busy for it; raise sushy's errors."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._renewing(send)
            except exceptions.HTTPError as error:
                if error.status_code not in busy or attempt == ATTEMPTS:
                    raise
                time.sleep(PAUSE)
            else:
                return

    def _renewing(self, send: Callable[[], Any]) -> Any:
        """Send a request; again where the BMC has forgotten also the session that sushy has just renewed."""
        for _attempt in range(RENEWALS):
            try:
                return send()
            except exceptions.AccessError as error:
                if error.status_code != _NO_SESSION or not self._auth.can_refresh_session():
                    raise
        return send()

    def _check_redirect(self, answer: Any, *_args: Any, **_kwargs: Any) -> None:
        """Refuse a redirect that would take credentials to another host, or would turn a change into a question."""
        if answer.status_code not in _REDIRECTED or "Location" not in answer.headers:
            return
        session: Any = self._connector._session
        target = urljoin(answer.url, answer.headers["Location"])
        if session.should_strip_auth(answer.url, target):
            reason = f"it redirects to another server, {urlsplit(target).netloc}"
        elif answer.request.method != "GET" and answer.status_code not in _KEEPS_METHOD:
            reason = f"it redirects a {answer.request.method} with HTTP {answer.status_code}, which would lose it"
        else:
            return
        answer.close()
        raise requests.exceptions.InvalidURL(reason)


def members(collection: Data) -> list[str]:
    """Return the paths of a collection's members."""
    return [path for item in collection.get("Members") or () if (path := link(item))]


def link(value: Any) -> str | None:
    """Return the path that a Redfish link holds."""
    path = value.get("@odata.id") if isinstance(value, dict) else None
    return str(path) if path else None


def rejects(error: Exception) -> bool:
    """Return whether the BMC refuses the form of a request, so that another form may do."""
    return isinstance(error, exceptions.HTTPError) and error.status_code in (400, 403, 405, 415, 422, 500, 501)


def _strong(etag: str) -> str:
    return etag.removeprefix("W/")


_ETAG_FORMS = (str, _strong, lambda etag: _strong(etag).strip('"'), lambda _: "")


def _if_match(etag: str) -> dict[str, str]:
    return {"If-Match": etag} if etag else {}


def service_address(address: str) -> tuple[str, str]:
    """Return the base URL and the path of the service root; raise OperationError."""
    parts = urlsplit(address if "://" in address else f"https://{address}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise OperationError(
            "reach the BMC", f"{address!r} is no address of a Redfish service.", "Give it as https://host[:port]."
        )
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", parts.path.rstrip("/") or "/redfish/v1/"


def verification(value: Any) -> bool | str:
    """Return what the option verify_ca means: whether certificates are checked, or against which file."""
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    return value if isinstance(value, bool) else words.get(str(value).lower(), str(value))


def _auth(params: Mapping[str, Any]) -> Any:
    kinds: dict[str, Any] = {
        "auto": sushy_auth.SessionOrBasicAuth,
        "session": sushy_auth.SessionAuth,
        "basic": sushy_auth.BasicAuth,
        "none": _NoAuth,
    }
    return kinds[params["auth_type"] if params["username"] else "none"](params["username"], params["password"])


if not SUSHY_MISSING:

    class _NoAuth(sushy_auth.AuthBase):
        """For BMCs that ask for no login."""

        def _do_authenticate(self) -> None:
            """Log in to nothing."""

        def can_refresh_session(self) -> bool:
            """Return False: there is no session."""
            return False
