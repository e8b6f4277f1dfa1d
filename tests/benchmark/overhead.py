# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Measure what we add ourselves on the way from enroll to active.

``python -m tests.benchmark.overhead machine`` takes one machine of the light tier with the real agent (as root): the
wall time that is no wait for the machine or its agent, and the time from a heartbeat to the agent's next request.
``python -m tests.benchmark.overhead wave [nodes]`` takes nodes of fake-hardware together: CPU seconds of all processes
of the daemon for each node, and its memory when idle. Linux only.
"""

from __future__ import annotations

import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from tests.benchmark.processes import cpu, memory
from tests.integration.server.daemon_house import Daemon, until
from tests.integration.server.lab.lab_daemon import DRIVE, LabDaemon
from tests.integration.server.lab.light_rack import LightRack, lab

LAB_IMAGES = Path("/var/tmp/rackwright-lab/images")
MOST_NODES = 500
LIMIT = 600.0
"""Seconds after which a measurement is given up."""

_LINE = re.compile(
    r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+) .*?(sleeping before next heartbeat|(?:GET|POST) /v1/\S* - 200)", re.M
)


def machine(folder: Path) -> None:
    """Deploy one machine and print where our own time went."""
    images = folder / "images"
    images.mkdir()
    lab("images", "--out", LAB_IMAGES)
    for name in ("lab-os.raw", "CHECKSUMS"):
        shutil.copy(LAB_IMAGES / name, images)
    for name in ("kernel", "ramdisk", "esp"):
        (images / name).write_bytes(bytes(8192))
    rack = LightRack(folder / "rack", name="bench", network="172.26.0.0/24", machines=1)
    daemon = LabDaemon(folder / "daemon", rack, images)
    try:
        one = rack.machines[0]
        begin = time.time()
        uuid = daemon.enroll(one)
        for target, state in (("manage", "manageable"), ("inspect", "manageable"), ("provide", "available")):
            daemon.go(uuid, target, state)
        image = {"image_source": (images / "lab-os.raw").as_uri(), "image_checksum": (images / "CHECKSUMS").as_uri()}
        daemon.change(uuid, instance_info={**image, "image_disk_format": "raw"})
        daemon.go(uuid, "active", "active", configdrive=DRIVE)
        wall = time.time() - begin
        waited = sum(waits(daemon.done("GET", f"/rackwright/v1/nodes/{uuid}/operations")["operations"]))
        answers = list(latencies(one.said()))
        tell(f"{wall:7.1f} s  from enroll to active")
        tell(f"{waited:7.1f} s  of it the machine booting or the agent working")
        tell(f"{wall - waited:7.1f} s  our own")
        tell(f"{statistics.median(answers):7.2f} s  median of {len(answers)} from a heartbeat to the next request")
    finally:
        daemon.end()
        rack.stop()


def waits(operations: list[dict[str, Any]]) -> Iterator[float]:
    """Yield the seconds of each wait."""
    for operation in operations:
        ends = [entry["at"] for entry in operation["timeline"][1:]] + [operation["finished_at"]]
        for entry, end in zip(operation["timeline"], ends, strict=True):
            if entry["activity"] == "waits":
                yield (datetime.fromisoformat(end) - datetime.fromisoformat(entry["at"])).total_seconds()


def latencies(console: str) -> Iterator[float]:
    """Yield the seconds from each heartbeat to the first request that the agent gets after it."""
    beat: datetime | None = None
    for text, what in _LINE.findall(console):
        at = datetime.fromisoformat(text)
        if what == "sleeping before next heartbeat":
            beat = at
        elif beat is not None:
            yield (at - beat).total_seconds()
            beat = None


def wave(folder: Path, count: int) -> None:
    """Bring nodes of fake-hardware to active together and print what each cost."""
    (folder / "daemon").mkdir()
    daemon = Daemon(folder / "daemon", sync_power_state_interval=0)
    try:
        idle = memory(daemon.process.pid).pss
        tell(f"{idle:7.1f} MB idle, all processes (PSS)")
        before, begin = cpu(daemon.process.pid), time.time()
        bodies = [{"driver": "fake-hardware", "name": f"n{number}"} for number in range(count)]
        uuids = [daemon.done("POST", "/v1/nodes", body)["uuid"] for body in bodies]
        for target, state in (("manage", "manageable"), ("provide", "available"), ("active", "active")):
            for uuid in uuids:
                daemon.done("PUT", f"/v1/nodes/{uuid}/states/provision", {"target": target})
            until(partial(all_in, daemon, state, count), LIMIT, f"{count} nodes in {state}")
        tell(f"{time.time() - begin:7.1f} s  wall for {count} nodes from enroll to active")
        tell(f"{(cpu(daemon.process.pid) - before) / count:7.3f} s  CPU for each")
    finally:
        daemon.stop()


def all_in(daemon: Daemon, state: str, count: int) -> bool:
    """Tell whether all nodes are in a state."""
    time.sleep(0.5)
    return len(daemon.done("GET", f"/v1/nodes?provision_state={state}&fields=uuid")["nodes"]) == count


def tell(line: str) -> None:
    """Write one line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Measure what the command line asks for."""
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    with tempfile.TemporaryDirectory() as name:
        match what:
            case "machine":
                machine(Path(name))
            case "wave":
                wave(Path(name), min(int(sys.argv[2]) if len(sys.argv) > 2 else 50, MOST_NODES))
            case _:
                sys.exit(__doc__)


if __name__ == "__main__":
    main()
