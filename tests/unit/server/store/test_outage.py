# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A database that is away is told once, and once more when it is back."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from rackwright.store import conductor as conductors
from rackwright.store.migrations import migrate
from rackwright.store.outage import is_told
from rackwright.store.session import UNAVAILABLE, open_engine, reading, writing
from tests.unit.server import databases

BACK = r"The database is back after \d+ s"


def store(engine: Engine, name: str = "a") -> None:
    with writing(engine) as session:
        conductors.register(name, session=session)
        session.commit()


def read(engine: Engine) -> None:
    with reading(engine) as session:
        conductors.alive(session=session, timeout=60)


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


@pytest.fixture
def server() -> Iterator[databases.Server]:
    started = databases.postgresql()
    yield started
    started.stop()


def test_a_server_that_is_away_is_told_once_however_many_look_for_it(
    server: databases.Server, caplog: pytest.LogCaptureFixture
) -> None:
    engine = open_engine(server.url(databases.NAME))
    migrate(engine)
    server.kill()
    with ThreadPoolExecutor(4) as pool:
        failures = [pool.submit(do, engine) for do in (read, store) * 4]
    assert all(isinstance(failure.exception(), UNAVAILABLE) for failure in failures)
    assert told(caplog) == ["The database does not answer"]
    assert is_told(engine)
    server.revive()
    while is_told(engine):
        with suppress(*UNAVAILABLE):
            read(engine)
        time.sleep(0.05)
    read(engine)
    _, back = told(caplog)
    assert re.fullmatch(BACK, back)
    engine.dispose()


def test_a_full_disk_is_told_once_until_something_is_stored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'db.sqlite'}")
    migrate(engine)
    with engine.connect() as connection:
        pages = int(connection.execute(text("PRAGMA page_count")).scalar_one())
        connection.execute(text(f"PRAGMA max_page_count = {pages}"))
    for number in range(200):
        with suppress(*UNAVAILABLE):
            store(engine, f"{number:0100}")
            assert not is_told(engine)
        read(engine)
    assert is_told(engine)
    assert told(caplog) == ["The disk that holds the database is full; free space on it"]
    with engine.connect() as connection:
        connection.execute(text(f"PRAGMA max_page_count = {2 * pages}"))
    store(engine)
    assert re.fullmatch(BACK, told(caplog)[-1])
    engine.dispose()


def test_who_waits_for_locks_in_vain_meets_a_database_that_is_there(caplog: pytest.LogCaptureFixture) -> None:
    engine = open_engine(databases.emptied("postgresql"))
    store(engine)
    with writing(engine) as one, writing(engine) as other:
        conductors.held("a", session=one)
        other.connection().execute(text("SET lock_timeout = 100"))
        with pytest.raises(UNAVAILABLE):
            conductors.held("a", session=other)
    assert told(caplog) == []
    engine.dispose()
