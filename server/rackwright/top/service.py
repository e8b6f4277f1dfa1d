# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The API as ``rackwright top`` asks it: where it is and who asks come from the environment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import requests

from rackwright.domain.errors import RackwrightError
from rackwright.domain.masking import without_passwords

VERSION = "1.100"
"""The API version that is asked for; none of what is shown is newer."""

_HERE = "http://127.0.0.1:6385"
_TIMEOUT = 30  # seconds for one answer
_PAGE = 1000
_AUTH = ("none", "http_basic", "token")
_SAID = ("faultstring", "description", "message")
"""Keys of the words in which an API refuses something (contract: error_body)."""


class ServiceFailed(RackwrightError):
    """The API at {endpoint} could not be asked: {reason}."""


class Service:
    """One API; the session keeps its connection open between two looks."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Take OS_ENDPOINT, OS_AUTH_TYPE, OS_USERNAME, OS_PASSWORD, OS_TOKEN and OS_CACERT; raise ServiceFailed."""
        self.endpoint = environment.get("OS_ENDPOINT", _HERE).rstrip("/").removesuffix("/v1")
        self._session = requests.Session()
        self._session.headers["X-OpenStack-Ironic-API-Version"] = VERSION
        self._session.verify = environment.get("OS_CACERT") or True
        if not self.endpoint.startswith(("http://", "https://")):
            raise self._failed("its address does not begin with http:// or https://; correct OS_ENDPOINT")
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
        except requests.RequestException as error:
            raise self._failed(f"{_cause(error)}; see whether it runs, and whether OS_ENDPOINT is right") from error
        if answer.status_code != 200:
            hint = "; set OS_AUTH_TYPE and what it needs" if answer.status_code == 401 else ""
            raise self._failed(f"{path} is answered with HTTP {answer.status_code}: {_reason(answer)}{hint}")
        try:
            return dict(answer.json())
        except (TypeError, ValueError) as error:
            raise self._failed(f"{path} is answered with no JSON object; is OS_ENDPOINT right?") from error

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
        endpoint, reason = (plain(without_passwords(text)) for text in (self.endpoint, reason))
        return ServiceFailed(endpoint=endpoint, reason=reason)


def _cause(error: BaseException) -> str:
    """Return what is behind an error: the words of the operating system where there are some."""
    while error.__context__ is not None:
        error = error.__context__
    return getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"


def _reason(answer: requests.Response) -> str:
    """Return in words why a request is refused: those of the API, or of the status where it has none."""
    try:
        told = answer.json()
        told = told.get("error", told)
        told = json.loads(told["error_message"]) if "error_message" in told else told
        return next(str(told[key]) for key in _SAID if told.get(key)).rstrip(".")
    except (AttributeError, StopIteration, TypeError, ValueError):
        return answer.reason


def plain(value: object) -> str:
    """Return a text without what would move the cursor or change colours; "" for None."""
    return "" if value is None else "".join(char if char.isprintable() else " " for char in str(value))
