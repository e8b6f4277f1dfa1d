# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError
from sqlmodel import SQLModel, select

from rackwright.domain.errors import NodeLocked
from rackwright.store import node as nodes
from rackwright.store.columns import now
from rackwright.store.migrations import migrate
from rackwright.store.node import Node
from rackwright.store.operation import Operation, unfinished_of
from rackwright.store.port import Port
from rackwright.store.session import open_engine, reading, writing


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    engine = open_engine(f"sqlite:///{tmp_path / 'rackwright.sqlite'}")
    migrate(engine)
    return engine


def add(engine: Engine, name: str) -> int:
    with writing(engine) as session:
        node = Node(name=name, driver="fake-hardware")
        session.add(node)
        session.commit()
        return node.id or 0


def test_the_migrated_schema_is_that_of_the_tables(engine: Engine) -> None:
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), SQLModel.metadata) == []


def test_processes_that_start_together_migrate_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'rackwright.sqlite'}"
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(migrate, open_engine(url)) for _ in range(4)]:
            done.result()
    add(open_engine(url), "n1")


def test_sqlite_runs_with_wal_and_foreign_keys(engine: Engine) -> None:
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
            seen.append(nodes.get("n1", session=session).description)

    thread = threading.Thread(target=second)
    thread.start()
    with writing(engine) as session:
        node = nodes.get("n1", session=session)
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


def test_writers_of_one_process_wait_for_each_other_and_not_for_a_pause(engine: Engine) -> None:
    started = threading.Barrier(8)

    def write(number: int) -> float:
        started.wait()
        begin = time.monotonic()
        for turn in range(5):
            add(engine, f"n{number}-{turn}")
        return time.monotonic() - begin

    with ThreadPoolExecutor(8) as pool:
        took = sorted(pool.map(write, range(8)))
    assert took[-1] < 4 * took[0]


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
