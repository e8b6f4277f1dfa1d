# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Methods of drivers: a step of a vendor interface that is run for no node, and its answer.

Its run is like that of any other step. The host of it is the call: its name is the call's UUID, and ``node`` tells the
driver.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from sqlmodel import Session

from rackwright.domain.outcomes import Failed, Learned, Waiting, cut, failure_text, parse
from rackwright.domain.steps import Step
from rackwright.domain.verbs import Phase
from rackwright.engine import composition
from rackwright.engine.live import LiveRun
from rackwright.engine.world import World
from rackwright.runner.base import RunResult, RunStatus
from rackwright.store import driver_call as calls
from rackwright.store.columns import new_uuid
from rackwright.store.driver_call import DriverCall
from rackwright.store.operation import OperationStatus
from rackwright.store.session import reading, writing

logger = logging.getLogger(__name__)

KEPT = timedelta(days=1)
"""How long a call is kept whose answer nobody has read."""

_BROKEN_OFF = "the conductor was ended in the middle of it"


def plan(driver: str, step: Step, args: Mapping[str, Any], *, session: Session) -> DriverCall:
    """Write down that a method is to be called; the commit is the caller's."""
    (dumped,) = composition.dumped((step.model_copy(update={"args": dict(args)}),))
    call = DriverCall(driver=driver, step=dumped)
    session.add(call)
    return call


class DriverCalls:
    """Takes up the calls of the drivers that a conductor serves."""

    def __init__(self, world: World) -> None:
        self._world = world

    def recover(self) -> None:
        """Fail what this conductor had taken up before it was started anew: how far it came is not known."""
        with writing(self._world.database) as session:
            for call in calls.running(self._world.settings.conductor_host, session=session):
                _fail(call, _BROKEN_OFF, "Look at what it has done; then call it again.")
                session.add(call)
            session.commit()

    def work(self, most: int) -> Iterator[tuple[LiveRun, Heard, Callable[[RunResult], None]]]:
        """Take up at most this many calls; yield the run of each, who listens to it, and what is done at its end."""
        for call in self._taken(max(most, 0)):
            run = _run(call)
            heard = Heard(run)
            yield run, heard, partial(self._ended, call.uuid, heard)

    def _taken(self, most: int) -> list[DriverCall]:
        host = self._world.settings.conductor_host
        with reading(self._world.database) as session:
            waiting = calls.ready(list(self._world.catalog.hardware_types), session=session)[:most]
        if not waiting:
            return []
        with writing(self._world.database) as session:
            calls.forget(self._world.clock() - KEPT, session=session)
            taken = [call for call in waiting if calls.claim(call, host, session=session)]
            session.commit()
        return taken

    def _ended(self, uuid: str, heard: Heard, result: RunResult) -> None:
        with writing(self._world.database) as session:
            call = calls.get(uuid, session=session)
            if call is not None:
                _conclude(call, heard, result)
                session.add(call)
                session.commit()


def _run(call: DriverCall) -> LiveRun:
    step = Step.model_validate(call.step)
    told = {
        "node": {"uuid": call.uuid, "name": None, "driver": call.driver},
        "variables": {step.variables[name]: value for name, value in step.args.items() if name in step.variables},
        "ports": [],
        "phase": Phase.MANAGEMENT.value,
        "step": {"name": step.name, "interface": step.interface.value, "index": 0, "args": step.args},
        "facts": {},
    }
    return LiveRun(new_uuid(), Phase.MANAGEMENT, (step,), 0, {call.uuid: None}, contexts={call.uuid: told})


class Heard:
    """Listens to the run of a call, and keeps what it found out."""

    def __init__(self, run: LiveRun) -> None:
        self.facts: dict[str, Any] = {}
        self.failed: Failed | None = None
        self._run = run

    def lines(self, said: Sequence[Mapping[str, Any]]) -> None:
        """Take lines."""
        for report in map(parse, said):
            match report.outcome:
                case Learned(facts):
                    self.facts |= facts
                case Failed() as failed:
                    self.failed = failed
                case Waiting():
                    self.failed = Failed("", "it waits, which no method of a driver can do", "Correct the role.")

    def reached(self, mark: str) -> None:
        """Let the door answer that waits for this mark."""
        self._run.reached(mark)

    def cancelled(self) -> bool:
        """Tell whether the run is to be ended."""
        return self._run.cancelled.is_set()


def _conclude(call: DriverCall, heard: Heard, result: RunResult) -> None:
    failed = heard.failed
    if failed is not None:
        call.facts = {"refused": failed.refused}
        _fail(call, failed.cause, failed.action)
    elif result.status is not RunStatus.FINISHED or result.failed:
        cause = result.cause or "; ".join(result.failed.values()) or _BROKEN_OFF
        _fail(call, cause, "Correct the cause, then call the method again.")
    else:
        call.status, call.facts = OperationStatus.DONE.value, heard.facts


def _fail(call: DriverCall, cause: str, action: str) -> None:
    name = Step.model_validate(call.step).key
    call.status, call.error = OperationStatus.FAILED.value, failure_text(name, cut(cause, 2048), action)
    logger.warning("A method of a driver failed", extra={"driver": call.driver, "step": name, "cause": call.error})
