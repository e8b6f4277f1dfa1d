# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What it takes to store what runs tell, and that no node suffers for another one's line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from sqlalchemy import event
from sqlalchemy.exc import StatementError

from rackwright.domain.outcomes import Failed, Learned, Outcome, Report, Started, WaitFor, Waiting, render
from rackwright.domain.verbs import Phase
from rackwright.engine import operations, recovery
from rackwright.engine.composition import loaded
from rackwright.engine.live import LiveRun, LiveRuns
from rackwright.engine.progress import Progress
from rackwright.engine.readiness import Readiness
from rackwright.runner.base import RunResult, RunStatus
from rackwright.store.session import writing
from rackwright.store.work import all_locked
from tests.unit.server.engine.engine_house import EngineHouse


def wave(house: EngineHouse, count: int) -> LiveRun:
    """Let a run that nobody plays hold so many nodes, which are about to be deployed."""
    uuids = [house.node(provision_state="available") for _ in range(count)]
    started = {uuid: house.verb(uuid, "active") for uuid in uuids}
    with writing(house.world.database) as session:
        for found in all_locked([each.uuid for each in started.values()], session=session).values():
            assert operations.claim(*found, "run-1", world=house.world)
        session.commit()
    steps = loaded(started[uuids[0]].steps)
    return LiveRun("run-1", Phase.DEPLOY, steps, 0, {uuid: each.uuid for uuid, each in started.items()})


@contextmanager
def _commits(house: EngineHouse) -> Iterator[list[object]]:
    found: list[object] = []

    def count(connection: object) -> None:
        found.append(connection)

    event.listen(house.world.database, "commit", count)
    yield found
    event.remove(house.world.database, "commit", count)


def told(run: LiveRun, *outcomes: Outcome) -> list[dict[str, object]]:
    """Return lines for each node of a run."""
    return [render(Report(uuid, 1, outcome)) for outcome in outcomes for uuid in run.operations]


def test_everything_that_a_wave_has_told_is_stored_at_once(house: EngineHouse) -> None:
    run = wave(house, 20)
    with _commits(house) as commits:
        said = told(run, Started(), Learned({"power_state": "power on"}), Waiting(WaitFor.AGENT))
        Progress(house.world).lines(run, said)
    assert len(commits) == 1
    for uuid in run.operations:
        assert (house.operation(uuid).position, house.operation(uuid).status) == (1, "waiting")
        assert house.look(uuid).power_state == "power on"


def test_the_end_of_a_run_is_stored_at_once_for_all_its_nodes(house: EngineHouse) -> None:
    run = wave(house, 20)
    with _commits(house) as commits:
        Progress(house.world).ended(run, RunResult(RunStatus.FINISHED))
    assert len(commits) == 1
    assert {house.look(uuid).provision_state for uuid in run.operations} == {"active"}


def test_a_node_that_has_left_its_run_is_not_touched_by_what_follows(house: EngineHouse) -> None:
    run = wave(house, 2)
    Progress(house.world).lines(run, told(run, Started(), Waiting(WaitFor.AGENT), Failed("", "too late")))
    assert {house.operation(uuid).error for uuid in run.operations} == {None}


def test_a_line_that_cannot_be_stored_takes_no_other_with_it(house: EngineHouse) -> None:
    run = wave(house, 5)
    said, uuids = told(run, Started()), list(run.operations)
    said[2] = render(Report(uuids[2], 1, Learned({"found": object()})))  # no JSON can hold it
    with pytest.raises((StatementError, TypeError)):
        Progress(house.world).lines(run, said)
    assert [house.operation(uuid).position for uuid in uuids] == [1, 1, 0, 1, 1]


def test_runs_that_go_on_are_not_locked_by_the_search_for_lost_ones(house: EngineHouse) -> None:
    run, runs = wave(house, 3), LiveRuns()
    runs.add(run)
    with _commits(house) as commits:
        recovery.adopt_orphans(house.world, runs)
        assert not commits
        runs.remove(run.run_id)
        recovery.adopt_orphans(house.world, runs)
        assert len(commits) == 1
    assert {house.operation(uuid).status for uuid in run.operations} == {"ready"}


def _read_again(house: EngineHouse, readiness: Readiness) -> tuple[int, Sequence[str]]:
    """Return how often whole operations were read for a look, and what it has found."""
    queries: list[str] = []
    event.listen(house.world.database, "before_cursor_execute", lambda *given: queries.append(given[2]))
    found = [each.operation for each in readiness.look()]
    return sum("operation.steps" in query for query in queries), found


def test_operations_that_wait_for_a_run_are_read_once(house: EngineHouse) -> None:
    uuids = [house.node(provision_state="available") for _ in range(4)]
    started = [house.verb(uuid, "active").uuid for uuid in uuids]
    readiness = Readiness(house.world)
    assert _read_again(house, readiness) == (1, started)
    assert _read_again(house, readiness) == (0, started)
    with writing(house.world.database) as session:
        ((operation, _),) = all_locked(started[:1], session=session).values()
        operations.leave_wave(operation)
        session.commit()
    assert _read_again(house, readiness) == (1, started)
    assert [each.slow for each in readiness.look()] == [True, False, False, False]
