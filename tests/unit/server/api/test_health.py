# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Probes: alive or not, ready or not and why."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from rackwright.store import conductor as conductors
from rackwright.store.columns import now
from rackwright.store.session import open_engine, writing
from tests.unit.server.api_house import HOST, House


def test_a_whole_service_is_alive_and_ready(house: House) -> None:
    assert house.client.get("/healthz").json() == {"alive": True}
    answer = house.client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {
        "ready": True,
        "checks": {"host": "ok", "database": "ok", "migrations": "ok", "conductor": "ok"},
    }


def test_a_silent_conductor_is_named(house: House) -> None:
    with writing(house.parts.engine) as session:
        conductors.heartbeat(HOST, session=session, at=now() - timedelta(seconds=61))
        session.commit()
    answer = house.client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["ready"] is False
    assert answer.json()["checks"] == {
        "host": "ok",
        "database": "ok",
        "migrations": "ok",
        "conductor": "no conductor was seen in the last 60 seconds; see its log",
    }


@pytest.mark.parametrize(
    ("revision", "told"),
    [
        ("0001", "the database is older than this version needs; run: rackwright db upgrade"),
        ("9999", "the database is of a newer version than this daemon; install that version on this host too"),
    ],
)
def test_a_database_of_another_version_is_named_with_what_to_do(house: House, revision: str, told: str) -> None:
    with house.parts.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :to"), {"to": revision})
    answer = house.client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"]["migrations"] == told


def test_without_a_database_the_service_is_alive_and_not_ready(house: House, tmp_path: Path) -> None:
    gone = open_engine(f"sqlite:///{tmp_path}/gone/rackwright.sqlite")
    house.app.state.parts = replace(house.parts, engine=gone)
    answer = house.client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"]["database"].startswith("the file of the database cannot be opened and written; ")
    assert str(tmp_path) not in answer.text
    assert house.client.get("/healthz").status_code == 200
