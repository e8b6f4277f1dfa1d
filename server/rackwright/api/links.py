# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Links of answers (contract: api.yaml, links)."""

from __future__ import annotations

from collections.abc import Callable

from rackwright.api.fields import Field, Row, Site
from rackwright.api.kinds import LIST

Link = dict[str, str]


def pair(url: str, path: str) -> list[Link]:
    """Return the self and bookmark links of a path below /v1."""
    return [{"href": f"{url}/v1/{path}", "rel": "self"}, {"href": f"{url}/{path}", "rel": "bookmark"}]


def _maker(path: str) -> Callable[[Row, Site], list[Link]]:
    return lambda row, site: pair(site.url, path.format(row))


def links(path: str, *, needs: tuple[str, ...] = ("uuid",)) -> Field:
    """Return the field ``links``; ``{0[column]}`` in the path stands for a column of the row."""
    return Field("links", LIST, short=True, sort=False, needs=needs, compute=_maker(path), about="Its own links.")


def below(name: str, path: str, *, since: int = 1, needs: tuple[str, ...] = ("uuid",), short: bool = False) -> Field:
    """Return a field that links to what lies below the resource."""
    about = f"Links to its {name}."
    return Field(
        name, LIST, since, whole_only=True, sort=False, needs=needs, short=short, compute=_maker(path), about=about
    )
