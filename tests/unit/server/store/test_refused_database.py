# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A database server that answers, and does not let the daemon in: that is no outage, and waiting does not help."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from rackwright.store.ailment import ailment
from rackwright.store.migrations import migrate
from rackwright.store.session import DatabaseUnusable, open_engine
from tests.integration.server.daemon_house import free_port
from tests.unit.server import databases

PASSWORD, WRITTEN = "r@ght/:?#", "r%40ght%2F%3A%3F%23"
ACCOUNT = {"postgresql": "guarded", "mariadb": "guarded@localhost"}
MAKE = {
    "postgresql": ("CREATE ROLE {0} LOGIN PASSWORD '{1}'", "REVOKE CONNECT ON DATABASE postgres FROM PUBLIC"),
    "mariadb": ("CREATE USER {0} IDENTIFIED BY '{1}'", "GRANT ALL ON rackwright.* TO {0}"),
}
CHANGE = {"postgresql": "ALTER ROLE {0} PASSWORD '{1}'", "mariadb": "SET PASSWORD FOR {0} = PASSWORD('{1}')"}
FORBID: dict[str, tuple[str, ...]] = {
    "postgresql": (),
    "mariadb": ("REVOKE ALL ON rackwright.* FROM {0}", "GRANT CREATE ON rackwright.* TO {0}"),
}
CLOSED = {"postgresql": "postgres", "mariadb": "mysql"}


class Guarded:
    """A server with an account ``guarded``, which has a password and may enter one database."""

    def __init__(self, backend: str) -> None:
        self.backend, self._server = backend, databases.server(backend)
        databases.emptied(backend)
        if backend == "postgresql":
            self._ask_for_passwords()
        self.execute(*MAKE[backend])

    def _ask_for_passwords(self) -> None:
        rules, line = self._server.folder / "data" / "pg_hba.conf", "local all guarded scram-sha-256\n"
        if not (text := rules.read_text()).startswith(line):
            rules.write_text(line + text)
            assert self._server.process is not None
            self._server.process.send_signal(signal.SIGHUP)
            time.sleep(0.5)

    def execute(self, *statements: str, password: str = PASSWORD) -> None:
        engine = open_engine(self._server.url(databases.NAME)).execution_options(isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement.format(ACCOUNT[self.backend], password))
        engine.dispose()

    def url(self, account: str, database: str = databases.NAME) -> str:
        """Return the URL of a database, for an account."""
        scheme, _, rest = self._server.url(database).partition("://")
        return f"{scheme}://{account}@{rest.partition('@')[2]}"


@pytest.fixture(params=["postgresql", "mariadb"])
def guarded(request: pytest.FixtureRequest) -> Iterator[Guarded]:
    found = Guarded(request.param)
    yield found
    found.execute("DROP ROLE {0}" if found.backend == "postgresql" else "DROP USER {0}")


def test_a_wrong_password_and_an_unknown_database_are_told_at_start_and_not_waited_for(guarded: Guarded) -> None:
    for account, database in (
        ("guarded:wrong", databases.NAME),
        ("guarded", databases.NAME),
        ("nobody-we-know", databases.NAME),
        (f"guarded:{WRITTEN}", "nowhere"),
        (f"guarded:{WRITTEN}", CLOSED[guarded.backend]),
    ):
        user = account.partition(":")[0]
        told = f"database_url does not let {user} into {database}: .* Correct"
        with pytest.raises(DatabaseUnusable, match=told) as refused:
            migrate(open_engine(guarded.url(account, database)))
        assert "wrong" not in refused.value.message and PASSWORD not in refused.value.message


def test_signs_that_mean_something_in_a_url_are_written_with_percent_signs(guarded: Guarded) -> None:
    engine = open_engine(guarded.url(f"guarded:{WRITTEN}"))
    engine.connect().close()
    engine.dispose()


def test_an_account_that_may_not_read_our_tables_is_told_as_such(guarded: Guarded) -> None:
    guarded.execute(*FORBID[guarded.backend])
    engine = open_engine(guarded.url(f"guarded:{WRITTEN}"))
    with pytest.raises(DatabaseUnusable, match=r"does not let guarded into rackwright: .*denied.*what guarded may do"):
        migrate(engine)
    engine.dispose()


def test_a_password_that_is_changed_while_the_daemon_runs_is_told_as_such(guarded: Guarded) -> None:
    engine = open_engine(guarded.url(f"guarded:{WRITTEN}"))
    engine.connect().close()
    guarded.execute(CHANGE[guarded.backend], password="new")
    engine.dispose()
    with pytest.raises(OperationalError) as refused:
        engine.connect()
    assert ailment(refused.value).startswith("The database does not let the daemon in; correct database_url")


@pytest.mark.parametrize("command", ["serve", "conductor", "api"])
def test_a_daemon_that_is_not_let_in_ends_with_the_status_of_bad_settings(command: str, tmp_path: Path) -> None:
    guarded = Guarded("postgresql")
    done = subprocess.run(
        [sys.executable, "-m", "rackwright.cli", command, "--state-dir", str(tmp_path), "--port", str(free_port())],
        env={"RACKWRIGHT_DATABASE_URL": guarded.url("guarded:wrong")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    guarded.execute("DROP ROLE {0}")
    assert done.returncode == 78, done.stderr
    assert "does not let guarded into rackwright" in done.stderr
    assert "Traceback" not in done.stderr and "wrong" not in done.stderr


@pytest.mark.parametrize(
    ("backend", "account", "more"),
    [("postgresql", "tester", "&word=canary"), ("mariadb", "root", "&word=canary"), ("mariadb", "root:%E2%82%AC", "")],
)
def test_what_the_driver_does_not_take_is_told_in_our_words(backend: str, account: str, more: str) -> None:
    scheme, _, rest = databases.emptied(backend).partition("://")
    with pytest.raises(DatabaseUnusable, match=r"database_url .* driver does not take") as refused:
        migrate(open_engine(f"{scheme}://{account}@{rest.partition('@')[2]}{more}"))
    assert "canary" not in refused.value.message and "\u20ac" not in refused.value.message
