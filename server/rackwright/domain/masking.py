# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Passwords in URLs, which show nobody what they are."""

from __future__ import annotations

import re

MASK = "******"
_PASSWORD = re.compile(r"(?<=://)([^/?#@:\s]*):[^/?#\s]*@")


def without_passwords(text: str) -> str:
    """Return a text with stars for the password of each URL in it; the last @ before a path ends a password."""
    return _PASSWORD.sub(rf"\1:{MASK}@", text) if "@" in text else text
