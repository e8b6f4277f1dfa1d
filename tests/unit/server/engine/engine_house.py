# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""An engine on a real database, with a clock that tests turn and steps that tests play."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlmodel import col, select

from rackwright.catalog import Catalog, HardwareType, Implementation
from rackwright.domain.outcomes import Outcome, WaitFor
from rackwright.domain.steps import Stage, Step, StepRequest
from rackwright.domain.verbs import Interface, Phase
from rackwright.engine import operations, plan
from rackwright.engine.conductor import Conductor
from rackwright.engine.world import World
from rackwright.runner.fake import FakeRunner
from rackwright.settings import Settings
from rackwright.store import node as nodes
from rackwright.store.node import Node
from rackwright.store.operation import Operation
from rackwright.store.sealing import Sealer, read_key
from rackwright.store.session import open_engine, reading, writing
from tests.unit.server.fresh_database import lay_in

HOST = "conductor-1.example"
ROLE = "rackwright.metal.fake"
PHASES = {
    "manage": Phase.VERIFY,
    "inspect": Phase.INSPECT,
    "provide": Phase.CLEAN,
    "clean": Phase.CLEAN,
    "active": Phase.DEPLOY,
    "rebuild": Phase.DEPLOY,
    "deleted": Phase.UNDEPLOY,
    "adopt": Phase.ADOPT,
    "rescue": Phase.RESCUE,
    "unrescue": Phase.UNRESCUE,
    "service": Phase.SERVICE,
}

_I, _P = Interface, Phase


def step(phase: Phase, interface: Interface, name: str, priority: int = 0, **more: Any) -> Step:
    """Return a step of the fake role; batched and free of the ramdisk unless told otherwise."""
    given = {"batched": True, "needs_ramdisk": False, **more}
    return Step(name=name, phase=phase, interface=interface, priority=priority, role=ROLE, **given)


STEPS = (
    step(_P.VERIFY, _I.POWER, "read_power_state", 100),
    step(_P.INSPECT, _I.INSPECT, "await_inventory", 100, abortable=True),
    step(_P.INSPECT, _I.BOOT, "clean_up_ramdisk", 10, stage=Stage.FINISH, on_failure=True),
    step(_P.CLEAN, _I.BOOT, "boot_ramdisk", 50, stage=Stage.PREPARE, needs_ramdisk=True),
    step(_P.CLEAN, _I.DEPLOY, "agent_steps", 40, stage=Stage.PREPARE, needs_ramdisk=True, discovers=True),
    step(_P.CLEAN, _I.BIOS, "factory_reset", abortable=True),
    step(_P.CLEAN, _I.RAID, "create_configuration"),
    step(_P.CLEAN, _I.BOOT, "clean_up_ramdisk", 10, stage=Stage.FINISH, needs_ramdisk=True, on_failure=True),
    step(_P.DEPLOY, _I.DEPLOY, "deploy", 100),
    step(_P.DEPLOY, _I.DEPLOY, "write_image", 80),
    step(_P.DEPLOY, _I.DEPLOY, "boot_instance", 20),
    step(_P.DEPLOY, _I.DEPLOY, "collect_logs", 90, stage=Stage.FAILURE),
    step(_P.DEPLOY, _I.BOOT, "clean_up_ramdisk", 10, stage=Stage.FAILURE),
    step(_P.UNDEPLOY, _I.POWER, "power_off", 100),
    step(_P.RESCUE, _I.RESCUE, "rescue", 100),
    step(_P.UNRESCUE, _I.RESCUE, "unrescue", 100),
    step(_P.SERVICE, _I.BIOS, "apply_configuration", abortable=True),
    step(_P.POWER, _I.POWER, "set_power_state"),
    step(_P.POWER, _I.POWER, "read_power_state"),
    step(_P.MANAGEMENT, _I.MANAGEMENT, "get_boot_device"),
)


class Clock:
    """A clock that stands unless it is turned; it starts at the true time, which plan.py writes down."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        """Return the time."""
        return datetime.now(UTC) + self.ahead

    def turn(self, seconds: float) -> None:
        """Let time pass."""
        self.ahead += timedelta(seconds=seconds)


def offer(steps: Iterable[Step] = STEPS) -> Catalog:
    """Return a catalog with one hardware type whose implementations are all called fake."""
    listed = tuple(steps)
    implementations = {
        (kind, "fake"): Implementation(kind, "fake", tuple(each for each in listed if each.interface is kind))
        for kind in Interface
    }
    types = {"fake-hardware": HardwareType("fake-hardware", dict.fromkeys(Interface, ("fake",)))}
    return Catalog((), types, implementations)


class EngineHouse:
    """A conductor with everything around it."""

    def __init__(
        self, folder: Path, *, steps: Iterable[Step] = STEPS, catalog: Catalog | None = None, **settings: Any
    ) -> None:
        self.clock = Clock()
        self.played: list[tuple[str, str]] = []
        self.script: dict[str, Any] = {}
        given: dict[str, Any] = {"state_dir": folder, "conductor_host": HOST, "poll_interval": 0.02, "run_slots": 4}
        self.settings = Settings(**(given | settings))
        (folder / "http" / "boot").mkdir(parents=True)
        lay_in(folder)
        engine = open_engine(self.settings.database)
        sealer = Sealer(read_key(self.settings.secret_key_file))
        self.world = World(engine, self.settings, catalog or offer(steps), sealer, self.clock)
        self.runner = FakeRunner(self._play)
        self.conductor = Conductor(self.world, self.runner)
        self.conductor.start()

    def close(self) -> None:
        """End the conductor."""
        self.conductor.finish()
        self.world.database.dispose()

    def reopen(self) -> None:
        """Let another conductor take over, as after a death of the first."""
        self.conductor.drop()
        self.conductor = Conductor(self.world, self.runner)
        self.conductor.start()

    def _play(self, node: str, step: Mapping[str, Any]) -> Outcome | None:
        name = f"{step['interface']}.{step['name']}"
        self.played.append((node, name))
        outcome = self.script.get(f"{node} {name}", self.script.get(name))
        return outcome(node) if callable(outcome) else outcome

    def node(self, **columns: Any) -> str:
        """Store a node; return its UUID."""
        with writing(self.world.database) as session:
            row = Node(**{"driver": "fake-hardware", **columns})
            session.add(row)
            session.commit()
            return row.uuid

    def look(self, uuid: str) -> Node:
        """Return the node as it is now."""
        with reading(self.world.database) as session:
            return nodes.get(uuid, session=session)

    def change(self, uuid: str, **columns: Any) -> None:
        """Change columns of a node."""
        with writing(self.world.database) as session:
            row = nodes.get(uuid, session=session)
            for name, value in columns.items():
                setattr(row, name, value)
            session.add(row)
            session.commit()

    def verb(self, uuid: str, verb: str, *steps: StepRequest, **wish: Any) -> Operation:
        """Start a phase as the API would."""
        with writing(self.world.database) as session:
            started = plan.start_phase(
                session=session,
                settings=self.settings,
                catalog=self.world.catalog,
                sealer=self.world.sealer,
                node=nodes.get(uuid, session=session),
                phase=PHASES[verb],
                verb=verb,
                user_steps=steps,
                **wish,
            )
            session.commit()
            return started

    def within(self, uuid: str, do: Callable[..., Any], **more: Any) -> Any:
        """Call a function of the plan with a node, in a transaction of its own."""
        with writing(self.world.database) as session:
            found = do(session=session, node=nodes.get(uuid, session=session), **more)
            session.commit()
            return found

    def beat(self, uuid: str) -> None:
        """Let the agent of a node send a heartbeat."""
        with writing(self.world.database) as session:
            row = nodes.get(uuid, session=session)
            at = self.clock().replace(tzinfo=None).isoformat()
            row.driver_internal_info = {
                **row.driver_internal_info,
                "agent_url": "https://192.0.2.1:9999",
                "agent_last_heartbeat": at,
            }
            operations.wake(session, row, WaitFor.AGENT)
            session.add(row)
            session.commit()

    def operation(self, uuid: str) -> Operation:
        """Return the newest operation of a node."""
        with reading(self.world.database) as session:
            row = nodes.get(uuid, session=session)
            mine = select(Operation).where(col(Operation.node_id) == row.id).order_by(col(Operation.id).desc())
            return session.exec(mine.limit(1)).one()

    def settle(self, limit: float = 20.0) -> None:
        """Let the conductor work until nothing goes on without the clock or an agent."""
        end, calm = time.monotonic() + limit, 0
        while calm < 3:
            assert time.monotonic() < end, "the conductor does not come to rest"
            self.conductor.tick()
            calm = calm + 1 if self.conductor.idle() else 0
            time.sleep(0.005)

    def steps_of(self, uuid: str) -> list[str]:
        """Return the steps that were played for a node, in their order."""
        return [name for node, name in self.played if node == uuid]
