# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rackwright.domain.verbs import Interface, Phase
from rackwright.engine.context import REPEATED_BOOTS, Subject, append, bmc, boot, boot_mode, capabilities, compose
from rackwright.settings import Settings
from tests.unit.server.engine.engine_house import step

OPERATION = "44444444-4444-4444-8444-444444444444"


def settings(**given: Any) -> Settings:
    return Settings(state_dir=Path("/state"), **given)


def node(**fields: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {"driver_info": {}, "driver_internal_info": {}, "instance_info": {}, "properties": {}}
    return empty | fields


def subject(phase: Phase = Phase.DEPLOY, **fields: Any) -> Subject:
    return Subject(node(**fields), [], "redfish", OPERATION, phase, {})


def test_a_bmc_is_told_by_the_keys_of_its_protocol_with_safe_defaults() -> None:
    info = {"redfish_address": "192.0.2.1", "redfish_password": "p", "deploy_kernel": "k"}
    assert bmc(info, "redfish") == {
        "protocol": "redfish",
        "address": "https://192.0.2.1",
        "system_id": None,
        "username": None,
        "password": "p",
        "verify_ca": True,
        "auth_type": "auto",
    }
    assert bmc({"redfish_address": "http://192.0.2.1", "redfish_verify_ca": False}, "redfish")["verify_ca"] is False
    assert bmc({"fake_x": 1}, None) == {}


def test_an_agent_that_has_not_spoken_yet_has_no_address() -> None:
    made = compose(subject(driver_internal_info={"agent_secret_token": "t"}), _STEP, 3, settings=settings())
    assert made["agent"] == {"url": None, "token": "t", "ca": None, "seen_at": None}
    assert made["step"] == {"name": "write_image", "interface": "deploy", "index": 3, "args": {}}


def test_after_a_boot_in_vain_an_override_is_to_stay_and_after_the_next_one_it_is_not() -> None:
    boots = [subject(), *(replace(subject(), facts={REPEATED_BOOTS: count}) for count in (1, 2, 3))]
    told = [compose(each, _STEP, 0, settings=settings())["override"] for each in boots]
    assert told == [{}, {"persistent": True}, {"persistent": False}, {"persistent": True}]


def test_only_a_rescue_tells_the_password_for_the_agent_and_only_as_its_hash() -> None:
    info = {"hashed_rescue_password": "$5$s$h"}
    told = {phase: compose(subject(phase, instance_info=info), _STEP, 0, settings=settings()) for phase in Phase}
    wanted = {"rescue.finalize_rescue": {"rescue_password": "$5$s$h", "hashed": True}}
    assert told[Phase.RESCUE]["commands"] == wanted
    assert [phase for phase in Phase if told[phase]["commands"]] == [Phase.RESCUE]


def test_fake_hardware_takes_the_time_that_is_set_for_the_interface_of_its_step() -> None:
    given = settings(fake_delays={"deploy": "1,3"})
    assert compose(subject(), _STEP, 0, settings=given)["fake"] == {"delay": "1,3"}
    other = step(Phase.DEPLOY, Interface.POWER, "power_on")
    assert compose(subject(), other, 0, settings=given)["fake"] == {"delay": "0"}


_STEP = step(Phase.DEPLOY, Interface.DEPLOY, "write_image")


def test_the_ramdisk_of_the_node_goes_before_that_of_the_operator() -> None:
    given = settings(
        deploy_kernel="http://o/kernel", deploy_ramdisk="http://o/ramdisk", rescue_kernel="http://o/rescue"
    )
    made = boot(subject(driver_info={"deploy_kernel": "http://n/kernel"}), given)
    assert (made["kernel"], made["ramdisk"]) == ("http://n/kernel", "http://o/ramdisk")
    assert boot(subject(Phase.RESCUE), given)["kernel"] == "http://o/rescue"


def test_boot_media_are_named_after_the_operation_and_served_from_the_right_side() -> None:
    given = settings(external_callback_url="http://192.0.2.7:6385/", external_http_url=None)
    made = boot(subject(driver_internal_info={"agent_secret_token": "t"}), given)
    assert made["file"] == f"/state/http/boot/{OPERATION}.iso"
    assert made["url"] == f"http://192.0.2.7:6385/files/boot/{OPERATION}.iso"
    assert made["parameters"]["ipa-api-url"] == "http://192.0.2.7:6385"
    assert made["parameters"]["ipa-agent-token"] == "t"
    assert "ipa-inspection-callback-url" not in made["parameters"]


def test_inspection_tells_the_agent_where_its_report_goes() -> None:
    made = boot(subject(Phase.INSPECT), settings(extra_kernel_params="quiet"))
    assert made["parameters"]["ipa-inspection-callback-url"].endswith("/v1/continue_inspection")
    assert made["append"] == "nofb vga=normal quiet"


def test_a_nodes_own_kernel_parameters_may_extend_the_operators() -> None:
    info = {"kernel_append_params": "%default% console=ttyS1"}
    assert append(subject(driver_info=info), settings()) == "nofb vga=normal console=ttyS1"
    assert append(subject(driver_info=info, instance_info={"kernel_append_params": "x"}), settings()) == "x"


@pytest.mark.parametrize(
    ("fields", "mode"),
    [
        ({}, "uefi"),
        ({"properties": {"capabilities": "boot_mode:bios,x:y"}}, "bios"),
        (
            {
                "instance_info": {"capabilities": {"boot_mode": "uefi"}},
                "properties": {"capabilities": "boot_mode:bios"},
            },
            "uefi",
        ),
        ({"instance_info": {"capabilities": '{"boot_mode": "bios"}'}}, "bios"),
        ({"instance_info": {"deploy_boot_mode": "bios"}}, "bios"),
        ({"instance_info": {"capabilities": {"boot_mode": "bios", "secure_boot": "true"}}}, "uefi"),
        ({"driver_internal_info": {"deploy_boot_mode": "bios"}}, "bios"),
        ({"properties": {"capabilities": "boot_mode:nonsense"}}, "uefi"),
    ],
)
def test_the_boot_mode_that_is_named_first_wins(fields: dict[str, Any], mode: str) -> None:
    assert boot_mode(node(**fields), settings()) == mode


@pytest.mark.parametrize("value", [None, 5, "", "[1]", "no colon", {"a": "b"}])
def test_capabilities_in_any_form_are_an_object(value: object) -> None:
    assert isinstance(capabilities(value), dict)


def test_the_config_drive_stands_apart_from_the_instance() -> None:
    made = compose(subject(instance_info={"configdrive": "c", "image_source": "i"}), _STEP, 0, settings=settings())
    assert made["deploy"]["configdrive"] == "c"
    assert made["deploy"]["instance_info"] == {"image_source": "i"}
    assert made["deploy"]["image_dir"] == "/state/http/images"


def test_hints_of_the_instance_go_before_those_of_the_machine() -> None:
    fields: dict[str, Any] = {
        "instance_info": {"root_device": {"size": 10}},
        "properties": {"root_device": {"size": 20}},
    }
    assert compose(subject(**fields), _STEP, 0, settings=settings())["deploy"]["root_device"] == {"size": 10}
