# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A database that is away: each process logs once that it is, and once that it is back, however many look for it.

Gone is a server that cannot be reached or breaks off; a file of SQLite that refuses to work is too, until something has
been stored in it. A transaction that was given up, or waited for locks in vain, met a database that is there.
"""

from __future__ import annotations

import logging
import threading
import time

from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlmodel import Session

from rackwright.store.ailment import UNAVAILABLE, ailment, remedy

logger = logging.getLogger(__name__)

_OPTION = "rackwright.outage"


class Outage:
    """Whether one is going on, for one engine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: float | None = None
        self._told = ""

    def __bool__(self) -> bool:
        """Tell whether the log has it that the database is away."""
        return self._since is not None

    def look(self, context: ExceptionContext) -> None:
        """See whether an error means that the database is away."""
        error = context.sqlalchemy_exception
        if not isinstance(error, UNAVAILABLE) or context.is_pre_ping:
            return
        if context.connection is None or context.is_disconnect or remedy(error):
            self._begin(error)

    def _begin(self, error: Exception) -> None:
        text = ailment(error)
        with self._lock:
            if self._since is not None and text == self._told:
                return
            self._since, self._told = self._since or time.monotonic(), text
        logger.error(text, extra={"cause": _words(error)})

    def end(self, *_: object) -> None:
        """Note that the database has been at work."""
        if self._since is None:
            return
        with self._lock:
            since, self._since = self._since, None
        if since is not None:
            logger.warning("The database is back after %.0f s", time.monotonic() - since)


def watch(engine: Engine) -> None:
    """Note from now on when the database of an engine is away."""
    outage = Outage()
    engine.update_execution_options(**{_OPTION: outage})
    event.listen(engine, "handle_error", outage.look)
    if engine.dialect.name != "sqlite":
        event.listen(engine, "checkout", outage.end)


def is_told(engine: Engine) -> bool:
    """Tell whether the log has it that the database is away."""
    return bool(engine.get_execution_options()[_OPTION])


def report(what: str, error: BaseException, engine: Engine, **facts: str) -> None:
    """Log what went wrong: with its traceback, unless the database did not serve; nothing while that is told."""
    if not isinstance(error, UNAVAILABLE):
        logger.error(what, extra=facts, exc_info=error)
    elif not is_told(engine):
        logger.warning("%s: %s", what, ailment(error), extra={**facts, "cause": _words(error)})


@event.listens_for(Session, "after_commit")
def _stored(session: Session) -> None:
    session.get_bind().get_execution_options()[_OPTION].end()


def _words(error: BaseException) -> str:
    """Return what the driver says of an error, on one line."""
    return " ".join(str(getattr(error, "orig", error)).split())
