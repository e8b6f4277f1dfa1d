# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The host lets the daemon down: it says so, waits, and goes on by itself when that is over; no node is to blame."""

from __future__ import annotations

import contextlib
import re
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.server.daemon_house import Daemon, command, free_port, until

pytestmark = pytest.mark.slow
ENCLOSE = 'mount -t tmpfs -o size=32m,mode=700 disk "$0" && exec "$@"'


class Enclosed(Daemon):
    """A daemon whose state directory is a small disk of its own, in a mount namespace."""

    def start(self) -> None:
        """Mount the disk and start the daemon on it."""
        self.state.mkdir()
        serve = command("serve", "--state-dir", str(self.state), "--port", str(self.port))
        enclosed = ["unshare", "--map-root-user", "--mount", "sh", "-c", ENCLOSE, str(self.state), *serve]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(enclosed, env=self.environment, stdout=log, stderr=log)
        until(self.answers, 60, f"an answer (see {self.log})")

    @property
    def disk(self) -> Path:
        """Return the state directory as the daemon sees it."""
        return Path(f"/proc/{self.process.pid}/root{self.state}")

    def inside(self, *words: str) -> None:
        """Run a command where the daemon is."""
        enter = ["nsenter", f"--target={self.process.pid}", "--user", "--mount", "--preserve-credentials"]
        subprocess.run([*enter, *words], check=True)

    def host(self) -> str:
        """Return what it says of its host."""
        return str(self.client.get("/readyz").json()["checks"]["host"])


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Enclosed]:
    started = Enclosed(tmp_path_factory.mktemp("enclosed"), sync_power_state_interval=0)
    yield started
    started.stop()


@contextmanager
def full(daemon: Enclosed) -> Iterator[None]:
    filler = daemon.disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    yield
    filler.unlink()


@contextmanager
def read_only(daemon: Enclosed) -> Iterator[None]:
    runs = str(daemon.state / "runs")
    daemon.inside("mount", "--bind", runs, runs)
    daemon.inside("mount", "-o", "remount,bind,ro", runs)
    yield
    daemon.inside("umount", runs)


@contextmanager
def without_files(daemon: Enclosed) -> Iterator[None]:
    pid = daemon.child("conductor")
    assert pid is not None
    used = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used, before[1]))
    yield
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


HARDSHIPS: dict[str, tuple[Callable[[Enclosed], contextlib.AbstractContextManager[None]], str, str]] = {
    "a full disk": (
        full,
        "the disk that holds state_dir is full; free space on it",
        "is full; free space on it",
    ),
    "a read-only folder": (
        read_only,
        "the folder runs cannot be written; mount its disk",
        "again: .* cannot be written",
    ),
    "too few files": (without_files, "ok", "again: .* as many files open as it may"),
}
"""What happens, what the API process says of it, and what the log says."""


@pytest.mark.parametrize("name", HARDSHIPS)
def test_nodes_arrive_when_a_hardship_is_over(daemon: Enclosed, name: str) -> None:
    begin, told, logged = HARDSHIPS[name]
    before = daemon.log.stat().st_size
    processes = [daemon.child("api"), daemon.child("conductor")]
    (going, *others) = uuids = daemon.create(4, driver_info={"fake_delay": "0.5"})
    daemon.verb([going], "manage")
    until(lambda: "A run starts" in daemon.log.read_text()[before:], 10, "its run")
    with begin(daemon):
        assert daemon.host().startswith(told)
        for uuid in others:
            asked = daemon.client.put(f"/v1/nodes/{uuid}/states/provision", json={"target": "manage"})
            assert asked.status_code == 202 or "is full; free space on it" in asked.text
        until(lambda: re.search(logged, daemon.log.read_text()[before:]), 20, "a word about it")
        seen = daemon.nodes()
        assert {seen[uuid]["last_error"] for uuid in uuids} == {None}
    assert daemon.host() == "ok"
    waiting = [uuid for uuid in others if daemon.nodes()[uuid]["provision_state"] == "enroll"]
    daemon.verb(waiting, "manage")
    until(lambda: daemon.reached(uuids, "manageable"), 30, "four nodes manageable")
    assert [daemon.child("api"), daemon.child("conductor")] == processes, "nothing had to be started again"


def test_a_daemon_that_may_open_too_few_files_says_so_and_does_not_start(tmp_path: Path) -> None:
    serve = command("serve", "--state-dir", str(tmp_path / "state"), "--port", str(free_port()))
    ended = subprocess.run(
        ["prlimit", "--nofile=100:100", *serve], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 78
    assert "it may have 100 files open at once" in ended.stderr and "LimitNOFILE" in ended.stderr
