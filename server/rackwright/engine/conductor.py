# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The conductor process: finds what is ready, starts runs, keeps the clock.

One thread looks for work; each run has a thread of its own. Nothing is kept in memory that the next conductor would
miss.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlmodel import Session

from rackwright.domain.errors import Unavailable
from rackwright.engine import operations, power_news, pruning, recovery, takeover, timeouts
from rackwright.engine.admission import Admission
from rackwright.engine.allocation import Allocator
from rackwright.engine.door import Door
from rackwright.engine.driver_calls import DriverCalls
from rackwright.engine.duty import Duty
from rackwright.engine.lease import LeaseWatch
from rackwright.engine.live import LiveRun, LiveRuns
from rackwright.engine.looks import LookQueue, Looks
from rackwright.engine.membership import Fenced
from rackwright.engine.power_sync import PLAYBOOK, PowerSync
from rackwright.engine.progress import Progress
from rackwright.engine.readiness import Readiness
from rackwright.engine.rests import Rests
from rackwright.engine.steadily import steadily
from rackwright.engine.subjects import Subjects
from rackwright.engine.waves import Wave
from rackwright.engine.world import World
from rackwright.runner.base import Listener, PlaybookRun, Runner, RunResult, RunStatus
from rackwright.store.ailment import ailment
from rackwright.store.columns import new_uuid
from rackwright.store.outage import report
from rackwright.store.session import UNAVAILABLE, reading
from rackwright.store.work import Changes, all_locked, to_do
from rackwright.telemetry import surroundings
from rackwright.telemetry.facts import about
from rackwright.telemetry.numbers import RUN_SECONDS, WAVE_NODES

logger = logging.getLogger(__name__)

AFTER_ERROR = 2.0
"""Seconds of rest after a look that failed, as when the disk is full."""


class Conductor:
    """Owns the nodes of one host."""

    def __init__(self, world: World, runner: Runner) -> None:
        """Take the parts; nothing happens before ``start``."""
        self._world = world
        self._runner = runner
        self._runs = LiveRuns()
        self._progress = Progress(world)
        self._readiness = Readiness(world)
        self._admission = Admission(world, self._runs)
        self._power = PowerSync(world)
        self._allocator = Allocator(world, self._power)
        self._calls = DriverCalls(world)
        self._subjects = Subjects(world, self._runs)
        self._door = Door(self.door_path, self._answer)
        self._changes = Changes(world.database)
        self._watch = LeaseWatch(world.membership, self._runs)
        self._news = threading.Event()
        self._looks = LookQueue(self._power, world.settings)
        self._next_look: datetime | None = None
        settings = world.settings
        self._pulse = Duty(settings.heartbeat_interval, self._heartbeat)
        self._check = Duty(settings.check_provision_state_interval, self._check_waits)
        self._duties = [
            self._pulse,
            self._check,
            Duty(settings.cache_clean_up_interval, lambda: pruning.prune(self._world, self._runs)),
            Duty(settings.sync_power_state_interval, lambda: self._look(recovering=False)),
            Duty(settings.power_failure_recovery_interval, lambda: self._look(recovering=True)),
        ]

    @property
    def door_path(self) -> Path:
        """Return the path of the socket that runs ask at."""
        return self._world.settings.state_dir.absolute() / "door.sock"

    def _answer(self, run: str, step: int | None, mark: str | None) -> dict[str, Any]:
        with _in_our_words():
            return steadily(lambda: self._subjects.answer(run, step, mark), self._world)

    def start(self) -> None:
        """Register, take up what was left, open the door."""
        self._join()
        self._door.open()
        self._watch.start()
        for duty in self._duties:
            duty.begin(self._world.clock())

    def _join(self) -> None:
        self._world.membership.register(list(self._world.catalog.hardware_types))
        recovery.recover(self._world)
        self._calls.recover()
        power_news.tell_again(self._world)

    def serve(self, stop: threading.Event) -> None:
        """Work until ``stop`` is set; runs that go on then may end in their own time, up to a limit.

        Raise NameTaken when another conductor has this one's name.
        """
        while not stop.is_set():
            self._tick_safely()
            self._news.wait(self._world.settings.poll_interval)
        self.finish()

    def finish(self) -> None:
        """Wait for the runs, end those that take too long, sign off."""
        patience = self._world.settings.graceful_shutdown_timeout
        until = self._world.clock() + timedelta(seconds=patience)
        logger.info(
            "The conductor stops; it takes up nothing more and waits for its runs",
            extra={"runs": len(self._runs), "until": f"{until:%Y-%m-%d %H:%M:%S}"},
        )
        self._world.membership.withdraw()
        self._pulse.hasten()
        self._outlast_runs(patience)
        if left := len(self._runs):
            logger.warning("graceful_shutdown_timeout is over; the last runs are ended", extra={"runs": left})
        self._runs.cancel_all()
        self._outlast_runs(math.inf)
        try:
            self._world.membership.leave()
        except UNAVAILABLE as error:
            logger.warning("%s; others will notice that this conductor has ended", ailment(error))
        self.drop()
        logger.info("The conductor has stopped")

    def _outlast_runs(self, seconds: float) -> None:
        """Stay alive for the others while runs go on, so many seconds at most."""
        end = time.monotonic() + seconds
        while len(self._runs) and time.monotonic() < end:
            try:
                self._pulse.perform(self._world.clock())
            except Fenced as error:
                logger.warning(str(error))
                self._runs.cancel_all()
            except UNAVAILABLE:
                self._pulse.hasten()
            time.sleep(0.1)

    def drop(self) -> None:
        """Close the door and let everything else lie, as a death would."""
        self._door.shutdown()
        self._door.server_close()
        self._watch.stop()
        self._changes.close()

    def tick(self) -> None:
        """Look once: do what is due, start what is ready."""
        at = self._world.clock()
        for duty in self._duties:
            duty.perform(at)
        if heard := self._news.is_set():
            self._news.clear()  # what comes from now on is for the next look
        changed = self._changes.happened()
        looks_due = self._next_look is not None and self._next_look <= at
        if not (heard or changed or looks_due):
            return
        if looks_due:
            timeouts.wake(self._world)
        with reading(self._world.database) as session:
            there = to_do(session=session)
        growing = self._start_ready() if there.ready else None
        if there.wished or self._allocator.remembers():
            self._looks.add(self._allocator.work())
        self._start_looks()
        if there.called:
            self._start_calls()
        due = (there.wake_at, self._allocator.next_look(), growing)
        self._next_look = min((each for each in due if each is not None), default=None)

    def idle(self) -> bool:
        """Tell whether no run goes on, none has just ended, and no look is to come."""
        return len(self._runs) == 0 and not self._news.is_set() and self._looks.is_empty()

    def _tick_safely(self) -> None:
        try:
            self.tick()
        except Fenced as error:
            logger.warning(str(error))
            self._rejoin()
        except Exception as error:  # whatever it was (a full disk, a locked database), the next look may do better
            report("The conductor could not look for work; it tries again", error, self._world.database)
            if isinstance(error, UNAVAILABLE):
                self._pulse.hasten()
                self._check.hasten()
            self._rest()

    def _rest(self) -> None:
        """Look again after a while, or when there is news; those of before may be what we could not look at."""
        self._news.clear()
        self._news.wait(AFTER_ERROR)
        self._news.set()

    def _rejoin(self) -> None:
        """End what was begun before others took it over, then begin anew."""
        self._runs.cancel_all()
        while len(self._runs):
            time.sleep(0.1)
        try:
            self._join()
        except UNAVAILABLE as error:
            report("The next look tries again", error, self._world.database)
            time.sleep(AFTER_ERROR)
        self._news.set()

    def _heartbeat(self) -> None:
        self._world.membership.beat()
        takeover.relieve(self._world)

    def _check_waits(self) -> None:
        timeouts.expire(self._world)
        recovery.adopt_orphans(self._world, self._runs)

    def _look(self, *, recovering: bool) -> None:
        self._looks.round(recovering=recovering)
        self._news.set()

    def _free_slots(self) -> int:
        return self._world.settings.run_slots - len(self._runs)

    def _start_ready(self) -> datetime | None:
        """Start what can; return when to look again for waves that still grow."""
        if (free := self._free_slots()) <= 0:
            return None
        for wave in self._admission.waves(self._readiness.look(), free=free):
            self._start_wave(wave)
        return self._admission.next_look

    def _start_wave(self, wave: Wave) -> None:
        members: dict[str, str | None] = {}
        begin = wave.members[0].position
        run = LiveRun(new_uuid(), wave.phase, wave.leg, begin, members, lane=wave.lane, host=wave.host)
        self._runs.add(run)
        try:
            with self._world.acting() as session:
                members |= self._claim(wave, run.run_id, session)
                session.commit()
        except BaseException:
            self._runs.remove(run.run_id)
            raise
        if not members:
            self._runs.remove(run.run_id)
            return
        WAVE_NODES.note(len(members), phase=wave.phase.value)
        listener = RunListener(run, self._progress, self._admission.rests)
        self._launch(run, f"rackwright.metal.{wave.phase}", listener, lambda result: self._progress.ended(run, result))

    def _claim(self, wave: Wave, run_id: str, session: Session) -> dict[str, str]:
        """Return the operations that are ours now, by node."""
        known = {member.operation: member.position for member in wave.members}
        claimed: dict[str, str] = {}
        for uuid, (operation, node) in all_locked(list(known), session=session).items():
            if operation.position == known[uuid] and operations.claim(operation, node, run_id, world=self._world):
                session.add_all((operation, node))
                claimed[node.uuid] = uuid
        return claimed

    def _start_calls(self) -> None:
        for run, listener, conclude in self._calls.work(self._free_slots()):
            self._runs.add(run)
            self._launch(run, f"rackwright.metal.{run.phase}", listener, conclude)

    def _start_looks(self) -> None:
        for run in self._looks.take(self._free_slots()):
            looks = Looks(run)
            self._runs.add(run)
            self._launch(run, PLAYBOOK, looks, self._concluding(run, looks))

    def _concluding(self, run: LiveRun, looks: Looks) -> Callable[[RunResult], None]:
        def conclude(_: RunResult) -> None:
            try:
                self._power.conclude(looks.seen)
            finally:
                self._allocator.learn(run.operations, looks.seen)
                self._looks.ended(run, looks.behind)

        return conclude

    def _launch(self, run: LiveRun, playbook: str, listener: Listener, conclude: Callable[[RunResult], None]) -> None:
        wanted = PlaybookRun(
            run_id=run.run_id,
            playbook=playbook,
            nodes=tuple(run.operations),
            steps=_provision_steps(run),
            batched=run.steps[0].batched,
            door=self.door_path,
            host=run.host,
        )
        logger.info("A run starts", extra={"run": run.run_id, "playbook": playbook, "nodes": len(run.operations)})

        def carry() -> None:
            lost = True
            try:
                conclude(self._play(wanted, listener))
                lost = False
            except Exception as error:
                report("The end of a run could not be stored", error, self._world.database, run=run.run_id)
            finally:
                self._runs.remove(run.run_id)
                if lost:
                    self._check.hasten()  # it finds what this leaves behind
                self._news.set()

        threading.Thread(target=carry, name=f"run-{run.run_id[:8]}", daemon=True).start()

    def _play(self, wanted: PlaybookRun, listener: Listener) -> RunResult:
        with RUN_SECONDS.timed(playbook=wanted.playbook.rpartition(".")[2]) as labels, about(run=wanted.run_id):
            try:
                result = self._runner.run(wanted, listener)
            except Exception as error:
                result = RunResult.broken_off(error)
            result = self._judged(wanted.host, result)
            labels["status"] = result.status.value
        return result

    def _judged(self, host: str, result: RunResult) -> RunResult:
        """Return how a run ended: one that died while nobody could have carried it out was hindered.

        Its nodes are blameless. They go on when the trouble is over; until then its host is tried ever later.
        """
        suspicious = result.status in (RunStatus.DIED, RunStatus.HINDERED)
        trouble = surroundings.trouble(self._world.settings.state_dir) if suspicious else None
        if trouble is None and result.status is not RunStatus.HINDERED:
            self._admission.rests.over(host)
            return result
        self._admission.rests.hindered(host, self._world.clock())
        told = {"host": host, **({"cause": result.cause} if trouble else {})}
        logger.error("A run was hindered and is tried again: %s", trouble or result.cause, extra=told)
        return RunResult(RunStatus.HINDERED, cause=trouble or result.cause)


@contextmanager
def _in_our_words() -> Iterator[None]:
    """Raise Unavailable in place of what a database raises that is away, for rooms that know of no database."""
    try:
        yield
    except UNAVAILABLE as error:
        raise Unavailable(f"{ailment(error)}.") from error


class RunListener:
    """Stores what a run of a phase tells."""

    def __init__(self, run: LiveRun, progress: Progress, rests: Rests) -> None:
        self._run = run
        self._progress = progress
        self._rests = rests

    def lines(self, said: Sequence[Mapping[str, Any]]) -> None:
        """Store lines, which show that the host carries out runs."""
        self._rests.over(self._run.host)
        with _in_our_words():
            self._progress.lines(self._run, said)

    def reached(self, mark: str) -> None:
        """Let the door answer that waits for this mark."""
        self._run.reached(mark)

    def cancelled(self) -> bool:
        """Tell whether the run is to be ended."""
        return self._run.cancelled.is_set()


def _provision_steps(run: LiveRun) -> list[dict[str, Any]]:
    return [
        {
            "name": step.name,
            "interface": step.interface.value,
            "role": step.role,
            "tasks": step.tasks,
            "index": run.position + offset,
        }
        for offset, step in enumerate(run.steps)
    ]
