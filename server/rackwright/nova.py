# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Tell Nova, the compute service, that the power of its instances has changed.

Source: contract/engine.md section 3; Compute API, ``POST /os-server-external-events``, event ``power-update``.

Who tells waits for nothing and meets no error: a thread of its own sends what has come together, and gives up after a
few attempts. What is lost then Nova finds when it looks at the power of all instances, as it does now and then; but
it takes its own record for what is wanted, and may stop an instance that was switched on elsewhere.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rackwright.domain.errors import Invalid
from rackwright.domain.states import PowerState
from rackwright.settings import Settings

logger = logging.getLogger(__name__)

EVENTS = "/os-server-external-events"
MICROVERSION = "2.76"
"""The first one that knows the event."""

TOGETHER = 100
"""Events in one request."""

MOST = 10_000
"""Servers whose news may wait; of each the newest."""

ATTEMPTS = 3
PAUSE = 5.0
"""Seconds between two attempts."""

_TAGS = {PowerState.ON: "POWER_ON", PowerState.OFF: "POWER_OFF"}
_ACCEPTED = 300  # the first status, of a request or an event, that is no success
_UNKNOWN = 404


class NovaLibraryMissing(Invalid):
    """nova_auth_url needs the library keystoneauth1; install it with: pip install 'rackwright[nova]'"""


class NovaRefused(Exception):
    """Nova does not take what it is told."""


def open_nova(settings: Settings) -> Nova | None:
    """Return who tells Nova, None where nobody is to be told; raise NovaLibraryMissing. It is loaded only if used."""
    if not (settings.nova_auth_url and settings.send_power_notifications):
        return None
    try:
        from keystoneauth1.adapter import Adapter
        from keystoneauth1.identity.v3 import Password
        from keystoneauth1.session import Session
    except ImportError as error:
        raise NovaLibraryMissing from error
    account = Password(
        auth_url=settings.nova_auth_url,
        username=settings.nova_username,
        password=settings.nova_password.get_secret_value() if settings.nova_password else "",
        user_domain_name=settings.nova_user_domain_name,
        project_name=settings.nova_project_name,
        project_domain_name=settings.nova_project_domain_name,
    )
    verify = str(settings.nova_cafile) if settings.nova_cafile else True
    session = Session(auth=account, verify=verify, timeout=settings.nova_timeout)
    compute = Adapter(
        session,
        service_type="compute",
        region_name=settings.nova_region_name,
        endpoint_override=settings.nova_endpoint_override,
        min_version="2.1",
        max_version="2.latest",
        raise_exc=False,
    )
    return Nova(compute.post, pause=PAUSE)


class Nova:
    """Keeps what Nova does not know yet, and tells it."""

    def __init__(self, post: Any, *, pause: float = PAUSE) -> None:
        """Take what sends a POST to Nova, as keystoneauth's adapter does, and the seconds between attempts."""
        self._post, self._pause = post, pause
        self._waiting: dict[str, str] = {}
        self._works = False
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def tell(self, states: Iterable[tuple[str, str]]) -> None:
        """Have Nova told of these servers' power states; return at once. States other than on and off mean nothing."""
        with self._lock:
            for server, state in states:
                if state in _TAGS:
                    self._waiting.pop(server, None)
                    self._waiting[server] = _TAGS[PowerState(state)]
            for server in list(self._waiting)[: max(len(self._waiting) - MOST, 0)]:
                del self._waiting[server]
            if self._waiting and not self._works:
                self._works = self._begin()

    def close(self) -> None:
        """Tell nothing more."""
        self._closed.set()

    def _begin(self) -> bool:
        """Start the thread that sends; tell whether that was possible: else the next news tries again."""
        try:
            threading.Thread(target=self._work, name="nova", daemon=True).start()
        except RuntimeError as error:
            logger.warning("Nova is told of power changes later", extra={"cause": str(error)})
            return False
        return True

    def _work(self) -> None:
        """Send until nothing waits."""
        failures = 0
        while batch := self._next():
            try:
                self._send(batch)
                failures = 0
            except Exception as error:  # whatever keystoneauth meets, the work goes on
                failures = failures % ATTEMPTS + 1
                self._failed(batch, error, last=failures == ATTEMPTS)
                self._closed.wait(self._pause)

    def _next(self) -> dict[str, str]:
        with self._lock:
            waiting = [] if self._closed.is_set() else list(self._waiting.items())
            batch, self._waiting = dict(waiting[:TOGETHER]), dict(waiting[TOGETHER:])
            self._works = bool(batch)
        return batch

    def _failed(self, batch: Mapping[str, str], error: Exception, *, last: bool) -> None:
        """Keep what could not be told for the next attempt, without what is no longer news; after the last, nothing."""
        with self._lock:
            self._waiting = {} if last else {**batch, **self._waiting}
        if last:
            logger.error(
                "Nova cannot be told of power changes, and will find them itself; check the settings that begin with "
                "nova_, and that Nova answers",
                extra={"cause": f"{type(error).__name__}: {error}"},
            )

    def _send(self, batch: Mapping[str, str]) -> None:
        events = [{"name": "power-update", "server_uuid": server, "tag": tag} for server, tag in batch.items()]
        answer = self._post(EVENTS, json={"events": events}, microversion=MICROVERSION)
        told: Sequence[Mapping[str, Any]]
        if answer.status_code == _UNKNOWN:  # of all servers
            told = [{"server_uuid": server, "code": _UNKNOWN} for server in batch]
        elif answer.status_code >= _ACCEPTED:
            raise NovaRefused(f"it answered {answer.status_code}: {answer.text[:500]}")
        else:
            told = answer.json()["events"]
        for event in told:
            if int(event.get("code") or 0) >= _ACCEPTED:
                logger.warning(
                    "Nova has no use for a power change; where the instance is gone, undeploy its node",
                    extra={"instance": event.get("server_uuid"), "code": event.get("code")},
                )
