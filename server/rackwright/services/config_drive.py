# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The forms in which a config drive may be given (contract: api.yaml, states/provision)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from rackwright.domain.errors import Invalid, NotAcceptableVersion

_OBJECT_SINCE, _VENDOR_DATA_SINCE = 56, 59
_PARTS: Mapping[str, tuple[Any, ...]] = {
    "meta_data": (dict,),
    "network_data": (dict,),
    "vendor_data": (dict,),
    "user_data": (dict, list, str),
}
_WORDS = {"dict": "an object", "list": "a list", "str": "a text"}
_NULLABLE = ("user_data",)
_NETWORK_LISTS = ("links", "networks", "services")


def check(drive: Any, minor: int) -> None:
    """Raise Invalid or NotAcceptableVersion unless it is base64 text, a URL, or an object with the known parts."""
    if isinstance(drive, dict):
        _check_object(drive, minor)
    elif isinstance(drive, str):
        _check_text(drive)
    else:
        raise Invalid("configdrive must be a text or an object.")


def _check_object(drive: Mapping[str, Any], minor: int) -> None:
    _demand("configdrive as an object", _OBJECT_SINCE, minor)
    if unknown := sorted(drive.keys() - _PARTS.keys()):
        raise Invalid(f"configdrive has unknown parts: {', '.join(unknown)}; known: {', '.join(_PARTS)}.")
    if "vendor_data" in drive:
        _demand("vendor_data in configdrive", _VENDOR_DATA_SINCE, minor)
    for name, value in drive.items():
        if not isinstance(value, _PARTS[name]) and not (value is None and name in _NULLABLE):
            kinds = " or ".join(_WORDS[each.__name__] for each in _PARTS[name])
            raise Invalid(f"{name} of configdrive must be {kinds}.")
    _check_network(drive.get("network_data", {}))


def _check_network(network: Mapping[str, Any]) -> None:
    """Raise Invalid for a list of another form; none of them is needed, unlike in the field of the node."""
    for name in _NETWORK_LISTS:
        found = network.get(name, [])
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise Invalid(f"{name} in network_data of configdrive must be a list of objects.")


def _demand(what: str, since: int, minor: int) -> None:
    if minor < since:
        raise NotAcceptableVersion(what=what, since=since, minor=minor)


def _check_text(drive: str) -> None:
    if "://" in drive:
        if not drive.startswith(("http://", "https://")) or not drive.isprintable():
            raise Invalid("The URL of the configdrive must begin with http:// or https://.")
        return
    try:
        base64.b64decode("".join(drive.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Invalid("configdrive is neither base64 text of an ISO image, nor a URL, nor an object.") from error
