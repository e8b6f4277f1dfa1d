# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""An API process and two conductors, as on three hosts, on one PostgreSQL that may go away."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from rackwright.store.sealing import read_key
from tests.integration.server.daemon_house import VERSION, command, free_port, until
from tests.unit.server import databases

QUICK = {"heartbeat_interval": 1, "heartbeat_timeout": 5, "check_provision_state_interval": 1, "fork_server_idle": 60}
RUNS = ("power.read_power_state", "runs")


class Host:
    """One process of the daemon with a state directory of its own."""

    def __init__(self, folder: Path, name: str, url: str, **settings: object) -> None:
        self.name, self.log, self.port = name, folder / f"{name}.log", free_port()
        state = folder / name
        state.mkdir(mode=0o700)
        (state / "secret.key").write_bytes((folder / "secret.key").read_bytes())
        (state / "secret.key").chmod(0o600)
        given: dict[str, object] = {
            "conductor_host": name,
            "database_url": url,
            "enabled_hardware_types": "fake-hardware",
            "state_dir": state,
            "port": self.port,
            **QUICK,
            **settings,
        }
        clean = {key: value for key, value in os.environ.items() if not key.startswith("RACKWRIGHT_")}
        self._environment = clean | {f"RACKWRIGHT_{key.upper()}": str(value) for key, value in given.items()}

    def start(self, kind: str) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command(kind), env=self._environment, stdout=log, stderr=log)

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def stop(self) -> None:
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        self.process.wait(30)


class Site:
    """All of them."""

    def __init__(self, folder: Path, url: str, **settings: object) -> None:
        read_key(folder / "secret.key")
        self._folder, self._url = folder, url
        self.api, *self.conductors = (Host(folder, name, url, **settings) for name in ("api", "one", "two"))
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.api.port}", headers=VERSION, timeout=60)
        self.api.start("api")
        for host in self.conductors:
            host.start("conductor")
        until(lambda: self.alive() == {"one", "two"}, 60, f"two conductors (see {self.api.log.parent})")

    def close(self) -> None:
        self.client.close()
        for host in (*self.conductors, self.api):
            host.stop()

    def double(self, host: Host) -> Host:
        """Return a host that was given the name of another one."""
        return Host(self._folder, "double", self._url, conductor_host=host.name)

    def ask(self, method: str, path: str, body: Any = None) -> httpx.Response | None:
        """Send a request; None when nobody listens."""
        try:
            return self.client.request(method, path, json=body)
        except httpx.TransportError:
            return None

    def done(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.client.request(method, path, json=body)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    def alive(self) -> set[str]:
        answer = self.ask("GET", "/v1/conductors")
        if answer is None or answer.status_code != 200:
            return set()
        return {each["hostname"] for each in answer.json()["conductors"] if each["alive"]}

    def create(self, count: int, **fields: Any) -> list[str]:
        return [self.done("POST", "/v1/nodes", {"driver": "fake-hardware", **fields})["uuid"] for _ in range(count)]

    def verb(self, uuids: list[str], target: str) -> None:
        for uuid in uuids:
            self.done("PUT", f"/v1/nodes/{uuid}/states/provision", {"target": target})

    def nodes(self) -> Mapping[str, dict[str, Any]]:
        fields = "uuid,provision_state,last_error,reservation,conductor"
        return {each["uuid"]: each for each in self.done("GET", f"/v1/nodes?fields={fields}")["nodes"]}

    def all_in(self, state: str) -> bool:
        seen = self.nodes().values()
        errors = {each["uuid"]: each["last_error"] for each in seen if each["last_error"]}
        assert not errors, errors
        return all(each["provision_state"] == state and not each["reservation"] for each in seen)


@pytest.fixture(scope="module")
def server() -> Iterator[databases.Server]:
    started = databases.postgresql()
    yield started
    started.stop()


@pytest.fixture
def site(tmp_path: Path, server: databases.Server, request: pytest.FixtureRequest) -> Iterator[Site]:
    server.recreate()
    built = Site(tmp_path, server.url(databases.NAME), fake_delays="power:2", **getattr(request, "param", {}))
    yield built
    built.close()


def course(site: Site, uuid: str) -> list[tuple[str | None, str]]:
    """Return what happened to a node, in its order."""
    (operation,) = site.done("GET", f"/rackwright/v1/nodes/{uuid}/operations")["operations"]
    return [(each["step"], each["activity"]) for each in operation["timeline"]]


def check_that_it_is_told_once(log: str) -> None:
    """Look for what a log says of a database that was away."""
    told = [log.count(text) for text in ("The database does not answer", "The database is back after", "Traceback")]
    assert told == [1, 1, 0], log


def test_a_conductor_that_is_stopped_loses_its_nodes_and_leaves_them_alone_when_it_wakes_up(site: Site) -> None:
    paused, other = site.conductors
    uuids = site.create(8)
    assert {each["conductor"] for each in site.nodes().values()} == {"one", "two"}
    site.verb(uuids, "manage")
    until(lambda: any(each["provision_state"] == "verifying" for each in site.nodes().values()), 30, "a run")
    time.sleep(1)
    paused.signal(signal.SIGSTOP)
    until(lambda: site.all_in("manageable"), 60, f"the takeover (see {other.log})")
    assert site.alive() == {"two"}
    assert {each["conductor"] for each in site.nodes().values()} == {"two"}
    before = site.nodes()
    paused.signal(signal.SIGCONT)
    until(lambda: site.alive() == {"one", "two"}, 30, f"the return (see {paused.log})")
    assert "was silent for too long" in paused.log.read_text()
    after = site.nodes()
    assert {uuid: each["provision_state"] for uuid, each in after.items()} == dict.fromkeys(before, "manageable")
    site.verb(uuids, "provide")
    until(lambda: site.all_in("available"), 60, "both work again")


def test_a_database_that_dies_and_comes_back_costs_nobody_anything(site: Site, server: databases.Server) -> None:
    undisturbed = site.create(1)
    site.verb(undisturbed, "manage")
    until(lambda: site.all_in("manageable"), 30, "one node without any trouble")
    uuids = site.create(6)
    site.verb(uuids, "manage")
    until(lambda: any(each["reservation"] for each in site.nodes().values()), 30, "a run")
    time.sleep(1)
    server.kill()
    answer = site.ask("GET", "/v1/nodes")
    assert answer is not None and answer.status_code == 503
    assert json.loads(answer.json()["error_message"])["faultstring"].startswith("The database does not answer")
    time.sleep(1)
    server.start()
    until(lambda: site.alive() == {"one", "two"}, 30, "both conductors go on")
    until(lambda: site.all_in("manageable"), 60, f"what was begun is done (see {site.api.log.parent})")
    assert [course(site, uuid) for uuid in uuids] == [course(site, undisturbed[0])] * len(uuids)
    for host in (site.api, *site.conductors):
        check_that_it_is_told_once(host.log.read_text())


def test_a_second_conductor_of_a_name_ends_and_the_first_may_start_again_at_once(site: Site) -> None:
    first, other = site.conductors
    double = site.double(first)
    double.start("conductor")
    assert double.process.wait(30) == 78
    assert "give each its own conductor_host (if state_dir was lost: start in " in double.log.read_text()
    time.sleep(QUICK["heartbeat_interval"] + 1)
    assert "rejoins" not in first.log.read_text()
    first.signal(signal.SIGKILL)
    first.process.wait(10)
    begun = first.log.stat().st_size
    first.start("conductor")
    until(lambda: "The conductor works" in first.log.read_text()[begun:], 30, f"its start (see {first.log})")
    assert (first.process.poll(), other.process.poll()) == (None, None)


def test_a_conductor_that_is_stopped_waits_for_its_runs_and_others_take_its_nodes(site: Site) -> None:
    stopped, other = site.conductors
    site.create(16, driver_info={"fake_delay": "8"})
    time.sleep(QUICK["heartbeat_interval"] + 0.5)  # they know one another
    waiting, *running = [uuid for uuid, each in site.nodes().items() if each["conductor"] == "one"][:4]
    site.verb(running, "manage")
    until(lambda: all(RUNS in course(site, uuid) for uuid in running), 30, "their runs")
    stopped.signal(signal.SIGTERM)
    until(lambda: {each["conductor"] for each in site.nodes().values()} == {"two"}, 20, "other hands")
    site.verb([waiting], "manage")
    until(lambda: RUNS in course(site, waiting), 20, "a run of the other")
    assert stopped.process.poll() is None
    assert stopped.process.wait(60) == 0
    assert {site.nodes()[uuid]["provision_state"] for uuid in running} == {"manageable"}
    assert "taken over" not in other.log.read_text()
    log = stopped.log.read_text()
    assert re.search(r"waits for its runs runs=[123] until=", log) and "The conductor has stopped" in log
    assert "No word with the database" not in log


@pytest.mark.parametrize("site", [{"check_provision_state_interval": 300}], indirect=True)
def test_what_lost_its_run_while_the_database_was_away_goes_on_when_it_is_back(
    site: Site, server: databases.Server
) -> None:
    uuids = site.create(12)
    time.sleep(QUICK["heartbeat_interval"] + 0.5)  # they know one another
    site.verb(uuids, "manage")
    until(lambda: all("A run starts" in host.log.read_text() for host in site.conductors), 30, "their runs")
    server.kill()
    time.sleep(QUICK["heartbeat_timeout"] + 3)  # by then nobody may go on with a run
    server.start()
    until(lambda: site.all_in("manageable"), 60, f"what was begun is done (see {site.api.log.parent})")
    for host in site.conductors:
        log = host.log.read_text()
        assert "lost its run" in log
        check_that_it_is_told_once(log)
