# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Some tests of the engine again, on PostgreSQL and MariaDB."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rackwright.domain.outcomes import Started
from rackwright.engine.progress import Progress
from rackwright.store.session import writing
from rackwright.store.work import locked
from tests.unit.server import databases
from tests.unit.server.engine.engine_house import EngineHouse
from tests.unit.server.engine.test_abort import (
    test_a_hold_step_holds_until_unhold_and_the_rest_follows,
    test_a_node_that_waits_can_be_deleted_and_its_operation_ends,
)
from tests.unit.server.engine.test_allocation import (
    test_a_conductor_killed_while_it_reads_the_power_leaves_the_wish_to_the_next,
    test_no_two_allocations_get_the_same_node,
    test_undeploying_removes_the_allocation,
)
from tests.unit.server.engine.test_hosts import test_a_node_that_names_a_host_goes_nowhere_else_where_there_are_none
from tests.unit.server.engine.test_life_cycle import (
    test_a_failed_step_is_told_with_step_cause_and_next_action,
    test_a_node_goes_from_enroll_to_an_instance_and_back,
    test_the_agents_steps_join_the_list_by_priority,
)
from tests.unit.server.engine.test_power_sync import (
    test_a_machine_that_was_switched_off_by_hand_is_switched_on_again,
)
from tests.unit.server.engine.test_progress import (
    test_a_line_that_cannot_be_stored_takes_no_other_with_it,
    test_everything_that_a_wave_has_told_is_stored_at_once,
    test_operations_that_wait_for_a_run_are_read_once,
    told,
    wave,
)
from tests.unit.server.engine.test_runs import (
    test_a_conductor_that_died_is_followed_by_one_that_goes_on_where_it_was,
    test_a_node_in_the_middle_of_nothing_is_freed_at_start_with_a_reason,
    test_an_abort_of_a_running_operation_takes_the_node_out_before_its_next_step,
    test_an_operation_whose_run_ended_without_a_word_is_found,
    test_lines_of_a_run_that_lost_the_operation_do_no_harm,
)
from tests.unit.server.engine.test_waiting import (
    test_a_poll_looks_again_when_its_time_has_come_but_not_for_ever,
    test_a_waiting_node_holds_nothing_and_goes_on_with_a_heartbeat,
)

__all__ = (
    "test_a_conductor_killed_while_it_reads_the_power_leaves_the_wish_to_the_next",
    "test_a_conductor_that_died_is_followed_by_one_that_goes_on_where_it_was",
    "test_a_failed_step_is_told_with_step_cause_and_next_action",
    "test_a_hold_step_holds_until_unhold_and_the_rest_follows",
    "test_a_line_that_cannot_be_stored_takes_no_other_with_it",
    "test_a_machine_that_was_switched_off_by_hand_is_switched_on_again",
    "test_a_node_goes_from_enroll_to_an_instance_and_back",
    "test_a_node_in_the_middle_of_nothing_is_freed_at_start_with_a_reason",
    "test_a_node_that_names_a_host_goes_nowhere_else_where_there_are_none",
    "test_a_node_that_waits_can_be_deleted_and_its_operation_ends",
    "test_a_poll_looks_again_when_its_time_has_come_but_not_for_ever",
    "test_a_waiting_node_holds_nothing_and_goes_on_with_a_heartbeat",
    "test_an_abort_of_a_running_operation_takes_the_node_out_before_its_next_step",
    "test_an_operation_whose_run_ended_without_a_word_is_found",
    "test_everything_that_a_wave_has_told_is_stored_at_once",
    "test_lines_of_a_run_that_lost_the_operation_do_no_harm",
    "test_no_two_allocations_get_the_same_node",
    "test_operations_that_wait_for_a_run_are_read_once",
    "test_the_agents_steps_join_the_list_by_priority",
    "test_undeploying_removes_the_allocation",
)


@pytest.fixture(params=["postgresql", "mariadb"])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EngineHouse]:
    built = EngineHouse(tmp_path, database_url=databases.emptied(request.param))
    yield built
    built.close()


def test_a_node_that_somebody_holds_does_not_keep_the_lines_of_others_waiting(house: EngineHouse) -> None:
    run = wave(house, 3)
    held, *others = run.operations
    storing = threading.Thread(target=Progress(house.world).lines, args=(run, told(run, Started())))
    with writing(house.world.database) as session:
        assert locked(run.operations[held] or "", session=session)
        storing.start()
        end = time.monotonic() + 20
        while [house.operation(uuid).position for uuid in others] != [1, 1]:
            assert time.monotonic() < end
            time.sleep(0.02)
        assert house.operation(held).position == 0
    storing.join(20)
    assert house.operation(held).position == 1
