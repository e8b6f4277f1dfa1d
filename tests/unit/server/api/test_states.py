# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import Any

import pytest
from sqlmodel import select

from rackwright.store.operation import Operation
from rackwright.store.session import reading
from tests.unit.server.api_house import PUBLIC, House, fault

ARGUMENTS: dict[str, Any] = {
    "clean": {"clean_steps": [{"interface": "bios", "step": "factory_reset"}]},
    "service": {"service_steps": [{"interface": "power", "step": "reboot"}]},
    "rescue": {"rescue_password": "pw"},
}
IMAGE = {"image_source": "http://192.0.2.1/image"}


def operations(house: House) -> list[Operation]:
    with reading(house.parts.engine) as session:
        return list(session.exec(select(Operation)).all())


def send(house: House, uuid: str, target: str, *, version: str = "1.115", **more: Any) -> Any:
    body = {"target": target, **ARGUMENTS.get(target, {}), **more}
    return house.call("PUT", f"/nodes/{uuid}/states/provision", body, version=version)


def test_states_show_what_a_version_knows(house: House) -> None:
    uuid = house.node()
    keys = {
        minor: set(house.call("GET", f"/nodes/{uuid}/states", version=f"1.{minor}").json()) for minor in (1, 12, 75)
    }
    assert keys[12] - keys[1] == {"raid_config", "target_raid_config"}
    assert keys[75] - keys[12] == {"boot_mode", "secure_boot"}
    assert "target_provision_state" in keys[1]


@pytest.mark.parametrize(
    ("state", "target", "then", "aims", "phase"),
    [
        ("enroll", "manage", "verifying", "manageable", "verify"),
        ("manageable", "inspect", "inspecting", "manageable", "inspect"),
        ("manageable", "clean", "cleaning", "manageable", "clean"),
        ("manageable", "provide", "cleaning", "available", "clean"),
        ("manageable", "adopt", "adopting", "active", "adopt"),
        ("available", "active", "deploying", "active", "deploy"),
        ("available", "deploy", "deploying", "active", "deploy"),
        ("available", "manage", "manageable", None, None),
        ("active", "deleted", "deleting", "available", "undeploy"),
        ("active", "undeploy", "deleting", "available", "undeploy"),
        ("active", "rebuild", "deploying", "active", "deploy"),
        ("active", "rescue", "rescuing", "rescue", "rescue"),
        ("rescue", "unrescue", "unrescuing", "active", "unrescue"),
        ("active", "service", "servicing", "active", "service"),
        ("deploy failed", "manage", "manageable", None, None),
        ("clean failed", "manage", "manageable", None, None),
    ],
)
def test_a_verb_writes_state_target_and_operation_at_once(
    house: House, state: str, target: str, then: str, aims: str | None, phase: str | None
) -> None:
    uuid = house.node(provision_state=state, instance_info=IMAGE)
    answer = send(house, uuid, target)
    assert (answer.status_code, answer.content) == (202, b""), answer.text
    assert answer.headers["Location"] == f"{PUBLIC}/v1/nodes/{uuid}/states"
    node = house.call("GET", f"/nodes/{uuid}").json()
    assert (node["provision_state"], node["target_provision_state"]) == (then, aims)
    assert [each.phase for each in operations(house)] == ([phase] if phase else [])
    assert (node["reservation"] is not None) == (phase is not None)


@pytest.mark.parametrize(
    ("state", "target", "columns", "more", "status"),
    [
        ("enroll", "active", {}, {}, 400),
        ("enroll", "fly", {}, {}, 400),
        ("deploying", "active", {"reservation": "host"}, {}, 409),
        ("deploying", "active", {}, {}, 400),
        ("deploying", "abort", {"reservation": "host"}, {}, 409),
        ("manageable", "provide", {"reservation": "host"}, {}, 409),
        ("available", "manage", {"reservation": "host"}, {}, 409),
        ("available", "active", {"maintenance": True}, {}, 400),
        ("available", "deploy", {"maintenance": True}, {}, 400),
        ("active", "rebuild", {"maintenance": True}, {}, 400),
        ("manageable", "clean", {"maintenance": True}, {}, 400),
        ("active", "service", {"maintenance": True}, {}, 400),
        ("active", "rescue", {"maintenance": True}, {}, 400),
        ("rescue", "unrescue", {"maintenance": True}, {}, 400),
        ("active", "deleted", {"maintenance": True}, {}, 202),
        ("manageable", "provide", {"maintenance": True}, {}, 202),
        ("enroll", "manage", {"maintenance": True}, {}, 202),
        ("service failed", "abort", {"maintenance": True}, {}, 409),
        ("active", "deleted", {"protected": True}, {}, 403),
        ("active", "rebuild", {"protected": True}, {}, 403),
        ("active", "rescue", {"protected": True}, {}, 202),
        ("active", "rebuild", {}, {}, 400),
        ("active", "rebuild", {"instance_info": IMAGE}, {}, 202),
        ("active", "rescue", {}, {"rescue_password": "a\x00b"}, 400),
        (
            "manageable",
            "clean",
            {},
            {"clean_steps": [{"interface": "deploy", "step": "wait", "args": {"seconds": "x"}}]},
            400,
        ),
        ("manageable", "provide", {"retired": True}, {}, 400),
        ("available", "active", {"instance_info": {"traits": ["CUSTOM_A"]}}, {}, 400),
        ("available", "active", {"instance_info": {"traits": ["CUSTOM_A"]}, "traits": ["CUSTOM_A"]}, {}, 202),
        ("manageable", "clean", {}, {"clean_steps": []}, 400),
        ("manageable", "clean", {}, {"clean_steps": None}, 400),
        ("manageable", "clean", {}, {"clean_steps": [{"interface": "bios"}]}, 400),
        ("manageable", "clean", {}, {"clean_steps": [{"step": "factory_reset"}]}, 400),
        ("manageable", "clean", {}, {"clean_steps": [{"interface": "bios", "step": "factory_reset", "x": 1}]}, 400),
        ("manageable", "clean", {}, {"clean_steps": [{"interface": "inspect", "step": "a"}]}, 400),
        ("manageable", "clean", {}, {"clean_steps": [{"interface": "bios", "step": "unknown"}]}, 400),
        ("manageable", "clean", {}, {"clean_steps": "factory_reset"}, 400),
        ("manageable", "clean", {}, {"clean_steps": None, "runbook": "none"}, 404),
        ("manageable", "clean", {}, {"disable_ramdisk": "perhaps"}, 400),
        ("manageable", "inspect", {}, {"clean_steps": [{"interface": "bios", "step": "factory_reset"}]}, 400),
        ("manageable", "provide", {}, {"configdrive": "QUJD"}, 400),
        ("available", "deploy", {}, {"configdrive": "QUJD"}, 400),
        ("available", "active", {}, {"configdrive": "QUJD"}, 202),
        ("available", "active", {}, {"configdrive": "{broken"}, 400),
        ("available", "active", {}, {"configdrive": 5}, 400),
        ("available", "active", {}, {"configdrive": {"colour": {}}}, 400),
        ("available", "active", {}, {"configdrive": {"meta_data": {"$sealed": "x"}}}, 400),
        ("available", "active", {}, {"rescue_password": "pw"}, 400),
        ("available", "active", {}, {"colour": "red"}, 400),
        ("available", "active", {}, {"deploy_steps": [{"interface": "deploy", "step": "deploy", "args": {}}]}, 400),
        ("active", "rescue", {}, {"rescue_password": "  "}, 400),
        ("active", "rescue", {}, {"rescue_password": None}, 400),
    ],
)
def test_a_verb_is_checked_against_node_and_arguments(
    house: House, state: str, target: str, columns: dict[str, Any], more: dict[str, Any], status: int
) -> None:
    uuid = house.node()
    house.set(uuid, provision_state=state, **columns)
    answer = send(house, uuid, target, **more)
    assert answer.status_code == status, answer.text
    if status != 202:
        assert house.stored(uuid).provision_state == state
        assert operations(house) == []


@pytest.mark.parametrize(
    ("state", "target", "more", "minor"),
    [
        ("enroll", "manage", {}, 4),
        ("manageable", "inspect", {}, 6),
        ("manageable", "clean", {}, 15),
        ("manageable", "clean", {"disable_ramdisk": False}, 70),
        ("manageable", "adopt", {}, 17),
        ("available", "deploy", {}, 73),
        ("active", "rebuild", {"configdrive": "QUJD"}, 35),
        ("active", "rescue", {}, 38),
        ("active", "service", {}, 87),
        ("available", "active", {"configdrive": {"meta_data": {}}}, 56),
        ("available", "active", {"configdrive": {"vendor_data": {}}}, 59),
        ("available", "active", {"deploy_steps": []}, 69),
    ],
)
def test_verbs_and_arguments_have_their_first_versions(
    house: House, state: str, target: str, more: dict[str, Any], minor: int
) -> None:
    uuid = house.node(provision_state=state, instance_info=IMAGE)
    assert send(house, uuid, target, version=f"1.{minor - 1}", **more).status_code == 406
    assert send(house, uuid, target, version=f"1.{minor}", **more).status_code == 202


def test_config_drive_and_rescue_password_are_sealed_at_rest(house: House) -> None:
    uuid = house.node(provision_state="available")
    send(house, uuid, "active", configdrive={"user_data": "geheim"})
    house.settle(uuid, "active")
    send(house, uuid, "rescue", rescue_password="auch geheim")
    stored = house.stored(uuid).instance_info
    opened = house.parts.sealer.unseal(stored)
    assert "geheim" not in str(stored)
    assert opened["configdrive"] == {"user_data": "geheim"}
    assert opened["hashed_rescue_password"].startswith("$5$")
    assert house.call("GET", f"/nodes/{uuid}").json()["instance_info"]["configdrive"] == "******"


def test_a_deployment_lends_the_node_to_the_project_of_its_instance(house: House) -> None:
    uuid = house.node(provision_state="available", instance_info={"project_id": "p1"})
    send(house, uuid, "active")
    assert house.call("GET", f"/nodes/{uuid}").json()["lessee"] == "p1"


def test_rebuilding_an_image_of_an_image_service_forgets_its_parts(house: House) -> None:
    for source, kept in (("3f0c2f0e-0f44-4f5a-9a36-0c6f7ad2b305", False), ("http://192.0.2.1/image", True)):
        info = {"image_source": source, "kernel": "k", "ramdisk": "r", "root_gb": "10"}
        uuid = house.node(provision_state="active", instance_info=info)
        assert send(house, uuid, "rebuild").status_code == 202
        assert ("kernel" in house.stored(uuid).instance_info) is kept
        assert house.stored(uuid).instance_info["root_gb"] == "10"


def test_deploying_needs_an_image_and_its_checksum(house: House) -> None:
    info = {"redfish_address": "https://192.0.2.1", "deploy_kernel": "http://k", "deploy_ramdisk": "http://r"}
    uuid = house.node(driver="redfish", driver_info=info, provision_state="available")
    for given, hint in [({}, "image_source"), ({"image_source": "http://i/image"}, "image_checksum")]:
        house.set(uuid, instance_info=given)
        answer = send(house, uuid, "active")
        assert (answer.status_code, hint in fault(answer)) == (400, True)


@pytest.mark.parametrize(
    ("target", "version", "columns", "more", "status"),
    [
        ("power on", "1.1", {}, {}, 202),
        ("power off", "1.1", {}, {}, 202),
        ("rebooting", "1.1", {}, {}, 202),
        ("soft power off", "1.26", {}, {}, 406),
        ("soft power off", "1.27", {}, {"timeout": 5}, 202),
        ("soft rebooting", "1.27", {}, {"timeout": "5"}, 202),
        ("power on", "1.26", {}, {"timeout": 5}, 406),
        ("power on", "1.27", {}, {"timeout": 0}, 400),
        ("power on", "1.27", {}, {"timeout": "soon"}, 400),
        ("sideways", "1.115", {}, {}, 400),
        ("power on", "1.115", {"provision_state": "cleaning"}, {}, 400),
        ("power on", "1.115", {"provision_state": "clean wait"}, {}, 400),
        ("power on", "1.115", {"reservation": "host"}, {}, 409),
        ("power off", "1.115", {"disable_power_off": True}, {}, 409),
        ("soft power off", "1.115", {"disable_power_off": True}, {}, 409),
        ("power on", "1.115", {"disable_power_off": True}, {}, 202),
    ],
)
def test_power_targets(
    house: House, target: str, version: str, columns: dict[str, Any], more: dict[str, Any], status: int
) -> None:
    uuid = house.node()
    house.set(uuid, **columns)
    answer = house.call("PUT", f"/nodes/{uuid}/states/power", {"target": target, **more}, version=version)
    assert answer.status_code == status, answer.text
    assert len(operations(house)) == (1 if status == 202 else 0)
    assert (house.stored(uuid).target_power_state is not None) == (status == 202)


@pytest.mark.parametrize("body", [None, {}, {"reason": None}, {"reason": "disk"}])
def test_maintenance_is_set_and_cleared(house: House, body: Any) -> None:
    uuid = house.node()
    assert house.call("PUT", f"/nodes/{uuid}/maintenance", body).status_code == 202
    node = house.call("GET", f"/nodes/{uuid}").json()
    assert (node["maintenance"], node["maintenance_reason"]) == (True, (body or {}).get("reason"))
    house.set(uuid, fault="power failure")
    assert house.call("DELETE", f"/nodes/{uuid}/maintenance").status_code == 202
    node = house.call("GET", f"/nodes/{uuid}").json()
    assert (node["maintenance"], node["maintenance_reason"], node["fault"]) == (False, None, None)


def test_maintenance_of_a_locked_node_and_unknown_keys_are_refused(house: House) -> None:
    uuid = house.node()
    assert house.call("PUT", f"/nodes/{uuid}/maintenance", {"why": "x"}).status_code == 400
    house.set(uuid, reservation="host")
    assert house.call("PUT", f"/nodes/{uuid}/maintenance", {}).status_code == 409
    assert house.call("DELETE", f"/nodes/{uuid}/maintenance").status_code == 409
