# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A method of a driver with the real runner and the tasks of a real role."""

from __future__ import annotations

from pathlib import Path

from rackwright import catalog
from rackwright.domain.verbs import Interface, Phase
from rackwright.engine import driver_calls
from rackwright.engine.conductor import Conductor
from rackwright.runner.base import Runner
from rackwright.store import driver_call as calls
from rackwright.store.session import reading, writing
from tests.unit.server.engine.engine_house import EngineHouse
from tests.unit.server.runner.runner_house import runner, until


class RealHouse(EngineHouse):
    """An engine whose conductor starts real playbooks."""

    def run_for_real(self, real: Runner) -> None:
        self.conductor.drop()
        self.conductor = Conductor(self.world, real)
        self.conductor.start()


def test_a_step_of_a_role_runs_once_for_a_driver_and_answers(tmp_path: Path) -> None:
    offer = catalog.load(enabled=["fake-hardware"])
    house = RealHouse(tmp_path, catalog=offer)
    real = runner(tmp_path / "real", 0)
    house.run_for_real(real)
    steps = offer.offered({Interface.VENDOR: "fake"}, Phase.MANAGEMENT)
    (step,) = (each for each in steps if each.name == "third_method_sync")
    with writing(house.world.database) as session:
        uuid = driver_calls.plan("fake-hardware", step, {"bar": "meow"}, session=session).uuid
        session.commit()

    def ended() -> bool:
        house.conductor.tick()
        return house.conductor.idle()

    house.conductor.tick()
    until(ended)
    with reading(house.world.database) as session:
        call = calls.get(uuid, session=session)
    assert call is not None and (call.status, call.facts, call.error) == ("done", {"result": True}, None)
    house.close()
    real.close()
