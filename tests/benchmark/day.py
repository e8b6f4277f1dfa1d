# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Let a day go by in minutes, and fail when something has grown that must not grow.

Run it as ``python -m tests.benchmark.day [nodes] [hours] [sqlite|postgresql]``, from the root of the tree. Linux only.

The clock is turned; conductors, database and files are real. Playbooks are played without Ansible, but for one power
sync in each hour, which really asks simulated BMCs. Machines are deployed and undeployed, agents stay silent, BMCs fail
and recover, runs die, conductors die and are taken over. How much may be kept is in SETTINGS; the bounds are those of
docs/howto/many-nodes.md, "What is kept".
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlmodel import col, select

from rackwright.catalog import Catalog
from rackwright.catalog.locate import locate_ours
from rackwright.domain.outcomes import Failed, Learned, Outcome, WaitFor, Waiting
from rackwright.domain.verbs import Interface
from rackwright.engine import membership, recovery
from rackwright.runner.ansible import AnsibleRunner
from rackwright.runner.base import Listener, PlaybookRun, RunResult
from rackwright.runner.fake import Death, FakeRunner
from rackwright.store import conductor as conductors
from rackwright.store.columns import new_uuid, now
from rackwright.store.driver_call import DriverCall
from rackwright.store.node import Node
from rackwright.store.session import reading, writing
from tests.benchmark.levels import Levels, faults, measure, table
from tests.integration.server.simulated_house import Rack, running
from tests.unit.server import databases
from tests.unit.server.engine.engine_house import STEPS, EngineHouse, offer

SETTINGS: dict[str, Any] = {
    "node_operations_max_entries": 4,
    "node_history_max_entries": 10,
    "deploy_logs_max_files": 5,
}
HOUR = 3600
SYNC = 121
"""Seconds after which a power sync is due."""

TURNS = 60
"""How often the clock is turned in an hour."""

WARM_UP = 6
"""Hours in which everything may grow: by then each kind of work was done, and what is to be kept has been filled."""

TOGETHER = 5
"""Machines that are deployed in an hour, and undeployed in the next."""

OFF = "power off"


class Player:
    """Plays the steps of all nodes, and leaves behind what real runs do."""

    def __init__(self) -> None:
        self.silent: set[str] = set()
        """BMCs that do not answer."""
        self.drifted: set[str] = set()
        """Machines that somebody has switched on by hand."""
        self.deadly: set[str] = set()
        """Nodes whose next run dies."""
        self._booted: set[str] = set()

    def play(self, house: EngineHouse, node: str, step: Mapping[str, Any]) -> Outcome | None:
        """Take a step."""
        folder = house.settings.state_dir
        match f"{step['interface']}.{step['name']}":
            case "power.read_power_state":
                return self._look(node)
            case "power.set_power_state":
                self.drifted.discard(node)
                return Learned({"power_state": OFF})
            case "boot.boot_ramdisk" | "deploy.write_image" if node not in self._booted:
                self._booted.add(node)
                _leave(folder / "http" / "boot" / f"{house.operation(node).uuid}.iso")
                return Waiting(WaitFor.AGENT)
            case "deploy.deploy" if node in self.deadly:
                self.deadly.discard(node)
                _leave(folder / "runs" / str(house.operation(node).run_id) / "stdout")
                raise Death("it was killed")
            case "deploy.collect_logs":
                _leave(folder / "logs" / "deploy" / f"{node}_{house.operation(node).uuid}.tar.gz")
        self._booted.discard(node)
        return None

    def _look(self, node: str) -> Outcome:
        if node in self.silent:
            return Failed("", "no route to host")
        return Learned({"power_state": "power on" if node in self.drifted else OFF})


def _leave(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()


class Mixed:
    """A runner that plays, but for looks while ``real`` is set: Ansible does them."""

    def __init__(self, played: FakeRunner, ansible: AnsibleRunner | None) -> None:
        self.played, self.ansible, self.real = played, ansible, False
        self.looks = 0

    def run(self, run: PlaybookRun, listener: Listener) -> RunResult:
        """Carry out a run."""
        if self.real and self.ansible and run.playbook.endswith("power_sync"):
            self.looks += 1
            return self.ansible.run(run, listener)
        return self.played.run(run, listener)


class Uptime:
    """The seconds since the host started, turned by hand: never behind the true ones, by which tasks end themselves."""

    def __init__(self) -> None:
        self.seconds = time.clock_gettime(time.CLOCK_BOOTTIME)

    def __call__(self) -> float:
        """Return them."""
        return self.seconds


class Conductors:
    """One conductor with SQLite, two where there is a URL of a shared database; all turn their clocks together."""

    def __init__(self, folder: Path, url: str, player: Player, *, real: bool) -> None:
        self.uptime = Uptime()
        membership._uptime = self.uptime
        self.houses = [self._house(folder / name, url, player, real) for name in ("a", "b")[: 2 if url else 1]]

    def _house(self, folder: Path, url: str, player: Player, real: bool) -> EngineHouse:
        house = EngineHouse(folder, catalog=_offer(), database_url=url, conductor_host=folder.name, **SETTINGS)
        house.runner.play = lambda node, step: player.play(house, node, step)
        ansible = _ansible(house.settings.state_dir) if real else None
        house.runner = Mixed(house.runner, ansible)  # type: ignore[assignment]  # it obeys the protocol of runners
        house.reopen()
        return house

    @property
    def first(self) -> EngineHouse:
        """Return the one that is asked about nodes."""
        return self.houses[0]

    def turn(self, seconds: float) -> None:
        """Let time pass, and everybody do what is due."""
        self.uptime.seconds += seconds
        for house in self.houses:
            house.clock.turn(seconds)
        for house in self.houses:
            house.settle(120)
            house.played.clear()
            runner: Any = house.runner
            runner.played.runs.clear()

    def real(self, wanted: bool) -> int:
        """Let looks be real from now on, or no more; return how many were."""
        runners: list[Any] = [house.runner for house in self.houses]
        for runner in runners:
            runner.real = wanted
        return sum(runner.looks for runner in runners)

    def kill_one(self) -> None:
        """Let a conductor die; another takes over, or it comes back at once where it is alone."""
        dead = self.houses[-1]
        dead.conductor.drop()
        others = self.houses[:-1]
        if others:
            self._silence(dead)
            for _ in range(5):
                self.uptime.seconds += SYNC
                for house in others:
                    house.clock.turn(SYNC)
                    house.settle(120)
            dead.clock.ahead = self.first.clock.ahead
        dead.conductor = type(dead.conductor)(dead.world, dead.runner)
        dead.conductor.start()

    def _silence(self, dead: EngineHouse) -> None:
        """Make it long ago that a conductor was seen."""
        long_ago = now() - timedelta(seconds=2 * dead.settings.heartbeat_timeout)
        with writing(dead.world.database) as session:
            conductors.heartbeat(dead.settings.conductor_host, session=session, at=long_ago)
            session.commit()

    def close(self) -> None:
        """End them."""
        for house in self.houses:
            runner: Any = house.runner
            house.close()
            if runner.ansible:
                runner.ansible.close()


def _offer() -> Catalog:
    """Return the fake offer, with a real role for the looks."""
    real = {"role": "rackwright.metal.power", "tasks": "read_power_state"}
    steps = [step.model_copy(update=real if step.name == "read_power_state" else {}) for step in STEPS]
    catalog = offer(steps)
    power = Interface.POWER, "fake"
    known = {**catalog.implementations, power: replace(catalog.implementations[power], protocol="redfish")}
    return Catalog(catalog.collections, catalog.hardware_types, known)


def _ansible(state: Path) -> AnsibleRunner:
    root = locate_ours(None).root
    return AnsibleRunner(
        runs=state / "runs", home=state / "ansible", roots=(root,), timeout=600, fork_server_idle=60, forks=5
    )


class Day:
    """The work of a day, hour by hour."""

    def __init__(
        self,
        conductors: Conductors,
        player: Player,
        machines: Sequence[Mapping[str, Any]],
        *,
        turns: int,
        rack: Rack | None,
    ) -> None:
        self._conductors, self._player, self._rack, self._turns = conductors, player, rack, turns
        self._house = conductors.first
        self._passing: str | None = None
        self._known = [self._node(machine) for machine in machines]
        self._deployed: list[str] = []

    def _node(self, machine: Mapping[str, Any]) -> str:
        info = {"redfish_address": machine.get("redfish"), "redfish_system_id": machine.get("system")}
        account = {f"redfish_{name}": self._rack.facts[name] for name in ("username", "password")} if self._rack else {}
        return self._house.node(
            driver_info={**info, **account}, provision_state="available", power_state=OFF, instance_uuid=None
        )

    def hour(self, number: int) -> dict[str, float]:
        """Let an hour go by, and return what there is at its end."""
        looks = 0
        self._come_and_go()
        self._deploy()
        for index in range(self._turns):
            if index == self._turns // 2:
                looks = self._look_really()
                self._player.drifted.add(self._known[-1])
            self._beat()
            self._conductors.turn(HOUR / self._turns)
        self._player.silent ^= {self._known[-2]} if number % 3 == 1 else set()
        if number % 2:
            self._conductors.kill_one()
        self._conductors.turn(0)
        found = measure(self._house.settings.state_dir.parent, self._house.world.database)
        sessions = {"sessions at BMCs": self._rack.sessions(), "looks of Ansible": looks} if self._rack else {}
        return found | sessions | {f"nodes that are {state}": count for state, count in self._states().items()}

    def _come_and_go(self) -> None:
        """Remove the node that came an hour ago, and let another one come; call a method whose answer nobody reads."""
        with writing(self._house.world.database) as session:
            if self._passing:
                session.delete(session.exec(select(Node).where(col(Node.uuid) == self._passing)).one())
            session.add(DriverCall(driver="fake-hardware", status="done", created_at=self._house.clock()))
            session.commit()
        self._passing = self._house.node(provision_state="manageable", power_state=OFF)
        self._player.silent.add(self._passing)

    def _deploy(self) -> None:
        """Undeploy what was deployed an hour ago, also what failed, and deploy others; the first run of one dies."""
        for uuid in self._deployed:
            self._house.change(uuid, instance_uuid=None)
            self._house.verb(uuid, "deleted")
        resting = [uuid for uuid in self._at_rest("available") if uuid not in self._deployed]
        self._deployed = sorted(resting, key=self._known.index)[:TOGETHER]
        self._player.deadly |= set(self._deployed[:1])
        for uuid in self._deployed:
            self._house.change(uuid, instance_uuid=new_uuid())
            self._house.verb(uuid, "active")

    def _look_really(self) -> int:
        """Have the next power sync carried out by Ansible; return how many of its runs there were until now."""
        if self._rack is None:
            return 0
        self._conductors.real(True)
        self._conductors.turn(SYNC)
        return self._conductors.real(False)

    def _beat(self) -> None:
        """Let agents call, but for that of the last machine that is deployed, which stays silent for good."""
        silent = self._deployed[-1:]
        for state in ("wait call-back", "clean wait"):
            for uuid in self._in(state):
                if uuid not in silent or state == "clean wait":
                    self._house.beat(uuid)

    def _at_rest(self, state: str) -> list[str]:
        return [uuid for uuid in self._in(state) if uuid in self._known]

    def _in(self, state: str) -> Sequence[str]:
        free = col(Node.reservation).is_(None), ~col(Node.maintenance)
        with reading(self._house.world.database) as session:
            return session.exec(select(Node.uuid).where(col(Node.provision_state) == state, *free)).all()

    def _states(self) -> Mapping[str, int]:
        with reading(self._house.world.database) as session:
            return Counter(session.exec(select(Node.provision_state)).all())


def bounds(nodes: int, conductors: int) -> Levels:
    """Return what is documented, for SETTINGS."""
    kept = (nodes + 1) * SETTINGS["node_operations_max_entries"]
    of_an_hour = 6 * TOGETHER
    found: dict[str, float] = {
        "rows of conductor": conductors,
        "rows of driver_call": 25,
        "rows of node_history": (nodes + 1) * SETTINGS["node_history_max_entries"],
        "rows of operation": kept + of_an_hour,
        "sessions at BMCs": 0,
        "looks of Ansible": float("inf"),
        "nodes that are": float("inf"),
    }
    for name in ("a", "b")[:conductors]:
        found[f"files in {name}/runs"] = recovery.KEPT_RUNS + of_an_hour
        found[f"files in {name}/logs/deploy"] = SETTINGS["deploy_logs_max_files"] + of_an_hour
        found[f"files in {name}/http/boot"] = of_an_hour
    return found


@contextlib.contextmanager
def day(folder: Path, nodes: int, *, url: str = "", rack: Rack | None = None, turns: int = TURNS) -> Iterator[Day]:
    """Give a day with its conductors; with a ``rack`` of as many machines, its BMCs are asked once an hour."""
    player = Player()
    there = Conductors(folder, url, player, real=rack is not None)
    try:
        yield Day(there, player, rack.machines if rack else [{}] * nodes, turns=turns, rack=rack)
    finally:
        there.close()


def main(nodes: int = 200, hours: int = 24, backend: str = "sqlite") -> int:
    """Let the hours go by, and tell."""
    url = "" if backend == "sqlite" else databases.emptied(backend)
    levels: list[Levels] = []
    with (
        tempfile.TemporaryDirectory() as name,
        running(Path(name, "rack"), nodes) as rack,
        day(Path(name, "conductors"), nodes, url=url, rack=rack) as work,
    ):
        for number in range(hours):
            levels.append(work.hour(number))
            sys.stdout.write(f"hour {number + 1} of {hours}: {levels[-1]['memory, MiB']} MiB\n")
            sys.stdout.flush()
    found = faults(levels, bounds(nodes, 2 if url else 1), warm_up=min(WARM_UP, hours // 2))
    sys.stdout.write("\n".join([*table(levels), *(f"GROWN: {fault}" for fault in found)]) + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    given: Any = [int(word) for word in sys.argv[1:3]]
    raise SystemExit(main(*given, *sys.argv[3:4]))
