# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.redfish_look import (
    ShortWayClosed,
    look,
    surroundings,
)
from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import certificate
from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import (
    SYSTEM,
    Answer,
    BmcServer,
    Request,
    refusal,
)


def _power_state(params: dict[str, Any], path: str) -> str:
    return look(params, path)[0]


def _habit(*answers: Answer) -> Any:
    left = list(answers)
    return lambda _request: left.pop(0) if left else None


def test_one_request_tells_the_power_state_and_leaves_no_session(bmc: BmcServer) -> None:
    bmc.login = ("admin", "canary-password")
    assert _power_state(bmc.context(), SYSTEM) == "off"
    bmc.resources[SYSTEM]["PowerState"] = "On"
    assert _power_state(bmc.context(), SYSTEM) == "on"
    assert [(each.method, each.path) for each in bmc.log] == 2 * [("GET", SYSTEM)]
    assert not bmc.sessions


@pytest.mark.parametrize(
    ("status", "health"),
    [
        ({"Health": "OK", "HealthRollup": "Warning"}, "Warning"),
        ({"Health": "Critical"}, "Critical"),
        ({"Health": "OK", "HealthRollup": None}, "OK"),
        ({"Health": "Splendid"}, None),
        ("good", None),
        (None, None),
    ],
)
def test_the_health_comes_with_it_where_the_bmc_tells_it(bmc: BmcServer, status: Any, health: str | None) -> None:
    bmc.resources[SYSTEM]["Status"] = status
    assert look(bmc.context(), SYSTEM) == ("off", health)


def test_a_bmc_that_asks_for_no_login_gets_none(bmc: BmcServer) -> None:
    assert _power_state(bmc.context(auth_type="none", username="admin", password="canary-password"), SYSTEM) == "off"
    assert "Authorization" not in bmc.log[0].headers


@pytest.mark.parametrize(
    "answer",
    [
        Answer(308, {}, {"Location": f"{SYSTEM}/"}),
        refusal(404),
        refusal(503),
        Answer(200, "[]"),
        Answer(200, "no JSON"),
        Answer(200, {"PowerState": "Dreaming"}),
        Answer(200, {"PowerState": []}),
        Answer(200, {}),
    ],
)
def test_what_is_no_plain_answer_is_left_to_the_whole_way(bmc: BmcServer, answer: Answer) -> None:
    bmc.habits.append(_habit(answer))
    with pytest.raises(ShortWayClosed) as closed:
        _power_state(bmc.context(), SYSTEM)
    assert not closed.value.for_good
    assert _power_state(bmc.context(), SYSTEM) == "off"


def test_a_bmc_that_lets_nobody_in_without_a_session_is_asked_no_more(bmc: BmcServer) -> None:
    bmc.login = ("admin", "canary-password")
    with pytest.raises(ShortWayClosed) as closed:
        _power_state(bmc.context(password="another"), SYSTEM)
    assert closed.value.for_good


@pytest.mark.parametrize(
    "more",
    [
        {"auth_type": "session"},
        {"address": "gopher://bmc.example.com"},
        {"address": "http://127.0.0.1:1"},
        {"address": "https://[::1"},
        {"address": "https://127.0.0.1:1", "verify_ca": "/nowhere.pem"},
    ],
)
def test_where_it_cannot_be_gone_it_is_closed(bmc: BmcServer, more: dict[str, str]) -> None:
    with pytest.raises(ShortWayClosed):
        _power_state(bmc.context(**more), SYSTEM)
    assert not bmc.log


def test_a_proxy_of_the_environment_is_left_to_the_whole_way(bmc: BmcServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    surroundings.cache_clear()
    with pytest.raises(ShortWayClosed):
        _power_state(bmc.context(), SYSTEM)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert _power_state(bmc.context(), SYSTEM) == "off"
    surroundings.cache_clear()


def test_a_redirect_takes_no_password_elsewhere(bmc: BmcServer) -> None:
    with BmcServer().running() as other:
        bmc.habits.append(_habit(Answer(308, {}, {"Location": f"{other.url}{SYSTEM}"})))
        with pytest.raises(ShortWayClosed):
            _power_state(bmc.context(username="admin", password="canary-password"), SYSTEM)
        assert not other.log


def test_a_certificate_is_checked_unless_the_operator_trusts_anybody(tmp_path: Path) -> None:
    authority, tls = tmp_path / "authority.pem", ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.write_text(certificate(datetime.now(UTC), tmp_path)[0])
    tls.load_cert_chain(next(path for path in tmp_path.iterdir() if path != authority))
    with BmcServer().running(tls) as secure:
        with pytest.raises(ShortWayClosed):
            _power_state(secure.context(), SYSTEM)
        assert not secure.log
        assert _power_state(secure.context(verify_ca=str(authority)), SYSTEM) == "off"
        assert _power_state(secure.context(verify_ca=False), SYSTEM) == "off"


def test_a_request_says_that_no_other_follows(bmc: BmcServer) -> None:
    seen: list[Request] = bmc.log
    _power_state(bmc.context(), SYSTEM)
    assert seen[0].headers["Connection"] == "close"
