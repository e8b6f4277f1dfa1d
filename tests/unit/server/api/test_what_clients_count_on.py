# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What the conformance runs found that real clients count on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.server.api_house import HOST, MAC, House, fault

RENAME = [{"op": "replace", "path": "/extra", "value": {"a": 1}}]


@pytest.fixture
def patient(tmp_path: Path) -> House:
    return House(tmp_path, node_locked_retry_attempts=3, node_locked_retry_interval=0.2)


@pytest.fixture
def freed(patient: House) -> Iterator[str]:
    """A locked node that is let go a moment later."""
    node = patient.node(reservation=HOST)
    timer = threading.Timer(0.1, patient.set, (node,), {"reservation": None})
    timer.start()
    yield node
    timer.join()


def test_a_request_waits_a_moment_for_a_locked_node(patient: House, freed: str) -> None:
    answer = patient.call("PATCH", f"/nodes/{freed}", RENAME)
    assert (answer.status_code, answer.json()["extra"]) == (200, {"a": 1})


def test_a_request_gives_a_locked_node_up_after_its_attempts(patient: House) -> None:
    node, begin = patient.node(reservation=HOST), time.monotonic()
    assert patient.call("PATCH", f"/nodes/{node}", RENAME).status_code == 409
    assert 0.4 <= time.monotonic() - begin < 5
    assert patient.stored(node).extra == {}


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
@pytest.mark.parametrize("ident", [MAC, "malformed:uuid"])
def test_a_port_is_not_known_by_its_address(house: House, method: str, ident: str) -> None:
    house.port(house.node())
    answer = house.call(method, f"/ports/{ident}", RENAME if method == "PATCH" else None)
    assert answer.status_code == 400, answer.text


@pytest.mark.parametrize("path", ["traits", "traits/CUSTOM_A"])
def test_traits_cannot_be_removed_before_there_were_any(house: House, path: str) -> None:
    assert house.call("DELETE", f"/nodes/{house.node()}/{path}", version="1.36").status_code == 404


@pytest.mark.parametrize(("version", "status"), [("1.88", 404), ("1.89", 405)])
def test_a_wrong_method_of_a_path_of_a_newer_version_is_an_unknown_path(
    house: House, version: str, status: int
) -> None:
    assert house.call("PUT", f"/nodes/{house.node()}/vmedia", {}, version=version).status_code == status


@pytest.mark.parametrize("method", ["PUT", "POST", "PATCH", "DELETE"])
def test_nothing_can_be_done_with_a_state_that_is_none(house: House, method: str) -> None:
    assert house.call(method, f"/nodes/{house.node()}/states/target_raid_config", {}).status_code == 405


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_the_allocation_of_an_unknown_node_is_a_wrong_argument(house: House, method: str) -> None:
    answer = house.call(method, "/nodes/nobody/allocation")
    assert (answer.status_code, "nobody" in fault(answer)) == (400, True)


def test_a_heartbeat_may_name_its_node_in_the_body(house: House) -> None:
    body = {"node_ident": house.node(), "callback_url": "https://192.0.2.1:9999"}
    found = house.call("POST", "/heartbeat", body, version="1.22")
    assert (found.status_code, "node_ident" in fault(found)) == (400, False)
    assert house.call("POST", "/heartbeat", body, version="1.21").status_code == 404
