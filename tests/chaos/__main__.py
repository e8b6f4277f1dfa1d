# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Deploy simulated machines while processes are killed or networks cut, and tell what went wrong.

Linux only; ``cut`` needs root. The simulator is the one thing that nobody disturbs.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.chaos import judgement
from tests.chaos.course import Course
from tests.chaos.disturbances import KINDS, SHARED, Cuts, Disturbance, Kills, Storm
from tests.chaos.network import Wires
from tests.chaos.site import Site
from tests.integration.server.simulated_house import Data, Rack, running
from tests.unit.server import databases

TIMES = ("--boot-seconds=1.5", "--step-seconds=0.3", "--power-seconds=0.05", "--beat-seconds=0.5")
_SHARES = {"unavailable": 3, "connection-reset": 2, "session-expired": 2, "answer-lost": 2, "time-out": 1}
"""How faults share what ``--faults`` gives, in tenths."""
_PAUSE, _PROGRESS = 1.0, 30.0  # seconds


@contextlib.contextmanager
def disturbed(options: argparse.Namespace, folder: Path, rack: Rack) -> Iterator[tuple[Site, Disturbance]]:
    """Have a site, and what disturbs it."""
    chance = random.Random(options.seed)
    if options.what == "cut":
        wires = options.wires
        wires.server.recreate()
        site = Site(folder, rack, hosts=options.conductors, server=wires.server, url=wires.url)
        yield site, Cuts(chance, wires, options.seconds)
    elif options.database == "sqlite":
        yield Site(folder, rack), Kills(chance, options.kinds or KINDS)
    else:
        server = databases.postgresql()
        url = server.url(databases.NAME)
        try:
            site = Site(folder, rack, hosts=options.conductors, server=server, url=lambda _: url)
            yield site, Kills(chance, options.kinds or SHARED)
        finally:
            server.stop()


def play(options: argparse.Namespace, folder: Path) -> list[str]:
    """Play one round and return what is wrong, a sentence each."""
    times = (*TIMES, f"--session-seconds={judgement.SESSION}", f"--seed={options.seed}")
    with running(folder / "rack", options.machines, *times) as rack:
        rack.faults(*faults(options.faults))
        with disturbed(options, folder / "site", rack) as (site, disturbance):
            try:
                with Storm(site, disturbance, options.every).raging() as storm:
                    texts = deploy(Course(site, rack.machines), storm, options.limit)
                    rack.faults()
                    texts += judgement.while_it_runs(site, rack)
            finally:
                site.stop()
            return texts + judgement.after_its_end(site)


def deploy(course: Course, storm: Storm, limit: float) -> list[str]:
    """Bring all machines to active; return what failed on the way, and those that did not get there."""
    begin = told = time.monotonic()
    while not (done := course.step()) and time.monotonic() - begin < limit:
        if time.monotonic() - told > _PROGRESS:
            told = time.monotonic()
            tell(f"  {told - begin:.0f} s: {course.states}")
        time.sleep(_PAUSE)
    storm.calm()
    tell(f"{course.states} after {time.monotonic() - begin:.0f} s; {dict(sorted(storm.count.items()))}")
    return course.failures + ([] if done else [f"not all are active after {limit:.0f} s: {course.states}"])


def faults(percent: float) -> Sequence[Data]:
    """Return the faults that strike so many requests in a hundred."""
    return [
        {"fault": name, "percent": share * percent / 10, "seconds": 2 if name == "time-out" else None}
        for name, share in _SHARES.items()
        if percent
    ]


def tell(text: str) -> None:
    """Print at once."""
    print(text, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    disturbances = parser.add_subparsers(dest="what", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--machines", type=int, default=20)
    common.add_argument("--rounds", type=int, default=1)
    common.add_argument("--faults", type=float, default=0, metavar="PERCENT", help="of the requests to BMCs that fail")
    common.add_argument("--conductors", type=int, default=3, help="hosts with PostgreSQL")
    common.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    common.add_argument("--limit", type=float, default=1800, metavar="SECONDS", help="longest time of a round")
    kill = disturbances.add_parser("kill", parents=[common], help="kill -9 of any process")
    kill.add_argument("--every", type=float, default=5, metavar="SECONDS")
    kill.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    kill.add_argument("--kinds", nargs="*", default=(), help="kinds of processes to kill; default: all")
    cut = disturbances.add_parser("cut", parents=[common], help="cut the way of a host to the database")
    cut.add_argument("--every", type=float, default=15, metavar="SECONDS", help="from one cut's end to the next")
    cut.add_argument("--seconds", type=float, default=20, help="length of a cut")
    return parser.parse_args()


def main() -> int:
    """Play the rounds; return 1 when anything was wrong, whose folder then stays."""
    options = _options()
    options.wires = Wires(options.conductors) if options.what == "cut" else None
    wrong = 0
    for number in range(1, options.rounds + 1):
        tell(f"round {number}: {options.what} with --seed {options.seed}")
        folder = Path(tempfile.mkdtemp(prefix="chaos-"))
        texts = play(options, folder)
        wrong += bool(texts)
        for text in texts:
            tell(f"  {text}")
        if texts:
            tell(f"  histories, logs and database: {folder}")
        else:
            shutil.rmtree(folder)
        options.seed += 1
    if options.wires:
        options.wires.server.stop()
    tell(f"{wrong} of {options.rounds} rounds went wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
