# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlmodel import SQLModel

from rackwright.store import migrations
from rackwright.store.migrations import HEAD, migrate
from rackwright.store.session import open_engine


def test_the_newest_revision_is_the_one_that_is_looked_for() -> None:
    scripts = ScriptDirectory(str(Path(migrations.__file__).parent))
    assert scripts.get_heads() == [HEAD]


def test_an_empty_database_is_brought_up_to_date_once_and_for_all(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'db.sqlite'}")
    for _ in range(2):
        migrate(engine)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == HEAD
        assert connection.execute(text("SELECT count(*) FROM node")).scalar() == 0
    engine.dispose()


def test_the_revisions_make_exactly_the_tables_of_the_models(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'db.sqlite'}")
    migrate(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, SQLModel.metadata) == []
    engine.dispose()


def test_a_database_that_is_up_to_date_needs_no_alembic(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'db.sqlite'}"
    engine = open_engine(url)
    migrate(engine)
    engine.dispose()
    script = (
        "import sys\n"
        "from rackwright.store.migrations import migrate\n"
        "from rackwright.store.session import open_engine\n"
        f"migrate(open_engine({url!r}))\n"
        "print('alembic' in sys.modules)\n"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"
