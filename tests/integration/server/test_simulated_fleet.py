# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A whole daemon takes many machines from enroll to active, also where their BMCs fail now and then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rackwright_lab.simulated.history import check
from tests.integration.server.daemon_house import until
from tests.integration.server.simulated_house import Fleet, Rack, running

pytestmark = pytest.mark.timeout(600)  # 40 seconds each on a quiet machine

PATIENCE = 200  # seconds for each verb
TIMES = ("--boot-seconds=1.5", "--step-seconds=0.1", "--power-seconds=0.05", "--beat-seconds=0.1")
FAILING = (
    {"fault": "unavailable", "percent": 3},
    {"fault": "connection-reset", "percent": 2},
    {"fault": "session-expired", "percent": 2},
    {"fault": "answer-lost", "percent": 2},
    {"fault": "time-out", "percent": 1, "seconds": 2},
)
"""One request in ten fails."""


@contextmanager
def fleet(folder: Path, machines: int) -> Iterator[tuple[Rack, Fleet]]:
    with running(folder / "rack", machines, *TIMES) as rack:
        daemon = Fleet(folder / "daemon", rack)
        try:
            yield rack, daemon
        finally:
            daemon.stop()


def test_twenty_machines_become_active_with_each_thing_done_once_and_in_order(tmp_path: Path) -> None:
    with fleet(tmp_path, 20) as (rack, daemon):
        daemon.live(daemon.enroll(), PATIENCE)
        until(lambda: rack.sessions() == 0, 10, "the end of all sessions")
        until(lambda: not check(rack.folder), 10, f"clean histories in {rack.folder}")
        # A report that comes while a run still holds the node is refused with 409, and sent again.
        assert {_accepted(rack, machine["name"]) for machine in rack.machines} == {1}


def _accepted(rack: Rack, name: str) -> int:
    """Return how many inspection reports of a machine were taken."""
    return sum(report["status"] == 202 for report in rack.happened("inspected", name))


def test_machines_become_active_though_one_request_in_ten_fails(tmp_path: Path) -> None:
    with fleet(tmp_path, 3) as (rack, daemon):
        rack.faults(*FAILING)
        daemon.live(daemon.enroll(), PATIENCE)
        struck = [entry for machine in rack.machines for entry in rack.happened("fault", machine["name"])]
        assert len(struck) > 10
        until(lambda: not check(rack.folder), 10, f"clean histories in {rack.folder}")


def test_a_deployment_that_failed_may_be_tried_again(tmp_path: Path) -> None:
    with fleet(tmp_path, 2) as (rack, daemon):
        uuids = daemon.enroll()
        for verb, state in (("manage", "manageable"), ("inspect", "manageable"), ("provide", "available")):
            daemon.bring(uuids, verb, state, PATIENCE)
        rack.faults(
            {"fault": "step-fails", "machines": "node-1", "step": "write_image", "times": 1},
            {"fault": "step-fails", "machines": "node-2", "step": "image.install_bootloader", "times": 1},
        )
        daemon.verb(uuids, "active")
        until(lambda: _all_in("deploy failed", daemon), PATIENCE, "two failures")
        daemon.verb(uuids, "active")
        until(lambda: _all_in("active", daemon), PATIENCE, "two instances")
        assert {len(rack.happened("image written", name)) for name in ("node-1", "node-2")} == {2}
        until(lambda: not check(rack.folder), 10, f"clean histories in {rack.folder}")


def _all_in(state: str, daemon: Fleet) -> bool:
    nodes = daemon.nodes().values()
    return all(node["provision_state"] == state and not node["reservation"] for node in nodes)
