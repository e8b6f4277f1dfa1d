# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import contextlib
import random
import re
import sqlite3
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Self

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, event, func, text, type_coerce
from sqlalchemy.exc import IntegrityError
from sqlmodel import SQLModel, select

from rackwright.domain.errors import NodeLocked
from rackwright.store import clock
from rackwright.store import node as nodes
from rackwright.store.clock import Ago
from rackwright.store.columns import UtcDateTime, now
from rackwright.store.migrations import migrate
from rackwright.store.node import Node
from rackwright.store.operation import Operation, unfinished_of
from rackwright.store.port import Port
from rackwright.store.session import DatabaseUnusable, open_engine, reading, writing
from rackwright.store.work import locked
from tests.unit.server import databases


@pytest.fixture
def engine(database: str) -> Iterator[Engine]:
    engine = open_engine(database)
    yield engine
    engine.dispose()


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Engine]:
    engine = open_engine(f"sqlite:///{tmp_path / 'rackwright.sqlite'}")
    migrate(engine)
    yield engine
    engine.dispose()


def add(engine: Engine, name: str) -> int:
    with writing(engine) as session:
        node = Node(name=name, driver="fake-hardware")
        session.add(node)
        session.commit()
        return node.id or 0


def test_processes_that_start_together_migrate_once(bare_database: str) -> None:
    engines = [open_engine(bare_database) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(migrate, each) for each in engines]:
            done.result()
    add(engines[0], "n1")
    with engines[0].connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, SQLModel.metadata) == []
    for each in engines:
        each.dispose()


def test_a_new_file_that_another_process_writes_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "rackwright.sqlite"
    engine = open_engine(f"sqlite:///{file}")
    with contextlib.closing(sqlite3.connect(file)) as other, ThreadPoolExecutor(1) as pool:
        other.execute("CREATE TABLE t (a)")
        other.execute("BEGIN IMMEDIATE")
        opened = pool.submit(lambda: engine.connect().close())
        with pytest.raises(TimeoutError):
            opened.result(0.3)
        other.rollback()
        opened.result(20)
    engine.dispose()


@pytest.mark.parametrize("url", ["mysql://localhost/rackwright", "rackwright.sqlite", "oracle://localhost/x"])
def test_another_kind_of_database_is_refused_by_name(url: str) -> None:
    with pytest.raises(DatabaseUnusable, match="sqlite://, postgresql://, mariadb://"):
        open_engine(url)


@pytest.mark.parametrize(
    "account",
    ["u:pa@canary", "u:p@canary/a", "u:p@canary:a", "u:p@canary?a", "u@canary:p", "u/canary:p"],
)
@pytest.mark.parametrize("scheme", ["postgresql", "mariadb"])
def test_a_password_with_an_at_sign_is_refused_at_start_and_not_shown(scheme: str, account: str) -> None:
    with pytest.raises(DatabaseUnusable, match="write @ as %40") as refused:
        open_engine(f"{scheme}://{account}@db.example/rackwright")
    assert "canary" not in "".join(traceback.format_exception(refused.value))


def test_a_port_that_is_none_is_refused_and_not_shown() -> None:
    word = "canary"
    with pytest.raises(DatabaseUnusable, match="write @ as %40") as refused:
        open_engine(f"postgresql://user:{word}")
    assert "canary" not in "".join(traceback.format_exception(refused.value))


def test_a_file_of_sqlite_may_have_an_at_sign_in_its_name(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'a@b@c.sqlite'}")
    migrate(engine)
    engine.dispose()


@pytest.mark.parametrize("damage", ["all of it", "a table"])
def test_a_file_of_sqlite_that_is_broken_is_named_with_what_to_do(damage: str, tmp_path: Path) -> None:
    file = tmp_path / "rackwright.sqlite"
    if damage == "a table":
        whole = open_engine(f"sqlite:///{file}")
        migrate(whole)
        whole.dispose()
        content = file.read_bytes()
        file.write_bytes(content[:1024] + random.Random(1).randbytes(len(content) - 1024))
    else:
        file.write_bytes(random.Random(1).randbytes(5000))
    engine = open_engine(f"sqlite:///{file}")
    with pytest.raises(DatabaseUnusable, match=re.escape(str(file))) as caught:
        migrate(engine)
    assert "restore a copy of it, or move it away" in caught.value.message
    engine.dispose()


@pytest.mark.parametrize("place", ["folder", "nowhere/rackwright.sqlite"])
def test_a_place_where_sqlite_cannot_keep_its_file_is_named_with_what_to_do(place: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    engine = open_engine(f"sqlite:///{tmp_path / place}")
    with pytest.raises(DatabaseUnusable, match=re.escape(str(tmp_path / place))) as caught:
        migrate(engine)
    assert "user of the daemon" in caught.value.message
    engine.dispose()


def test_a_database_of_a_newer_version_is_refused_with_what_to_do(sqlite: Engine) -> None:
    with sqlite.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(DatabaseUnusable, match="newer version"):
        migrate(sqlite)


def test_sqlite_runs_with_wal_and_foreign_keys(sqlite: Engine) -> None:
    engine = sqlite
    with engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1
        assert connection.execute(text("PRAGMA busy_timeout")).scalar() == 30000


def test_a_second_writer_waits_and_sees_what_the_first_wrote(engine: Engine) -> None:
    add(engine, "n1")
    inside, seen = threading.Event(), []

    def second() -> None:
        inside.wait(10)
        with writing(engine) as session:
            seen.append(nodes.get("n1", session=session, lock=True).description)

    thread = threading.Thread(target=second)
    thread.start()
    with writing(engine) as session:
        node = nodes.get("n1", session=session, lock=True)
        inside.set()
        node.description = "written"
        session.add(node)
        session.commit()
    thread.join()
    assert seen == ["written"]


def test_without_a_commit_nothing_stays(engine: Engine) -> None:
    with writing(engine) as session:
        session.add(Node(name="n1", driver="fake-hardware"))
        session.flush()
    with reading(engine) as session:
        assert session.exec(select(Node)).all() == []


def test_a_reader_does_not_wait_for_a_writer(engine: Engine) -> None:
    with writing(engine) as writer:
        writer.add(Node(name="n1", driver="fake-hardware"))
        writer.flush()
        with reading(engine) as reader:
            assert reader.exec(select(Node)).all() == []


def test_only_one_of_many_reserves_a_node(engine: Engine) -> None:
    add(engine, "n1")

    def take(name: str) -> bool:
        with writing(engine) as session:
            try:
                nodes.reserve(nodes.get("n1", session=session), name, session=session)
            except NodeLocked:
                return False
            session.commit()
            return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(take, map(str, range(8)))) == 1


def test_a_reservation_names_its_holder_until_it_is_released(engine: Engine) -> None:
    add(engine, "n1")
    with writing(engine) as session:
        node = nodes.get("n1", session=session)
        nodes.reserve(node, "host-1", session=session)
        with pytest.raises(NodeLocked, match="host-1"):
            nodes.reserve(node, "host-1", session=session)
        nodes.release(node, session=session)
        nodes.reserve(node, "host-2", session=session)
        assert node.reservation == "host-2"


def test_a_node_has_one_unfinished_operation_at_most(engine: Engine) -> None:
    node_id = add(engine, "n1")
    with writing(engine) as session:
        first = Operation(node_id=node_id, phase="clean")
        session.add(first)
        session.flush()
        assert unfinished_of(node_id, session=session) is first
        first.finished_at = now()
        session.add(first)
        session.add(Operation(node_id=node_id, phase="deploy"))
        session.commit()
        session.add(Operation(node_id=node_id, phase="deploy"))
        with pytest.raises(IntegrityError):
            session.flush()


def test_what_belongs_to_a_node_goes_with_it(engine: Engine) -> None:
    node_id = add(engine, "n1")
    with writing(engine) as session:
        session.add(Port(node_id=node_id, address="52:54:00:00:00:01"))
        session.add(Operation(node_id=node_id, phase="clean"))
        session.commit()
        session.delete(nodes.get("n1", session=session))
        session.commit()
        assert session.exec(select(Port)).all() == []
        assert session.exec(select(Operation)).all() == []


def test_times_come_back_in_utc_and_naive_ones_are_refused(engine: Engine) -> None:
    add(engine, "n1")
    with writing(engine) as session:
        node = nodes.get("n1", session=session)
        assert node.created_at.tzinfo is UTC
        node.provision_updated_at = now().replace(tzinfo=None)
        session.add(node)
        with pytest.raises(Exception, match="without its zone"):
            session.flush()


def test_updated_at_is_null_until_the_first_change(engine: Engine) -> None:
    add(engine, "n1")
    with writing(engine) as session:
        node = nodes.get("n1", session=session)
        assert node.updated_at is None
        node.description = "new"
        session.add(node)
        session.commit()
        assert node.updated_at is not None


def test_writers_of_one_process_wait_for_each_other_and_not_for_a_pause(sqlite: Engine) -> None:
    event.listen(sqlite, "connect", lambda connection, _: connection.execute("PRAGMA busy_timeout = 0"))
    sqlite.dispose()  # so that no connection is left that would wait inside SQLite
    started = threading.Barrier(8)

    def write(number: int) -> None:
        started.wait()
        for turn in range(5):
            add(sqlite, f"n{number}-{turn}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    with reading(sqlite) as session:
        assert session.scalar(select(func.count()).select_from(Node)) == 40


@pytest.mark.parametrize("lost", [False, True])
def test_a_writer_that_fails_lets_the_next_one_write(engine: Engine, lost: bool) -> None:
    with pytest.raises(RuntimeError), writing(engine) as session:
        session.add(Node(name="n1", driver="fake-hardware"))
        session.flush()
        if lost:
            session.connection().invalidate()
        raise RuntimeError
    begin = time.monotonic()
    add(engine, "n1")
    assert time.monotonic() - begin < 5


def test_times_keep_their_microseconds_and_json_its_values(engine: Engine) -> None:
    at = datetime(2026, 2, 3, 4, 5, 6, 123456, UTC)
    extra = {"a": [1, 2.5, None, True, {"b": "\u00e4\u20ac\U0001f600"}], "half": "\ud800", "null": "\u0000", "": ""}
    node_id = add(engine, "n1")
    with writing(engine) as session:
        node = nodes.get("n1", session=session)
        node.provision_updated_at, node.extra, node.description = at, extra, "\u00e4\u20ac\U0001f600"
        session.add(node)
        session.commit()
    with reading(engine) as session:
        node = nodes.by_id(node_id, session=session)
        assert (node.provision_updated_at, node.extra) == (at, extra)
        assert node.description == "\u00e4\u20ac\U0001f600"


def test_names_that_differ_in_case_are_different_names(engine: Engine) -> None:
    ids = [add(engine, name) for name in ("n1", "N1")]
    with reading(engine) as session:
        assert [nodes.get(name, session=session).id for name in ("n1", "N1")] == ids


@pytest.mark.parametrize("backend", ["postgresql", "mariadb"])
def test_who_locks_many_does_not_wait_for_one_that_is_locked(backend: str) -> None:
    engine = open_engine(databases.emptied(backend))
    node_id = add(engine, "n1")
    with writing(engine) as session:
        operation = Operation(node_id=node_id, phase="clean")
        session.add(operation)
        session.commit()
    with writing(engine) as first, writing(engine) as second:
        assert locked(operation.uuid, session=first) is not None
        assert locked(operation.uuid, session=second, wait=False) is None
        first.rollback()
        assert locked(operation.uuid, session=second, wait=False) is not None
    engine.dispose()


@pytest.mark.parametrize(
    ("backend", "question", "answer"),
    [
        (
            "postgresql",
            "SELECT count(*) FROM pg_settings WHERE source = 'client' "
            "AND (name LIKE 'tcp_keepalives_%' OR name = 'tcp_user_timeout')",
            4,
        ),
        ("mariadb", "SELECT @@wait_timeout", 600),
    ],
)
def test_a_server_is_told_to_forget_clients_that_a_broken_network_holds(
    backend: str, question: str, answer: int
) -> None:
    engine = open_engine(databases.emptied(backend))
    try:
        with engine.connect() as connection:
            assert connection.execute(text(question)).scalar() == answer
    finally:
        engine.dispose()


def test_the_database_tells_the_time_that_was_so_many_seconds_ago(engine: Engine) -> None:
    with engine.connect() as connection:
        told = connection.execute(select(type_coerce(Ago(2.5), UtcDateTime))).scalar_one()
    assert timedelta(seconds=1.5) < now() - told < timedelta(seconds=3.5)


def test_every_process_goes_by_the_clock_of_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_engine(databases.emptied("postgresql"))
    monkeypatch.setattr(clock, "datetime", LateClock)
    with engine.connect():
        assert abs(now() - datetime.now(UTC)) < timedelta(seconds=1)
    monkeypatch.undo()
    engine.dispose()
    with engine.connect():
        assert abs(now() - datetime.now(UTC)) < timedelta(seconds=1)
    engine.dispose()


class LateClock(datetime):
    """The clock of a host that is an hour late."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return super().now(tz) - timedelta(hours=1)
