# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Which texts are traits (contract: api.yaml, types)."""

from __future__ import annotations

import re
from functools import cache

import os_traits

_CUSTOM = re.compile(r"CUSTOM_[A-Z0-9_]+")
_LONGEST = 255


@cache
def _standard() -> frozenset[str]:
    return frozenset(os_traits.get_traits())


def is_trait(text: str) -> bool:
    """Return whether the text is a standard trait or one of an operator's own."""
    return len(text) <= _LONGEST and (_CUSTOM.fullmatch(text) is not None or text in _standard())
