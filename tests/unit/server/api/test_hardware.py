# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The hardware of a node over HTTP: what is refused, and what is written down."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlmodel import select

from rackwright.domain.errors import Invalid
from rackwright.domain.passthru import Passthru
from rackwright.domain.steps import ArgInfo, Step
from rackwright.domain.verbs import Interface, Phase
from rackwright.services import management
from rackwright.store import hardware
from rackwright.store.operation import Operation
from rackwright.store.session import writing
from tests.unit.server.api_house import PUBLIC, House, fault

_M, _V = Interface.MANAGEMENT, Interface.VENDOR
DISK = {"raid_level": "1", "size_gb": 50}


def offers(house: House, kind: Interface, name: str, **more: Any) -> None:
    """Let fake nodes have one more step of the phase management."""
    known = house.parts.catalog.implementations
    assert isinstance(known, dict)
    step = Step(name=name, phase=Phase.MANAGEMENT, interface=kind, role="rackwright.metal.fake", **more)
    known[kind, "fake"] = replace(known[kind, "fake"], steps=(*known[kind, "fake"].steps, step))


@pytest.fixture
def able(house: House) -> House:
    """Return a house whose fake nodes have vendor methods, virtual media and a boot mode."""
    bar = {"bar": ArgInfo(required=True)}
    for kind, name, more in (
        (_M, "set_boot_mode", {}),
        (_M, "attach_virtual_media", {}),
        (_M, "detach_virtual_media", {}),
        (_V, "call_me", {"passthru": Passthru(description="Calls."), "argsinfo": bar}),
        (_V, "share_me", {"passthru": Passthru(description="Shares.", exclusive=False)}),
    ):
        offers(house, kind, name, **more)
    return house


def operation(house: House) -> Operation:
    with writing(house.parts.engine) as session:
        return session.exec(select(Operation)).one()


@pytest.mark.parametrize(
    ("method", "path", "first", "before"),
    [
        ("PUT", "/nodes/n/states/raid", 12, 406),
        ("GET", "/drivers/fake-hardware/raid/logical_disk_properties", 12, 406),
        ("PUT", "/nodes/n/management/inject_nmi", 29, 404),
        ("GET", "/nodes/n/bios", 40, 404),
        ("GET", "/nodes/n/bios/Turbo", 40, 404),
        ("GET", "/nodes/n/management/indicators/led@system", 63, 404),
        ("PUT", "/nodes/n/management/indicators/led@system", 63, 404),
        ("PUT", "/nodes/n/states/boot_mode", 76, 404),
        ("PUT", "/nodes/n/states/secure_boot", 76, 404),
        ("GET", "/nodes/n/firmware", 86, 404),
        ("POST", "/nodes/n/vmedia", 89, 404),
        ("DELETE", "/nodes/n/vmedia", 89, 404),
        ("GET", "/nodes/n/vmedia", 93, 404),
    ],
)
def test_an_endpoint_is_hidden_before_its_version(
    house: House, method: str, path: str, first: int, before: int
) -> None:
    house.node(name="n")
    old = house.call(method, path, version=f"1.{first - 1}")
    assert old.status_code == before
    assert f"needs API version 1.{first}" in fault(old)
    new = house.call(method, path, version=f"1.{first}")
    assert f"needs API version 1.{first}" not in new.text


def test_the_raid_configuration_is_stored_and_cleared(house: House) -> None:
    uuid = house.node()
    wanted = {"logical_disks": [DISK | {"is_root_volume": True}, {"raid_level": "1+0", "size_gb": "MAX"}]}
    assert house.call("PUT", f"/nodes/{uuid}/states/raid", wanted).status_code == 204
    assert house.call("GET", f"/nodes/{uuid}/states").json()["target_raid_config"] == wanted
    assert house.call("PUT", f"/nodes/{uuid}/states/raid", {}).status_code == 204
    assert house.call("GET", f"/nodes/{uuid}").json()["target_raid_config"] == {}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (None, "null is not a JSON object"),
        ([], "a list is not a JSON object"),
        ({"logical_disks": []}, "logical_disks: the list has 0 items; it needs 1 at least"),
        ({"logical_disks": {}}, "logical_disks: a JSON object is not a list"),
        ({"logical_disks": [DISK], "colour": "red"}, "unknown: colour; known keys: logical_disks"),
        ({"logical_disks": [{}]}, "logical_disks[0]: the keys raid_level, size_gb are missing"),
        ({"logical_disks": [{"raid_level": "1"}]}, "logical_disks[0]: the key size_gb is missing"),
        ({"logical_disks": [DISK | {"raid_level": "7"}]}, 'logical_disks[0].raid_level: "7" is not one of JBOD, 0'),
        (
            {"logical_disks": [DISK | {"size_gb": "x"}]},
            'logical_disks[0].size_gb: "x" is not a whole number of at least 1 or "MAX".',
        ),
        ({"logical_disks": [DISK | {"size_gb": 0}]}, 'size_gb: 0 is not a whole number of at least 1 or "MAX".'),
        ({"logical_disks": [DISK | {"disk_type": "tape"}]}, 'disk_type: "tape" is not one of hdd, ssd'),
        ({"logical_disks": [DISK | {"physical_disks": [5]}]}, "physical_disks[0]: 5 is not a text or a JSON object"),
        ({"logical_disks": [DISK | {"is_root_volume": True}] * 2}, "more than one logical disk as root volume"),
    ],
)
def test_a_wrong_raid_configuration_is_400_and_told_in_words(house: House, body: Any, text: str) -> None:
    uuid = house.node()
    answer = house.call("PUT", f"/nodes/{uuid}/states/raid", body)
    assert (answer.status_code, text in fault(answer)) == (400, True), fault(answer)
    assert house.stored(uuid).target_raid_config == {}


def test_raid_of_what_has_none_is_404_and_of_a_locked_node_409(house: House) -> None:
    uuid = house.node(raid_interface="no-raid")
    answer = house.call("PUT", f"/nodes/{uuid}/states/raid", {})
    assert (answer.status_code, "choose another raid_interface" in fault(answer)) == (404, True)
    assert house.call("GET", "/drivers/redfish/raid/logical_disk_properties").status_code == 404
    assert house.call("GET", "/drivers/unheard-of/raid/logical_disk_properties").status_code == 404
    locked = house.node(reservation="host")
    assert house.call("PUT", f"/nodes/{locked}/states/raid", {}).status_code == 409


def test_the_console_is_switched_and_stays_so(house: House) -> None:
    uuid = house.node(name="n", console_interface="fake")
    for path in ("/nodes/n/states/console", "/nodes/states/console/n"):
        for enabled in (True, False):
            answer = house.call("PUT", path, {"enabled": enabled})
            where = f"{PUBLIC}/v1/nodes/n/states/console"
            assert (answer.status_code, answer.content, answer.headers["Location"]) == (202, b"", where)
            found: dict[str, Any] = {"console_enabled": enabled, "console_info": {} if enabled else None}
            assert house.call("GET", path).json() == found
            assert house.stored(uuid).console_enabled is enabled


def test_a_console_that_is_not_there_or_locked_is_refused(house: House) -> None:
    uuid = house.node(console_interface="no-console")
    for method, body in (("GET", None), ("PUT", {"enabled": True})):
        answer = house.call(method, f"/nodes/{uuid}/states/console", body)
        assert (answer.status_code, "choose another console_interface" in fault(answer)) == (400, True)
    locked = house.node(console_interface="fake", reservation="host")
    assert house.call("PUT", f"/nodes/{locked}/states/console", {"enabled": True}).status_code == 409
    assert house.call("PUT", f"/nodes/{locked}/states/console", {}).status_code == 400


@pytest.fixture
def known(house: House) -> House:
    node_id = house.stored(house.node(name="n")).id or 0
    settings = [{"name": "Turbo", "value": "on", "attribute_type": "Enumeration", "allowable_values": ["on", "off"]}]
    components = [{"component": "bmc", "current_version": "1.0", "vendor": "Contoso"}]
    with writing(house.parts.engine) as session:
        hardware.replace_settings(node_id, [*settings, {"name": "Cores", "value": 8}], session=session)
        hardware.keep_components(node_id, components, session=session)
        session.commit()
    return house


SHORT = {"created_at", "updated_at", "name", "value", "links"}


def test_bios_settings_are_short_unless_detail_is_asked_for(known: House) -> None:
    one, other = known.call("GET", "/nodes/n/bios").json()["bios"]
    assert (set(one), one["name"], one["value"], other["name"]) == (SHORT, "Cores", "8", "Turbo")
    assert other["links"][0]["href"].endswith("/bios/Turbo")
    whole = known.call("GET", "/nodes/n/bios?detail=true").json()["bios"][1]
    assert (whole["attribute_type"], whole["allowable_values"], whole["read_only"]) == (
        "Enumeration",
        ["on", "off"],
        None,
    )
    assert known.call("GET", "/nodes/n/bios/Turbo").json() == {"Turbo": whole}
    assert set(known.call("GET", "/nodes/n/bios/Turbo", version="1.73").json()["Turbo"]) == SHORT
    chosen = known.call("GET", "/nodes/n/bios?fields=name,read_only").json()["bios"][0]
    assert set(chosen) == {"name", "read_only", "links"}


@pytest.mark.parametrize(
    ("query", "version", "status"),
    [
        ("detail=true&fields=name", "1.115", 400),
        ("fields=colour", "1.115", 400),
        ("detail=true", "1.73", 400),
        ("fields=name", "1.73", 400),
        ("limit=1", "1.115", 400),
    ],
)
def test_wrong_questions_for_bios_settings_are_400(known: House, query: str, version: str, status: int) -> None:
    assert known.call("GET", f"/nodes/n/bios?{query}", version=version).status_code == status


def test_a_bios_setting_that_is_not_there_names_the_node(known: House) -> None:
    answer = known.call("GET", "/nodes/n/bios/Nothing")
    assert (answer.status_code, fault(answer)) == (404, "BIOS setting Nothing of node n could not be found.")


def test_firmware_shows_who_made_it_from_its_version_on(known: House) -> None:
    (component,) = known.call("GET", "/nodes/n/firmware").json()["firmware"]
    assert (component["component"], component["initial_version"], component["vendor"]) == ("bmc", "1.0", "Contoso")
    (old,) = known.call("GET", "/nodes/n/firmware", version="1.113").json()["firmware"]
    assert old.keys() ^ component.keys() == {"vendor", "model", "serial_number"}


def test_the_first_version_of_a_component_stays(known: House) -> None:
    node_id = known.stored("n").id or 0
    with writing(known.parts.engine) as session:
        hardware.keep_components(node_id, [{"component": "bmc", "current_version": "2.0"}], session=session)
        session.commit()
    (component,) = known.call("GET", "/nodes/n/firmware").json()["firmware"]
    versions = component["initial_version"], component["current_version"], component["vendor"]
    assert versions == ("1.0", "2.0", "Contoso")


@pytest.mark.parametrize("told", [None, ["Turbo"], [{"value": "on"}], {"name": "Turbo"}])
def test_settings_that_are_none_are_not_stored(known: House, told: Any) -> None:
    with writing(known.parts.engine) as session, pytest.raises(Invalid, match="list of objects with name"):
        hardware.replace_settings(known.stored("n").id or 0, told, session=session)
    assert len(known.call("GET", "/nodes/n/bios").json()["bios"]) == 2


def test_a_boot_mode_is_accepted_and_written_down(able: House) -> None:
    uuid = able.node(last_error="before")
    answer = able.call("PUT", f"/nodes/{uuid}/states/boot_mode", {"target": "bios"})
    assert (answer.status_code, answer.headers["Location"]) == (202, f"{PUBLIC}/v1/nodes/{uuid}/states")
    found = operation(able)
    assert (found.steps[0]["name"], found.steps[0]["args"]) == ("set_boot_mode", {"boot_mode": "bios"})
    assert able.stored(uuid).last_error is None
    assert able.call("PUT", f"/nodes/{uuid}/states/boot_mode", {"target": "bios"}).status_code == 409


@pytest.mark.parametrize("body", [{}, {"target": "efi"}, {"target": None}, {"target": "bios", "a": 1}])
def test_a_wrong_boot_mode_is_400(able: House, body: Any) -> None:
    assert able.call("PUT", f"/nodes/{able.node()}/states/boot_mode", body).status_code == 400


def test_a_boot_mode_waits_for_a_stable_state(able: House) -> None:
    uuid = able.node(provision_state="clean wait")
    assert able.call("PUT", f"/nodes/{uuid}/states/boot_mode", {"target": "bios"}).status_code == 409


def test_what_an_interface_has_no_step_for_is_400_and_names_it(house: House) -> None:
    uuid = house.node(name="n")
    for path, body in (("states/secure_boot", {"target": True}), ("management/inject_nmi", {})):
        answer = house.call("PUT", f"/nodes/{uuid}/{path}", body)
        assert answer.status_code == 400
        assert "not supported by the management interface fake of node n" in fault(answer)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"device_type": "cdrom", "image_url": "http://a/b.iso"}, 204),
        ({"device_type": "disk", "image_url": "nfs://a/b.img", "image_download_source": "http"}, 204),
        ({"device_type": "tape", "image_url": "http://a/b.iso"}, 400),
        ({"device_type": "cdrom", "image_url": "file:///etc/passwd"}, 400),
        ({"device_type": "cdrom", "image_url": "http:b.iso"}, 400),
        ({"device_type": "cdrom", "image_url": "http://a/b", "image_download_source": "ftp"}, 400),
        ({"image_url": "http://a/b.iso"}, 400),
        ({"device_type": "cdrom"}, 400),
    ],
)
def test_virtual_media_take_images_of_known_schemes(able: House, body: Any, status: int) -> None:
    assert able.call("POST", f"/nodes/{able.node()}/vmedia", body).status_code == status


def test_virtual_media_of_a_node_in_power_failure_are_503(able: House) -> None:
    uuid = able.node(fault="power failure")
    body = {"device_type": "cdrom", "image_url": "http://a/b.iso"}
    assert able.call("POST", f"/nodes/{uuid}/vmedia", body).status_code == 503


@pytest.mark.parametrize(
    ("query", "devices"),
    [
        ("", ["disk", "cdrom", "floppy"]),
        ("?device_types=CDROM,floppy", ["cdrom", "floppy"]),
        ("?device_types=cdrom&device_types=disk", ["cdrom", "disk"]),
        ("?device_types=tape", None),
        ("?device_type=disk", None),
    ],
)
def test_drives_are_emptied_by_kind(able: House, query: str, devices: list[str] | None) -> None:
    answer = able.call("DELETE", f"/nodes/{able.node()}/vmedia{query}")
    if devices is None:
        assert answer.status_code == 400
        return
    assert answer.status_code == 204
    assert operation(able).steps[0]["args"] == {"device_types": devices}


def test_vendor_methods_tell_how_they_are_called(able: House) -> None:
    found = able.call("GET", f"/nodes/{able.node()}/vendor_passthru/methods").json()
    assert found == {
        "call_me": {
            "http_methods": ["POST"],
            "async": True,
            "description": "Calls.",
            "attach": False,
            "require_exclusive_lock": True,
        },
        "share_me": {
            "http_methods": ["POST"],
            "async": True,
            "description": "Shares.",
            "attach": False,
            "require_exclusive_lock": False,
        },
    }


@pytest.mark.parametrize(
    ("method", "path", "body", "told"),
    [
        ("POST", "/unheard_of", {}, "its methods: call_me, share_me"),
        ("POST", "", {"bar": 1}, "(none named)"),
        ("GET", "/call_me", None, "called with POST, not with GET"),
        ("POST", "/call_me", {}, "Argument bar of vendor method call_me is missing"),
        ("POST", "/call_me", ["bar"], "must be a JSON object"),
        ("POST", "/call_me?bar=1", {"bar": 1}, "Unexpected arguments: bar"),
        ("POST", "/get_boot_device", {}, "its methods: call_me, share_me"),
    ],
)
def test_wrong_calls_of_vendor_methods_are_400(able: House, method: str, path: str, body: Any, told: str) -> None:
    answer = able.call(method, f"/nodes/{able.node()}/vendor_passthru{path}", body)
    assert (answer.status_code, told in fault(answer)) == (400, True), answer.text


@pytest.mark.parametrize("path", ["/call_me", "?method=call_me"])
def test_a_vendor_method_gets_its_arguments(able: House, path: str) -> None:
    uuid = able.node()
    assert able.call("POST", f"/nodes/{uuid}/vendor_passthru{path}", {"bar": [1], "more": "x"}).status_code == 202
    found = operation(able).steps[0]
    assert (found["name"], found["interface"], found["args"]) == ("call_me", "vendor", {"bar": [1], "more": "x"})
    assert able.call("POST", f"/nodes/{uuid}/vendor_passthru{path}", {"bar": 1}).status_code == 409


def test_a_shared_method_waits_for_the_lock_but_not_for_ever(able: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(management, "_LONGEST", 0.2)
    uuid = able.node(reservation="host")
    assert able.call("POST", f"/nodes/{uuid}/vendor_passthru/share_me").status_code == 409


def test_a_node_without_a_vendor_interface_has_no_methods(house: House) -> None:
    uuid = house.node(vendor_interface="no-vendor")
    assert house.call("GET", f"/nodes/{uuid}/vendor_passthru/methods").status_code == 400


def test_a_driver_has_no_methods_of_its_own(house: House) -> None:
    assert house.call("GET", "/drivers/fake-hardware/vendor_passthru/methods").json() == {}
    assert house.call("POST", "/drivers/fake-hardware/vendor_passthru/a", {}).status_code == 400
    assert house.call("GET", "/drivers/fake-hardware/vendor_passthru?method=a").status_code == 400
    assert house.call("GET", "/drivers/unheard-of/vendor_passthru/methods").status_code == 404


def test_a_question_does_not_end_what_waits(able: House) -> None:
    """An operation that waits holds no lock, and is still the only one that a node can have."""
    uuid = able.node(provision_state="manageable")
    assert able.call("PUT", f"/nodes/{uuid}/states/provision", {"target": "provide"}).status_code == 202
    able.set(uuid, reservation=None, provision_state="clean wait")
    assert able.call("GET", f"/nodes/{uuid}/management/boot_device").status_code == 409
    assert operation(able).status == "ready"
