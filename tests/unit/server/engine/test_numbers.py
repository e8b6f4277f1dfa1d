# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What a conductor notes of its work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, values

from rackwright.domain.outcomes import Failed, WaitFor, Waiting
from rackwright.telemetry import numbers
from rackwright.telemetry.book import Book, Kept
from tests.unit.server.engine.engine_house import EngineHouse

Read = Callable[[], dict[tuple[str, ...], float]]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Read]:
    """Let this process keep numbers in files of this test; return what reads them."""
    folder, book = tmp_path / "metrics", Book()
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(folder))
    monkeypatch.setattr(numbers, "_book", book)
    monkeypatch.setattr(values, "ValueClass", values.ValueClass)
    book.keep_in(folder, "conductor")

    def read() -> dict[tuple[str, ...], float]:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(Kept(folder))
        samples = [sample for family in registry.collect() for sample in family.samples]
        return {(each.name.removeprefix("rackwright_"), *sorted(each.labels.values())): each.value for each in samples}

    yield read
    values.ValueClass.close_all_files()


def test_an_operation_that_ends_well_is_counted_with_its_wave_run_queue_and_step(
    house: EngineHouse, kept: Read
) -> None:
    for uuid in [house.node(name=f"n{number}") for number in range(3)]:
        house.verb(uuid, "manage")
    house.settle()
    found = kept()
    assert found["wave_nodes_sum", "verify"] == 3
    assert found["run_seconds_count", "finished", "verify"] == found["wave_nodes_count", "verify"]
    assert found["queue_seconds_count", "verify"] == 3
    assert found["step_seconds_count", "power.read_power_state", "verify"] == 3
    assert found["operation_seconds_count", "done", "verify"] == 3


def test_an_error_of_a_bmc_is_counted_by_vendor_model_and_kind(house: EngineHouse, kept: Read) -> None:
    uuid = house.node(properties={"vendor": "Acme"}, driver_internal_info={"model": "A1"})
    house.script["power.read_power_state"] = Failed("", "no answer", "Look.", kind="silent")
    house.verb(uuid, "manage")
    house.settle()
    found = kept()
    assert found["bmc_errors_total", "A1", "Acme", "silent"] == 1
    assert found["step_failures_total", "power.read_power_state", "verify"] == 1
    assert found["operation_seconds_count", "failed", "verify"] == 1


def test_a_wait_counts_for_its_step_and_looks_at_the_power_by_their_verdict(house: EngineHouse, kept: Read) -> None:
    uuid = house.node(provision_state="manageable", power_state="power on")
    other = house.node(name="idle", provision_state="manageable", power_state="power on")
    house.script["boot.boot_ramdisk"] = Waiting(WaitFor.POLL, 20)
    house.script[f"{other} power.read_power_state"] = Failed("", "no answer", kind="unreachable")
    house.verb(uuid, "provide")
    house.settle()
    del house.script["boot.boot_ramdisk"]
    house.clock.turn(121)
    house.conductor.tick()
    house.settle()
    found = kept()
    assert found["step_seconds_sum", "boot.boot_ramdisk", "clean"] >= 120
    assert found["power_looks_total", "nothing"] == 1
    assert found["bmc_errors_total", "unknown", "unknown", "unreachable"] == 1
