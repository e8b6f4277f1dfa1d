# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether this service can do its work, and which part of it cannot."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from rackwright.services.context import Context
from rackwright.store import conductor as conductors
from rackwright.store.ailment import ailment
from rackwright.store.migrations import HEAD, revision
from rackwright.telemetry.surroundings import trouble

OK = "ok"


def checks(context: Context) -> dict[str, str]:
    """Return ``ok``, or what is wrong, for each part: ``host``, ``database``, ``migrations`` and ``conductor``.

    One of the last three that cannot be looked at because the one before it fails is wrong too. The texts hold nothing
    of the set-up: anybody may read them.
    """
    found: dict[str, str] = {}
    parts: tuple[tuple[str, Callable[[Context], str]], ...] = (
        ("database", _database),
        ("migrations", _migrations),
        ("conductor", _conductor),
    )
    for name, check in parts:
        try:
            before = next((text for text in found.values() if text != OK), None)
            found[name] = check(context) if before is None else "not looked at: the part before it is not ready"
        except SQLAlchemyError as error:
            found[name] = _lowered(ailment(error))
    return {"host": trouble(context.settings.state_dir) or OK, **found}


def _lowered(text: str) -> str:
    return text[0].lower() + text[1:]


def _database(context: Context) -> str:
    context.session.connection()
    return OK


def _migrations(context: Context) -> str:
    found = revision(context.session.connection())
    if found > HEAD:
        return "the database is of a newer version than this daemon; install that version on this host too"
    return OK if found == HEAD else "the database is older than this version needs; run: rackwright db upgrade"


def _conductor(context: Context) -> str:
    timeout = context.settings.heartbeat_timeout
    if conductors.alive(session=context.session, timeout=timeout):
        return OK
    return f"no conductor was seen in the last {timeout} seconds; see its log"
