# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A database that is not ours, or not whole, is refused at start with what to do, and nothing in it is changed."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest
from sqlalchemy import inspect, text

from rackwright.store.migrations import migrate
from rackwright.store.session import DatabaseUnusable, open_engine
from tests.unit.server import databases


def test_a_database_of_another_program_is_refused_with_what_to_do(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'a.sqlite'}")
    migrate(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '82c315d60161'"))
    with pytest.raises(DatabaseUnusable, match="another program; name a database of its own"):
        migrate(engine)
    engine.dispose()


@pytest.mark.parametrize("backend", databases.BACKENDS)
def test_tables_of_others_or_half_a_copy_of_ours_are_refused_and_left_alone(backend: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.sqlite'}" if backend == "sqlite" else databases.unmigrated(backend)
    engine = open_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE node (theirs INTEGER)"))
    with pytest.raises(DatabaseUnusable, match=r"a part of ours \(node\); name an empty database"):
        migrate(engine)
    assert inspect(engine).get_table_names() == ["node"]
    engine.dispose()


@pytest.fixture
def plain() -> Iterator[int]:
    """Return the port of a server that answers no to whoever asks for TLS."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    with client:
                        client.recv(8)
                        client.sendall(b"N")

        thread = Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize(
    ("parameter", "told"),
    [
        ("sslmode=nonsense", "invalid sslmode value"),
        ("sslmode=require", "server does not support SSL"),
        ("sslmode=verify-full", "server does not support SSL"),
    ],
)
def test_a_parameter_with_which_postgresql_takes_no_connection_is_told_at_start(
    plain: int, parameter: str, told: str
) -> None:
    engine = open_engine(f"postgresql://nobody@127.0.0.1:{plain}/rackwright?{parameter}")
    with pytest.raises(DatabaseUnusable, match=rf"{told}.*correct the parameters behind its \?"):
        migrate(engine)
    engine.dispose()


@pytest.mark.parametrize("parameter", ["ssl_ca=/nowhere/ca.pem", "nonsense=1"])
def test_a_parameter_that_the_driver_does_not_take_is_told_at_start(parameter: str) -> None:
    engine = open_engine(f"{databases.emptied('mariadb')}&{parameter}")
    with pytest.raises(DatabaseUnusable, match="cannot read a file that one of them names"):
        migrate(engine)
    engine.dispose()
