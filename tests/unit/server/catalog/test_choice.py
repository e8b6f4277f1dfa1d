# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rackwright import catalog
from rackwright.catalog.choice import ChoiceInvalid
from rackwright.domain.verbs import Interface
from rackwright.settings import Settings
from tests.unit.server.api_house import House, fault, offer


def chosen(**settings: Any) -> catalog.Catalog:
    return catalog.chosen(offer(), Settings(**settings))


def test_without_settings_everything_may_be_used_in_the_order_of_the_hardware_type() -> None:
    assert chosen().hardware_types["redfish"].interfaces == offer().hardware_types["redfish"].interfaces


def test_an_enabled_list_leaves_only_what_it_names() -> None:
    fake = chosen(enabled_network_interfaces=("flat",)).hardware_types["fake-hardware"]
    assert (fake.interfaces[Interface.NETWORK], fake.left_out[Interface.NETWORK]) == (("flat",), ("noop",))


def test_the_default_of_the_setting_goes_before_the_order_of_the_hardware_type() -> None:
    found = chosen(default_network_interface="flat")
    assert found.default_interfaces("redfish")[Interface.NETWORK] == "flat"
    assert found.hardware_types["redfish"].interfaces[Interface.NETWORK] == ("flat", "noop")


def test_storage_is_noop_by_default_where_the_hardware_type_can_do_that() -> None:
    whole = catalog.load(enabled=("fake-hardware",))
    assert whole.default_interfaces("fake-hardware")[Interface.STORAGE] == "fake"
    assert catalog.chosen(whole, Settings()).default_interfaces("fake-hardware")[Interface.STORAGE] == "noop"
    only_fake = catalog.chosen(whole, Settings(enabled_storage_interfaces=("fake",)))
    assert only_fake.default_interfaces("fake-hardware")[Interface.STORAGE] == "fake"


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        (
            {"enabled_boot_interfaces": ("fake", "ipxe")},
            ("enabled_boot_interfaces cannot be ipxe", "no installed role", "fake, redfish-virtual-media"),
        ),
        (
            {"enabled_boot_interfaces": ("fake",)},
            ("enabled_boot_interfaces cannot be fake", "hardware type redfish", "Possible: redfish-virtual-media."),
        ),
        (
            {"default_power_interface": "fake"},
            ("default_power_interface cannot be fake", "hardware type redfish cannot use it", "Possible: redfish."),
        ),
        (
            {"default_network_interface": "flat", "enabled_network_interfaces": ("noop",)},
            ("default_network_interface cannot be flat", "with enabled_network_interfaces", "Possible: noop."),
        ),
    ],
)
def test_a_wrong_choice_stops_the_start_and_names_setting_value_and_what_is_possible(
    tmp_path: Path, settings: dict[str, Any], parts: tuple[str, ...]
) -> None:
    with pytest.raises(ChoiceInvalid) as caught:
        House(tmp_path, **settings)
    for part in parts:
        assert part in str(caught.value)


def test_a_new_node_gets_what_it_names_then_the_setting_then_the_first_of_its_driver(tmp_path: Path) -> None:
    house = House(tmp_path, default_network_interface="flat", enabled_management_interfaces=("fake", "noop", "redfish"))
    node = house.call("POST", "/nodes", {"driver": "redfish"}).json()
    assert (node["network_interface"], node["management_interface"]) == ("flat", "redfish")
    named = {"driver": "redfish", "network_interface": "noop", "management_interface": "noop"}
    node = house.call("POST", "/nodes", named).json()
    assert (node["network_interface"], node["management_interface"]) == ("noop", "noop")
    driver = house.call("GET", "/drivers/redfish").json()
    assert (driver["default_network_interface"], driver["enabled_network_interfaces"]) == ("flat", ["flat", "noop"])


def test_a_new_node_cannot_have_what_is_not_enabled(tmp_path: Path) -> None:
    house = House(tmp_path, enabled_network_interfaces=("flat",))
    answer = house.call("POST", "/nodes", {"driver": "redfish", "network_interface": "noop"})
    assert answer.status_code == 400
    text = "network_interface cannot be noop, which setting enabled_network_interfaces leaves out; possible: flat"
    assert text in fault(answer)


def test_the_environment_names_enabled_interfaces_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RACKWRIGHT_ENABLED_NETWORK_INTERFACES", "flat, noop")
    assert Settings().enabled_network_interfaces == ("flat", "noop")
