# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What the work at hand is about: a request, an operation, a node. Each log line of that work tells it.

The facts follow the work into the threads that the API answers in, and end with it. None of them is a secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

_FACTS: ContextVar[Mapping[str, str]] = ContextVar("facts", default=MappingProxyType({}))


@contextmanager
def about(**facts: str | None) -> Iterator[None]:
    """Let what is done inside be about these facts too, as ``operation="<uuid>"``; None counts as not given."""
    known = {name: value for name, value in facts.items() if value is not None}
    token = _FACTS.set({**_FACTS.get(), **known})
    try:
        yield
    finally:
        _FACTS.reset(token)


def current() -> Mapping[str, str]:
    """Return what the work at hand is about."""
    return _FACTS.get()
