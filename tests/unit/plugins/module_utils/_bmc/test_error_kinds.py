# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An error of a BMC says in a word of what kind it is, so that errors can be counted."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._bmc import connect, redfish_service
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import SYSTEM, Answer, BmcServer, refusal


def kind(bmc: BmcServer, **more: object) -> str:
    with pytest.raises(OperationError) as caught, connect(bmc.context(**more)) as machine:
        machine.power_state()
    return caught.value.kind


@contextmanager
def deaf() -> Iterator[str]:
    """Yield the address of something that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    ("status", "expected"),
    [(400, "refused"), (403, "rights"), (404, "missing"), (405, "not offered"), (500, "refused"), (501, "not offered")],
)
def test_a_refusal_is_counted_by_its_status(bmc: BmcServer, status: int, expected: str) -> None:
    bmc.habits.append(lambda request: refusal(status) if request.path == SYSTEM else None)
    assert kind(bmc) == expected


def test_a_bmc_that_stays_busy_is_counted_as_busy(bmc: BmcServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redfish_service, "PAUSE", 0.01)
    bmc.habits.append(lambda request: refusal(503) if request.path == SYSTEM else None)
    assert kind(bmc) == "busy"


def test_wrong_credentials_are_a_kind_of_their_own(bmc: BmcServer) -> None:
    bmc.login = ("admin", "right")
    assert kind(bmc, username="admin", password="wrong") == "credentials"


def test_what_cannot_be_reached_what_is_silent_and_what_speaks_no_tls_are_told_apart(
    bmc: BmcServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = BmcServer()
    with gone.running():
        pass
    assert kind(bmc, address=gone.url) == "unreachable"
    assert kind(bmc, address=bmc.url.replace("http:", "https:")) == "tls"
    monkeypatch.setattr(redfish_service, "READ_TIMEOUT", 0.3)
    monkeypatch.setattr(redfish_service, "CONNECT_TIMEOUT", 0.3)
    with deaf() as address:
        assert kind(bmc, address=address) == "silent"


def test_an_answer_that_is_no_redfish_is_malformed(bmc: BmcServer) -> None:
    bmc.habits.append(lambda request: Answer(200, "[]") if request.path == "/redfish/v1/" else None)
    assert kind(bmc) == "malformed"
