# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What an operator sees of a whole daemon: its numbers, which a kill does not take away, and its log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.integration.server.daemon_house import Daemon, until

pytestmark = pytest.mark.slow


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    started = Daemon(tmp_path, log_format="json")
    yield started
    started.client.close()
    if started.process.poll() is None:
        started.stop()


def numbers(daemon: Daemon) -> dict[tuple[str, ...], float]:
    """Return each number by its name, without the prefix of all, and the values of its labels."""
    text = daemon.client.get("/metrics").text
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(each.name.removeprefix("rackwright_"), *each.labels.values()): each.value for each in samples}


def replaced(daemon: Daemon, name: str, pid: int | None) -> bool:
    """Tell whether another process of that name runs."""
    return daemon.child(name) not in (None, pid)


def test_the_numbers_of_every_process_outlive_its_death_and_the_log_names_operations(daemon: Daemon) -> None:
    uuids = daemon.create(3)
    daemon.bring(uuids, "manage", "manageable")
    before = numbers(daemon)
    assert before["nodes", "false", "manageable"] == 3
    assert before["operation_seconds_count", "verify", "done"] == 3
    assert before["queue_seconds_count", "verify"] == 3
    assert before["wave_nodes_sum", "verify"] == 3
    assert before["run_seconds_count", "verify", "finished"] >= 1
    assert before["step_seconds_count", "verify", "power.read_power_state"] == 3
    assert before["api_request_seconds_count", "POST", "/v1/nodes", "2xx"] == 3
    assert before["process_starts_total", "conductor"] == 1

    for name in ("conductor", "api"):
        pid = daemon.child(name)
        daemon.kill(name)
        until(partial(replaced, daemon, name, pid), 30, f"another {name}")
    until(daemon.answers, 60, "an answer")
    daemon.bring(daemon.create(1), "manage", "manageable")
    after = numbers(daemon)
    assert after["process_starts_total", "conductor"] == 2
    assert after["process_starts_total", "api"] == 2
    assert after["operation_seconds_count", "verify", "done"] == 4
    assert after["api_request_seconds_count", "POST", "/v1/nodes", "2xx"] == 4

    assert daemon.client.get("/readyz").json()["ready"] is True
    lines = [json.loads(line) for line in daemon.log.read_text().splitlines() if line.startswith("{")]
    ended = [line for line in lines if line["message"] == "An operation has ended"]
    assert {line["node"] for line in ended} >= set(uuids)
    assert all(line["request"].startswith("req-") and line["operation"] for line in ended)
