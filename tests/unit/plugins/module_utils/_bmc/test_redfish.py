# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._bmc import connect, redfish
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import (
    FIXTURES,
    SYSTEM,
    Answer,
    BmcServer,
    Request,
    recorded,
    refusal,
)

RECORDED = sorted(path.stem for path in FIXTURES.glob("*.json"))
RESET = f"POST {SYSTEM}/Actions/ComputerSystem.Reset"


def fails(bmc: BmcServer, **more: object) -> str:
    with pytest.raises(OperationError) as caught, connect(bmc.context(**more)) as machine:
        machine.power_state()
    return str(caught.value)


@pytest.mark.parametrize("name", RECORDED)
def test_every_recorded_machine_tells_its_power_state_and_is_turned_off(name: str, bmc: BmcServer) -> None:
    bmc.resources = recorded(name)
    systems = [each["@odata.id"] for each in bmc.resources["/redfish/v1/Systems"]["Members"]]
    chosen = next(path for path in systems if bmc.resources[path].get("Actions"))
    with connect(bmc.context(system_id=chosen)) as machine:
        assert machine.power_state() in ("on", "off")
        machine.set_power_state("off", 5)
        assert machine.power_state() == "off"
        assert all(len(mac) == 17 for mac in machine.macs())
    assert bmc.resources[chosen]["PowerState"] == "Off"


def test_a_power_state_is_waited_for(bmc: BmcServer) -> None:
    bmc.power_delay = 0.3
    with connect(bmc.context()) as machine:
        machine.set_power_state("on", 5)
        assert machine.power_state() == "on"
    assert bmc.calls() == [RESET]


def test_one_connection_serves_all_requests_and_is_made_anew_where_the_bmc_closes_it(bmc: BmcServer) -> None:
    with connect(bmc.context()) as machine:
        machine.set_power_state("on", 5)
        assert machine.media().image is None
    assert bmc.connections == 1
    bmc.habits.append(lambda request: Answer(headers={"Connection": "close"}) if "Reset" in request.path else None)
    with connect(bmc.context()) as machine, pytest.raises(OperationError, match="still on"):
        machine.set_power_state("off", 0.1)
    assert bmc.connections == 3


def test_a_machine_that_takes_long_is_looked_at_ever_more_rarely(bmc: BmcServer) -> None:
    bmc.power_delay = 1.0
    with connect(bmc.context()) as machine:
        machine.set_power_state("on", 10)
        asked = len(bmc.log)
        assert machine.power_state() == "on"
    assert asked < 15, "fifty looks at an even pace"
    assert len(bmc.log) == asked, "what was just seen is not read again"


def test_what_was_read_is_read_again_after_a_while_and_after_a_change(
    bmc: BmcServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(bmc.context()) as machine:
        assert machine.power_state() == "off"
        bmc.resources[SYSTEM]["PowerState"] = "On"
        assert machine.power_state() == "off", "read a moment ago"
        with monkeypatch.context() as later:
            later.setattr(redfish, "FRESH", -1.0)
            assert machine.power_state() == "on"
        machine.set_power_state("off", 5)
        assert machine.power_state() == "off"


def test_a_machine_that_does_not_obey_in_time_is_an_error(bmc: BmcServer) -> None:
    bmc.habits.append(lambda request: Answer(204) if request.path.endswith("Reset") else None)
    with connect(bmc.context()) as machine, pytest.raises(OperationError, match="still off after 0 s"):
        machine.set_power_state("on", 0.1)


def test_a_soft_shutdown_that_the_system_ignores_ends_in_a_cut(bmc: BmcServer) -> None:
    bmc.resources[SYSTEM]["PowerState"] = "On"
    bmc.habits.append(lambda request: Answer(204) if request.body.get("ResetType") == "GracefulShutdown" else None)
    with connect(bmc.context()) as machine:
        machine.set_power_state("soft_off", 0.1)
        assert machine.power_state() == "off"
        assert "its power was cut" in machine.notes[0]
    assert [body["ResetType"] for body in bmc.bodies("POST")] == ["GracefulShutdown", "ForceOff"]


def test_a_soft_reboot_without_a_graceful_restart_shuts_down_and_turns_on(bmc: BmcServer) -> None:
    bmc.resources[SYSTEM]["PowerState"] = "On"
    with connect(bmc.context()) as machine:
        machine.set_power_state("soft_reboot", 5)
    assert [body["ResetType"] for body in bmc.bodies("POST")] == ["GracefulShutdown", "On"]


def test_a_reboot_turns_on_a_machine_that_is_off(bmc: BmcServer) -> None:
    with connect(bmc.context()) as machine:
        machine.set_power_state("reboot", 5)
    assert [body["ResetType"] for body in bmc.bodies("POST")] == ["On"]


def test_a_busy_bmc_is_asked_again(bmc: BmcServer) -> None:
    bmc.reset_answers(refusal(503), refusal(409))
    with connect(bmc.context()) as machine:
        machine.set_power_state("on", 5)
    assert bmc.calls() == [RESET] * 3


def test_a_bmc_that_stays_busy_is_an_error_after_some_attempts(bmc: BmcServer) -> None:
    bmc.habits.append(lambda request: refusal(503, message="starting") if request.path.endswith("Reset") else None)
    with connect(bmc.context()) as machine, pytest.raises(OperationError, match=r"HTTP 503: starting.* 5 attempts"):
        machine.set_power_state("on", 5)
    assert bmc.calls() == [RESET] * 5


def test_the_session_is_closed_when_the_work_is_done_and_when_it_fails(bmc: BmcServer) -> None:
    bmc.login = ("admin", "canary-password")
    with connect(bmc.context()) as machine:
        assert machine.power_state() == "off"
        assert len(bmc.sessions) == 1
    assert bmc.sessions == set()
    with pytest.raises(OperationError), connect(bmc.context()) as machine:
        raise OperationError("a", "b", "c")
    assert bmc.sessions == set()


def test_a_bmc_without_sessions_gets_basic_authentication(bmc: BmcServer) -> None:
    bmc.login = ("admin", "canary-password")
    bmc.habits.append(lambda request: refusal(404) if request.path.endswith("/Sessions") else None)
    with connect(bmc.context()) as machine:
        assert machine.power_state() == "off"


def test_wrong_credentials_are_named_as_the_cause_and_not_shown(bmc: BmcServer) -> None:
    bmc.login = ("admin", "right-password")
    text = fails(bmc, password="canary-password")
    assert "refuses user name and password" in text
    assert "canary" not in text


def test_an_unreachable_bmc_is_named_as_the_cause(bmc: BmcServer) -> None:
    gone = BmcServer()
    with gone.running():
        pass
    text = fails(bmc, address=gone.url)
    assert "cannot be reached: Connection refused" in text
    assert "Check its address" in text


def test_several_systems_are_listed_when_none_is_chosen(bmc: BmcServer) -> None:
    bmc.resources = recorded("hpecray-ex425-nc-1.6")
    text = fails(bmc)
    assert "The BMC has 2 systems. Set redfish_system_id (a module's system_id) to one of" in text
    assert "to one of: /redfish/v1/Systems/Node0, /redfish/v1/Systems/Node1." in text
    with connect(bmc.context(system_id="Node1")) as machine:
        assert machine.power_state() == "on"


def test_a_wrong_system_id_is_answered_with_the_right_ones(bmc: BmcServer) -> None:
    text = fails(bmc, system_id="/redfish/v1/Systems/2")
    assert f"no system /redfish/v1/Systems/2. Set redfish_system_id (a module's system_id) to one of: {SYSTEM}." in text


@pytest.mark.parametrize("page", ["<html>Welcome</html>", "[]", '"hello"'])
def test_something_else_than_redfish_is_named_as_such(page: str, bmc: BmcServer) -> None:
    bmc.habits.append(lambda _: Answer(200, page))
    assert "What answers there does not speak Redfish" in fails(bmc)


def test_a_mask_is_never_sent_as_a_password(bmc: BmcServer) -> None:
    assert "holds the mask of a hidden value" in fails(bmc, password="******")
    assert bmc.log == []


def slashed(request: Request) -> Answer | None:
    """Redirect whatever has no slash at its end to where it has one."""
    if request.path.endswith("/") or "Session" in request.path:
        return None
    return Answer(308, {}, {"Location": request.path + "/"})


def test_redirects_on_the_same_host_keep_method_and_body(bmc: BmcServer) -> None:
    for path in list(bmc.resources):
        bmc.resources[path + "/"] = bmc.resources[path]
    bmc.resources["/redfish/v1/Systems"]["Members"] = [{"@odata.id": f"{SYSTEM}/"}]
    bmc.habits.append(slashed)
    bmc.login = ("admin", "canary-password")
    action = f"{SYSTEM}/Actions/ComputerSystem.Reset/"

    def reset(request: Request) -> Answer | None:
        if request.path != action:
            return None
        bmc.resources[SYSTEM]["PowerState"] = request.body["ResetType"]
        return Answer(204)

    bmc.habits.append(reset)
    with connect(bmc.context(system_id=SYSTEM)) as machine:
        machine.set_power_state("on", 5)
        assert machine.power_state() == "on"


def test_a_redirect_to_another_host_is_refused_and_sees_no_credentials(bmc: BmcServer) -> None:
    bmc.login = ("admin", "canary-password")
    with BmcServer().running() as other:
        target = other.url.replace("127.0.0.1", "localhost")
        bmc.habits.append(
            lambda request: Answer(307, {}, {"Location": target + SYSTEM}) if request.path == SYSTEM else None
        )
        assert "it redirects to another server, localhost" in fails(bmc)
        assert other.log == []


def test_a_redirect_that_would_lose_a_change_is_refused(bmc: BmcServer) -> None:
    bmc.habits.append(
        lambda request: Answer(302, {}, {"Location": "/elsewhere"}) if request.path.endswith("Reset") else None
    )
    with connect(bmc.context()) as machine, pytest.raises(OperationError, match="redirects a POST with HTTP 302"):
        machine.set_power_state("on", 5)


def test_a_bmc_without_network_ports_tells_none(bmc: BmcServer) -> None:
    with connect(bmc.context()) as machine:
        assert machine.macs() == []


def test_addresses_that_are_none_are_left_out(bmc: BmcServer) -> None:
    ports = "/redfish/v1/Systems/1/EthernetInterfaces"
    bmc.resources[SYSTEM]["EthernetInterfaces"] = {"@odata.id": ports}
    told = ["", None, "N/A", "00:00:00:00:00:00", "AA-BB-CC-00-11-22"]
    bmc.resources[ports] = {"Members": [{"@odata.id": f"{ports}/{number}"} for number in range(len(told) + 1)]}
    for number, mac in enumerate(told):
        bmc.resources[f"{ports}/{number}"] = {"MACAddress": mac}
    with connect(bmc.context()) as machine:
        assert machine.macs() == ["aa:bb:cc:00:11:22"]


def test_a_bmc_is_reached_through_the_proxy_that_the_environment_names(
    bmc: BmcServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", bmc.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with pytest.raises(OperationError), connect({**bmc.context(), "address": "http://bmc.example.com"}):
        pass
    assert bmc.log[0].path == "http://bmc.example.com/redfish/v1/"


def test_no_password_is_taken_from_a_file_of_the_home(
    bmc: BmcServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with connect(bmc.context()) as machine:
        machine.power_state()
    assert [request for request in bmc.log if "Authorization" in request.headers] == []


def test_a_bmc_that_forgets_one_session_after_the_other_is_asked_again(bmc: BmcServer) -> None:
    bmc.login = ("admin", "password")
    lost = 2

    def forget(request: Request) -> Answer | None:
        nonlocal lost
        if request.path != SYSTEM or not lost:
            return None
        lost -= 1
        bmc.sessions.clear()
        return refusal(401, message="no valid session")

    with connect(bmc.context()) as machine:
        bmc.habits.append(forget)
        machine.forget()
        assert machine.power_state() == "off"
    assert (lost, bmc.sessions) == (0, set())
