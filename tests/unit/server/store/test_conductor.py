# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import Engine

from rackwright.domain.errors import ConductorNotFound
from rackwright.store import conductor as conductors
from rackwright.store.columns import now
from rackwright.store.session import open_engine, reading, writing
from tests.unit.server import databases

LONG_AGO = timedelta(seconds=90)


@pytest.fixture
def engine(database: str) -> Iterator[Engine]:
    engine = open_engine(database)
    yield engine
    engine.dispose()


def register(engine: Engine, host: str) -> int:
    with writing(engine) as session:
        epoch = conductors.register(host, session=session, drivers=["redfish"])
        session.commit()
        return epoch


def silence(engine: Engine, host: str) -> None:
    with writing(engine) as session:
        conductors.heartbeat(host, session=session, at=now() - LONG_AGO)
        session.commit()


def beats(engine: Engine, host: str, epoch: int) -> bool:
    with writing(engine) as session:
        counted = conductors.heartbeat(host, session=session, epoch=epoch)
        session.commit()
        return counted


def fence(engine: Engine) -> list[str]:
    with writing(engine) as session:
        found = conductors.fence_silent(60, session=session)
        session.commit()
        return list(found)


def alive(engine: Engine) -> list[str]:
    with reading(engine) as session:
        return [each.hostname for each in conductors.alive(session=session, timeout=60)]


def test_each_registration_begins_a_new_epoch(engine: Engine) -> None:
    first = register(engine, "a")
    assert register(engine, "a") > first
    assert not beats(engine, "a", first)


def test_a_silent_conductor_loses_its_epoch_and_only_it(engine: Engine) -> None:
    epochs = {host: register(engine, host) for host in ("a", "b")}
    silence(engine, "a")
    assert fence(engine) == ["a"]
    assert fence(engine) == []
    assert not beats(engine, "a", epochs["a"])
    assert beats(engine, "b", epochs["b"])
    assert alive(engine) == ["b"]


def test_a_conductor_that_is_gone_for_long_is_forgotten(engine: Engine) -> None:
    for host in ("a", "b"):
        register(engine, host)
        silence(engine, host)
    with writing(engine) as session:
        conductors.sign_off("a", session=session)
        conductors.forget(100, session=session)
        assert conductors.get("a", session=session).hostname == "a"
        conductors.forget(80, session=session)
        with pytest.raises(ConductorNotFound):
            conductors.get("a", session=session)
        assert conductors.get("b", session=session).online, "whether it is gone was not found out yet"


def test_one_that_comes_back_in_time_keeps_its_epoch(engine: Engine) -> None:
    epoch = register(engine, "a")
    silence(engine, "a")
    assert alive(engine) == []
    assert beats(engine, "a", epoch)
    assert fence(engine) == []
    assert alive(engine) == ["a"]


def test_an_epoch_that_counts_cannot_end_before_the_transaction_does() -> None:
    engine = open_engine(databases.emptied("postgresql"))
    epoch = register(engine, "a")
    silence(engine, "a")
    with writing(engine) as session:
        assert conductors.counts("a", epoch, session=session)
        assert fence(engine) == []
    assert fence(engine) == ["a"]
    with writing(engine) as session:
        assert not conductors.counts("a", epoch, session=session)
    engine.dispose()
