# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The API as ``rackwright top`` asks it: where it is and who asks come from the environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import requests

from rackwright.domain.errors import RackwrightError

VERSION = "1.100"
"""The API version that is asked for; none of what is shown is newer."""

_HERE = "http://127.0.0.1:6385"
_TIMEOUT = 30  # seconds for one answer
_PAGE = 1000
_AUTH = ("none", "http_basic", "token")


class ServiceFailed(RackwrightError):
    """The API at {endpoint} could not be asked: {reason}."""


class Service:
    """One API; the session keeps its connection open between two looks."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Take OS_ENDPOINT, OS_AUTH_TYPE, OS_USERNAME, OS_PASSWORD, OS_TOKEN and OS_CACERT; raise ServiceFailed."""
        self.endpoint = environment.get("OS_ENDPOINT", _HERE).rstrip("/").removesuffix("/v1")
        self.at = datetime.now(UTC)
        """The service's own time at its last answer."""
        self._session = requests.Session()
        self._session.headers["X-OpenStack-Ironic-API-Version"] = VERSION
        self._session.verify = environment.get("OS_CACERT") or True
        kind = environment.get("OS_AUTH_TYPE", "none")
        if kind not in _AUTH:
            raise self._failed(f"OS_AUTH_TYPE {kind} is not known here; set it to one of {', '.join(_AUTH)}")
        try:
            if kind == "http_basic":
                self._session.auth = (environment["OS_USERNAME"], environment["OS_PASSWORD"])
            elif kind == "token":
                self._session.headers["X-Auth-Token"] = environment["OS_TOKEN"]
        except KeyError as error:
            raise self._failed(f"OS_AUTH_TYPE {kind} needs {error.args[0]}; set it in the environment") from None

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """Return what the API answers at ``path``; raise ServiceFailed."""
        try:
            answer = self._session.get(f"{self.endpoint}{path}", params=query, timeout=_TIMEOUT)
            content = answer.json()
        except requests.RequestException as error:
            raise self._failed(f"{type(error).__name__}: {error}") from error
        if answer.status_code != 200 or not isinstance(content, dict):
            hint = "; set OS_AUTH_TYPE and what it needs" if answer.status_code == 401 else ""
            raise self._failed(f"{path} is answered with HTTP {answer.status_code}{hint}")
        if "Date" in answer.headers:
            self.at = parsedate_to_datetime(answer.headers["Date"]).astimezone(UTC)
        return content

    def nodes(self, *, most: int, **query: Any) -> Iterator[dict[str, Any]]:
        """Yield at most so many of the nodes that fit the query, page by page; raise ServiceFailed."""
        marker: dict[str, str] = {}
        while most > 0:
            found = self.get("/v1/nodes", limit=min(most, _PAGE), **query, **marker)
            yield from found["nodes"]
            most -= len(found["nodes"])
            if not found.get("next") or not found["nodes"]:
                return
            marker = {"marker": found["nodes"][-1]["uuid"]}

    def _failed(self, reason: str) -> ServiceFailed:
        return ServiceFailed(endpoint=self.endpoint, reason=reason)
