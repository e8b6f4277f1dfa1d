# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What the values of settings must look like; the texts of the errors follow the name of the setting."""

from __future__ import annotations

import math
import re
import ssl
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import urlsplit

from pydantic import Field

from rackwright.domain.verbs import Interface

Seconds = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Moment = Annotated[float, Field(gt=0)]
Priority = Annotated[int, Field(ge=0)]

_USER = re.compile("//.*@", re.DOTALL)  # where its password ends cannot be told, so all to the last @
_STEP = re.compile(r"([a-z]+)\.\S+")
_INTERFACES = ", ".join(Interface)

Names = TypeVar("Names", bound=Collection[str])


def checked_url(value: str) -> str:
    """Return an http or https URL without slashes at its end.

    Raise ValueError when it has no host, or a port that does not exist; the text shows no password that is in it.
    """
    try:
        parts = urlsplit(value)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        fits = fits and not any("@" in part for part in parts[2:])  # behind the host: of a password with a / in it
    except ValueError:  # the port is no number, or too great; the brackets of an address are not closed
        fits = False
    if not fits or not value.isprintable() or " " in value:
        raise ValueError(
            f"{_USER.sub('//', value)!r} is no URL that can be used; it must begin with http:// or https:// and name a "
            "host, and where it names a port, one from 1 to 65535; in a password write @ as %40 and / as %2F"
        )
    return value.rstrip("/")


def checked_authorities(value: Path | None) -> Path | None:
    """Return a file of CA certificates; raise ValueError unless it holds one that can be read."""
    if value is None:
        return None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=value)
    except ssl.SSLError as error:
        reason = "there is no certificate in PEM in it, or a broken one"
        raise ValueError(_authorities(value, reason)) from error
    except OSError as error:
        raise ValueError(_authorities(value, error.strerror or str(error))) from error
    return value


def _authorities(file: Path, reason: str) -> str:
    return f"{file} cannot be used: {reason}. Name a file of CA certificates in PEM, or unset the setting"


def checked_delays(value: dict[str, str]) -> dict[str, str]:
    """Return the times of fake hardware; raise ValueError unless each name is an interface, with a time or two."""
    for name, text in value.items():
        if name not in set(Interface):
            raise ValueError(f'{name!r} is no interface; choose from {_INTERFACES}, as in {{"power": "1,3"}}')
        if not _is_delay(text):
            raise ValueError(
                f"{name} is {text!r}, which is no number of seconds, 0 or more, nor two with a comma between them"
            )
    return value


def checked_steps(names: Names) -> Names:
    """Return the names of steps; raise ValueError unless each is an interface and a step, with a dot between them."""
    for name in names:
        found = _STEP.fullmatch(name)
        if found is None or found[1] not in set(Interface):
            raise ValueError(f"{name!r} names no step; write interface.step, with an interface from {_INTERFACES}")
    return names


def _is_delay(text: str) -> bool:
    try:
        times = [float(part) for part in text.split(",")]
    except ValueError:
        return False
    return len(times) <= 2 and all(0 <= time < math.inf for time in times)
