# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The documents from which clients find out what the service offers."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from rackwright.api.deps import CallDep, reply
from rackwright.api.links import Link, pair
from rackwright.api.routing import Router
from rackwright.api.versions import MAXIMUM, MINIMUM

router = Router(tags=["root"])

_MANUAL = "https://docs.openstack.org/ironic/latest/contributor/webapi.html"
_RESOURCES = {
    "chassis": 1,
    "nodes": 1,
    "ports": 1,
    "drivers": 1,
    "portgroups": 23,
    "volume": 32,
    "lookup": 22,
    "heartbeat": 22,
    "conductors": 49,
    "allocations": 52,
    "events": 54,
    "deploy_templates": 55,
    "shards": 82,
    "runbooks": 92,
    "inspection_rules": 96,
    "continue_inspection": 84,
}
"""Each collection and the version from which it is announced."""


def _version(url: str) -> dict[str, Any]:
    return {
        "id": "v1",
        "links": [{"href": f"{url}/v1/", "rel": "self"}],
        "status": "CURRENT",
        "min_version": f"1.{MINIMUM}",
        "version": f"1.{MAXIMUM}",
    }


@router.get("/", summary="What this service is, and its versions")
def root(call: CallDep) -> Response:
    """Return the root document."""
    version = _version(call.url)
    return reply(
        {
            "name": "OpenStack Ironic API",
            "description": "Rackwright provisions bare metal and speaks this API.",
            "default_version": version,
            "versions": [version],
        }
    )


@router.get("/v1", summary="The collections of version 1")
def version_one(call: CallDep) -> Response:
    """Return the collections that the asked version knows."""
    found: dict[str, list[Link]] = {
        name: pair(call.url, f"{name}/") for name, since in _RESOURCES.items() if since <= call.minor
    }
    return reply(
        {
            "id": "v1",
            "links": [
                {"href": f"{call.url}/v1/", "rel": "self"},
                {"href": _MANUAL, "rel": "describedby", "type": "text/html"},
            ],
            "media_types": {"base": "application/json", "type": "application/vnd.openstack.ironic.v1+json"},
            "version": _version(call.url),
            **found,
        }
    )
