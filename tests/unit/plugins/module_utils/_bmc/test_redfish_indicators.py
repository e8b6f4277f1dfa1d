# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._bmc import connect, redfish_indicators
from ansible_collections.rackwright.metal.plugins.module_utils._errors import NotOfferedError, OperationError
from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import (
    SYSTEM,
    Answer,
    BmcServer,
    Request,
    recorded_lights,
    refusal,
)

CHASSIS = "/redfish/v1/Chassis/1"


def lights(bmc: BmcServer) -> list[tuple[str, str, str]]:
    with connect(bmc.context()) as machine:
        return [(each.name, each.component, each.state) for each in machine.indicators()]


def switch(bmc: BmcServer, component: str, state: str, name: str = "1") -> None:
    with connect(bmc.context()) as machine:
        machine.set_indicator(name, component, state)


@pytest.mark.parametrize(
    ("machine", "found"),
    [
        ("dell-r750-idrac9-6.00.30", [("System.Embedded.1", "system", "on"), ("System.Embedded.1", "chassis", "on")]),
        ("gigabyte-h262z63-megarac-12.84", [("Self", "system", "off"), ("Self", "chassis", "off")]),
        ("hpe-dl360gen10plus-ilo5-3.11", [("1", "system", "off"), ("1", "chassis", "off")]),
        ("hpe-dl360gen12-ilo7-1.14", [("1", "chassis", "on")]),
        ("lenovo-sr670v2-xcc-2.83", [("1", "system", "off"), ("1", "chassis", "off")]),
        ("openbmc-stock-2.15", [("system", "system", "off")]),
        ("supermicro-x10sdv-x10-4.00", [("1", "system", "off"), ("1", "chassis", "off")]),
        ("huawei-2288hv5-ibmc-3.12", [("1", "chassis", "off")]),
    ],
)
def test_the_lights_of_every_recorded_machine_are_found_and_switched(
    machine: str, found: list[tuple[str, str, str]], bmc: BmcServer
) -> None:
    bmc.resources = recorded_lights(machine)
    assert lights(bmc) == found
    for name, component, state in found:
        switch(bmc, component, "off" if state == "on" else "on", name)
    assert [each[2] for each in lights(bmc)] == ["off" if each[2] == "on" else "on" for each in found]


def test_a_light_is_switched_where_it_is(bmc: BmcServer) -> None:
    switch(bmc, "chassis", "blinking")
    assert (bmc.calls(), bmc.bodies("PATCH")) == ([f"PATCH {CHASSIS}"], [{"IndicatorLED": "Blinking"}])
    assert lights(bmc) == [("1", "system", "off"), ("1", "chassis", "blinking")]


def test_a_bmc_that_gave_up_the_old_form_gets_the_new_one(bmc: BmcServer) -> None:
    bmc.resources[SYSTEM]["LocationIndicatorActive"] = False

    def habit(request: Request) -> Answer | None:
        return refusal(400, "PropertyNotWritable") if "IndicatorLED" in request.body else None

    bmc.habits.append(habit)
    switch(bmc, "system", "on")
    assert bmc.bodies("PATCH") == [{"IndicatorLED": "Lit"}, {"LocationIndicatorActive": True}]


def test_a_light_that_is_not_there_is_refused_with_those_that_are(bmc: BmcServer) -> None:
    with pytest.raises(NotOfferedError, match="Choose one of: 1 of system, 1 of chassis"):
        switch(bmc, "system", "on", name="fan")
    assert bmc.calls() == []


def test_a_light_that_cannot_blink_says_so(bmc: BmcServer) -> None:
    bmc.resources[SYSTEM] |= {"IndicatorLED": None, "LocationIndicatorActive": False}
    with pytest.raises(NotOfferedError, match="Choose one of on, off"):
        switch(bmc, "system", "blinking")


def test_a_light_that_does_not_obey_is_an_error(bmc: BmcServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redfish_indicators, "READ_BACK", 0.1)
    bmc.habits.append(lambda request: Answer(204) if request.method == "PATCH" else None)
    with pytest.raises(OperationError, match="still shows off after"):
        switch(bmc, "system", "on")
