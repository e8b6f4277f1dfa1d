# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Which part of a list a client wants (contract: api.yaml, collections)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a list is wanted; rows with the same ``sort_key`` are in order of their creation."""

    limit: int | None = None
    marker: str | None = None
    sort_key: str = "id"
    sort_dir: Literal["asc", "desc"] = "asc"
