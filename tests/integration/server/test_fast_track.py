# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A whole daemon leaves agents running between inspection, cleaning and deployment."""

from __future__ import annotations

from pathlib import Path

from rackwright_lab.simulated.history import check
from tests.integration.server.daemon_house import until
from tests.integration.server.simulated_house import Fleet, running

TIMES = ("--boot-seconds=1", "--step-seconds=0.1", "--power-seconds=0.05", "--beat-seconds=0.1")


def test_a_machine_boots_its_agent_once_from_inspection_to_deployment(tmp_path: Path) -> None:
    with running(tmp_path / "rack", 2, *TIMES) as rack:
        daemon = Fleet(tmp_path / "daemon", rack, fast_track=True)
        try:
            daemon.live(daemon.enroll())
            for machine in rack.machines:
                assert len(rack.happened("agent starts", machine["name"])) == 1
            until(lambda: not check(rack.folder), 10, f"clean histories in {rack.folder}")
            assert list((daemon.state / "http" / "boot").iterdir()) == []
        finally:
            daemon.stop()
