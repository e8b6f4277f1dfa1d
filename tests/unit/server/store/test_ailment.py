# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A database that refuses to work is told by its cause."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from rackwright.store.ailment import ailment, remedy
from rackwright.store.session import open_engine


def test_a_full_disk_is_told_as_such(tmp_path: Path) -> None:
    with open_engine(f"sqlite:///{tmp_path}/full.sqlite").connect() as connection:
        connection.execute(text("CREATE TABLE filled (bytes BLOB)"))
        connection.execute(text("PRAGMA max_page_count = 4"))
        with pytest.raises(OperationalError) as refused:
            connection.execute(text("INSERT INTO filled VALUES (zeroblob(1000000))"))
    assert ailment(refused.value) == "The disk that holds the database is full; free space on it"


def test_a_file_that_cannot_be_opened_is_told_without_its_path(tmp_path: Path) -> None:
    with pytest.raises(OperationalError) as refused:
        open_engine(f"sqlite:///{tmp_path}/none/there.sqlite").connect()
    assert ailment(refused.value).startswith("The file of the database cannot be opened and written; give it")
    assert str(tmp_path) not in ailment(refused.value)


def test_a_server_that_cannot_be_reached_is_a_database_that_does_not_answer() -> None:
    with pytest.raises(OperationalError) as refused:
        open_engine("postgresql://nobody@127.0.0.1:1/none").connect()
    assert ailment(refused.value) == "The database does not answer"
    assert remedy(refused.value) is None
