# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Bodies in JSON, parsed strictly: what other programs read differently is refused, as is what no database keeps."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import jiter

from rackwright.domain.errors import Invalid
from rackwright.store.sealing import SEALED

_LEAST, _MOST = -(2**63), 2**64 - 1


def parsed(body: bytes) -> Any:
    """Return the value that a body holds; raise Invalid for one that is no JSON or cannot be kept as it is.

    Refused are keys that an object has twice, and numbers that are infinite or do not fit into 64 bits.
    """
    try:
        found = jiter.from_json(body, allow_inf_nan=False, catch_duplicate_keys=True)
    except ValueError as error:
        raise Invalid(f"The body is not valid JSON: {error}.") from error
    _check(found)
    return found


def _check(value: Any) -> None:
    if isinstance(value, dict):
        if SEALED in value:
            raise Invalid(f"The key {SEALED} is reserved: secrets are sent in clear and sealed by the service.")
        _check_all(value.values())
    elif isinstance(value, list):
        _check_all(value)
    elif isinstance(value, int):
        if not _LEAST <= value <= _MOST:
            raise Invalid("The body holds a whole number that does not fit into 64 bits; send it as text.")
    elif isinstance(value, float) and not math.isfinite(value):
        raise Invalid("The body holds a number that is too large; send it as text.")


def _check_all(values: Iterable[Any]) -> None:
    for each in values:
        _check(each)
