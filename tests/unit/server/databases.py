# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Real servers of PostgreSQL and MariaDB, each started by the first test that wants it, on a socket of its own."""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlmodel import SQLModel

from rackwright.store.migrations import migrate
from rackwright.store.session import open_engine

BACKENDS = ("sqlite", "postgresql", "mariadb")
NAME = "rackwright"
_USER = "nobody"  # neither of the servers runs as root


class Server:
    """A database server in a folder of its own."""

    def __init__(
        self, at: Path, *, initialise: Sequence[str], serve: Sequence[str], admin: str, url: Callable[[str], str]
    ) -> None:
        self._socket, self.folder, self._serve, self._admin, self.url = at, at.parent, serve, admin, url
        self.process: subprocess.Popen[bytes] | None = None
        try:
            self._call(initialise)
            self.start()
            self.recreate()
        except BaseException:
            self.stop()
            raise

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.revive()
        end = time.monotonic() + 30
        while not self._answers():
            assert time.monotonic() < end, (self.folder / "log").read_text()
            time.sleep(0.05)

    def revive(self) -> None:
        """Start it unless it runs, and do not wait."""
        if self.process is None or self.process.poll() is not None:
            with (self.folder / "log").open("ab") as log:
                self.process = subprocess.Popen([*_starter(), *self._serve], stdout=log, stderr=log, cwd=self.folder)

    def recreate(self, name: str = NAME) -> str:
        """Make a database without tables in place of the former one; return its URL."""
        engine = open_engine(self.url(self._admin)).execution_options(isolation_level="AUTOCOMMIT")
        force = " WITH (FORCE)" if engine.dialect.name == "postgresql" else ""
        with engine.connect() as connection:
            connection.execute(text(f"DROP DATABASE IF EXISTS {name}{force}"))
            connection.execute(text(f"CREATE DATABASE {name}"))
        engine.dispose()
        return self.url(name)

    def kill(self) -> None:
        """Let it die; what it has stored stays."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Stop it at once, and remove it."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT if "postgres" in str(self._serve[0]) else signal.SIGTERM)
            self.process.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self) -> bool:
        if not self._listens():
            return False
        engine = open_engine(self.url(self._admin))
        try:
            with engine.connect():
                return True
        except (OperationalError, InterfaceError):
            assert self.process is not None and self.process.poll() is None, (self.folder / "log").read_text()
            return False
        finally:
            engine.dispose()

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(self._socket)) == 0

    def _call(self, words: Sequence[str]) -> None:
        words = [*_starter(), *words]
        done = subprocess.run(words, capture_output=True, text=True, cwd=self.folder, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def _starter() -> list[str]:
    """Return what starts a program under the right account, so that it dies with us."""
    other = ["--reuid", _USER, "--regid", str(pwd.getpwnam(_USER).pw_gid), "--clear-groups"]
    return ["setpriv", *(other if os.geteuid() == 0 else ()), "--pdeathsig", "KILL", "--"]


def _folder() -> Path:
    quick = "/dev/shm" if Path("/dev/shm").is_dir() else "/tmp"  # memory; and a socket's path must be short
    folder = Path(tempfile.mkdtemp(prefix="db-", dir=quick))
    if os.geteuid() == 0:
        os.chown(folder, *pwd.getpwnam(_USER)[2:4])
    return folder


def postgresql(network: str | None = None) -> Server:
    """Start a new PostgreSQL, at its socket alone, or open to a network that is ours too."""
    folder, (programs, *_) = _folder(), sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    data = folder / "data"
    common = ("--username=tester", "--auth=trust", "--no-sync", "--encoding=UTF8", "--no-locale")
    settings = (
        f"listen_addresses={'*' if network else ''}",
        f"unix_socket_directories={folder}",
        *("fsync=off", "shared_buffers=16MB", "max_connections=300", "dynamic_shared_memory_type=mmap"),
    )
    started = Server(
        folder / ".s.PGSQL.5432",
        initialise=[str(programs / "initdb"), f"--pgdata={data}", *common],
        serve=[str(programs / "postgres"), "-D", str(data), *(word for each in settings for word in ("-c", each))],
        admin="postgres",
        url=lambda name: f"postgresql://tester@/{name}?host={folder}",
    )
    if network:
        with (data / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {network} trust\n")
        assert started.process is not None
        started.process.send_signal(signal.SIGHUP)
    return started


def mariadb() -> Server:
    """Start a new MariaDB."""
    folder = _folder()
    data, at = folder / "data", folder / "socket"
    owner = _USER if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    common = ("--no-defaults", f"--datadir={data}")
    small = ("--innodb-log-file-size=8M", "--innodb-buffer-pool-size=16M", "--innodb-flush-log-at-trx-commit=0")
    return Server(
        at,
        initialise=[
            *("mariadb-install-db", *common, "--auth-root-authentication-method=normal"),
            *("--skip-test-db", f"--auth-root-socket-user={owner}"),
        ],
        serve=["/usr/sbin/mariadbd", *common, f"--socket={at}", "--skip-networking", *small],
        admin="mysql",
        url=lambda name: f"mariadb://root@localhost/{name}?unix_socket={at}",
    )


@cache
def server(backend: str) -> Server:
    """Return the server that the tests of this process share, with an up to date database."""
    started = {"postgresql": postgresql, "mariadb": mariadb}[backend]()
    atexit.register(started.stop)
    engine = open_engine(started.url(NAME))
    migrate(engine)
    engine.dispose()
    return started


def emptied(backend: str) -> str:
    """Return the URL of a database without rows."""
    url = server(backend).url(NAME)
    engine = open_engine(url)
    with engine.begin() as connection:
        for table in reversed(SQLModel.metadata.sorted_tables):
            connection.execute(table.delete())
    engine.dispose()
    return url


def unmigrated(backend: str) -> str:
    """Return the URL of a database without tables."""
    return server(backend).recreate("bare")
