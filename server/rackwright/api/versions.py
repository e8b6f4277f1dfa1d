# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Microversions: which one a request asks for, and what is not there yet for it (contract: api.yaml, versioning).

Versions are given as their minor number: 41 means 1.41.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request, params

from rackwright.domain.errors import Invalid, NotAcceptableVersion, NotFound

MINIMUM, MAXIMUM = 1, 115
DEFAULT = MINIMUM
HEADER = "X-OpenStack-Ironic-API-Version"
RANGE_HEADERS = {
    "X-OpenStack-Ironic-API-Minimum-Version": f"1.{MINIMUM}",
    "X-OpenStack-Ironic-API-Maximum-Version": f"1.{MAXIMUM}",
}
_SERVICE_HEADER = "OpenStack-API-Version"
_SERVICE = re.compile(r"(?:^|,)\s*baremetal\s+([^\s,]+)", re.IGNORECASE)
_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})", re.ASCII)
_STATE_KEY = "rackwright.minor"


class VersionOutOfRange(NotAcceptableVersion):
    """Version {asked} of the API is not offered; ask for one between 1.1 and 1.115, or for latest."""


class NewerEndpoint(NotFound):
    """This resource needs API version 1.{since} or later, the request asks for 1.{minor}."""


class MethodOfNewerVersion(Invalid):
    """This method needs API version 1.{since} or later, the request asks for 1.{minor}."""


def minor_of(headers: Mapping[str, str]) -> int:
    """Return the minor version that the headers ask for, 1 without one; raise VersionOutOfRange."""
    service = _SERVICE.search(headers.get(_SERVICE_HEADER, ""))
    asked = service.group(1) if service else headers.get(HEADER, f"1.{DEFAULT}").strip()
    if asked.lower() == "latest":
        return MAXIMUM
    found = _VERSION.fullmatch(asked)
    if found is None or int(found[1]) != 1 or not MINIMUM <= int(found[2]) <= MAXIMUM:
        raise VersionOutOfRange(asked=asked)
    return int(found[2])


def remember(scope: MutableMapping[str, Any], minor: int) -> None:
    """Keep the version of a request for those who answer it."""
    scope[_STATE_KEY] = minor


def minor(request: Request) -> int:
    """Return the version that the request asks for; a dependency."""
    return int(request.scope.get(_STATE_KEY, DEFAULT))


_REFUSALS: Mapping[int, Callable[..., Exception]] = {
    404: NewerEndpoint,
    405: MethodOfNewerVersion,
    406: lambda **facts: NotAcceptableVersion(what="This resource", **facts),
}


@dataclass(frozen=True, slots=True)
class Since:
    """Hides an endpoint from versions before ``first``; a dependency."""

    first: int
    refusal: int = 404

    def __call__(self, request: Request) -> None:
        """Raise the error of the status ``refusal`` for a version that is too old."""
        if minor(request) < self.first:
            raise _REFUSALS[self.refusal](since=self.first, minor=minor(request))


def hides(dependency: object, scope: MutableMapping[str, Any]) -> bool:
    """Return whether a dependency is a ``Since`` of a newer version than a request asks for."""
    return isinstance(dependency, Since) and scope.get(_STATE_KEY, DEFAULT) < dependency.first


def since(first: int, *, refusal: int = 404) -> params.Depends:
    """Return the dependency that hides an endpoint from older versions, with status 404, 405 or 406."""
    return params.Depends(Since(first, refusal))
