# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading

import pytest

from rackwright.engine import conductor
from tests.unit.server.engine.engine_house import EngineHouse


def test_a_conductor_whose_database_is_gone_looks_only_now_and_then(
    house: EngineHouse, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(conductor, "AFTER_ERROR", 0.2)
    house.conductor.drop()  # which closes its connection
    stop = threading.Event()
    threading.Timer(1.0, stop.set).start()
    house.conductor.serve(stop)
    assert 2 <= caplog.text.count("could not look for work") <= 6
