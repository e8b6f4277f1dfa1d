# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What the API does to hardware, with real playbooks: on fake hardware, and on a Redfish BMC that is a test server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import DRIVE, ISO, SYSTEM, BmcServer
from tests.integration.server.daemon_house import Daemon, until

pytestmark = pytest.mark.slow

PUBLIC = "http://ironic.example:6385"
LATEST = {"X-OpenStack-Ironic-API-Version": "1.115"}
SAMPLES = json.loads((Path(__file__).parents[2] / "unit/fixtures/api_samples_hardware.json").read_text())
FAKE = {f"{kind}_interface": "fake" for kind in ("bios", "console", "firmware", "raid", "vendor")}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    types = '["fake-hardware", "redfish"]'
    folder = tmp_path_factory.mktemp("daemon")
    started = Daemon(folder, enabled_hardware_types=types, public_endpoint=PUBLIC)
    started.client.headers.update(LATEST)
    started.client.timeout = httpx.Timeout(70)
    yield started
    started.client.close()
    if started.process.poll() is None:
        started.stop()


@pytest.fixture
def node(daemon: Daemon) -> str:
    (uuid,) = daemon.create(1, **FAKE)
    return uuid


@pytest.fixture
def bmc() -> Iterator[BmcServer]:
    with BmcServer().running() as server:
        yield server


@pytest.fixture
def machine(daemon: Daemon, bmc: BmcServer) -> str:
    info = {"redfish_address": bmc.url, "redfish_auth_type": "none"}
    found: str = daemon.done("POST", "/v1/nodes", {"driver": "redfish", "driver_info": info})["uuid"]
    return found


def call(daemon: Daemon, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
    return daemon.client.request(method, f"/v1/nodes/{path}", json=body, headers=headers)


def fault(answer: httpx.Response) -> str:
    return str(json.loads(answer.json()["error_message"])["faultstring"])


def free(daemon: Daemon, node: str) -> dict[str, Any]:
    """Return the node as soon as nothing goes on with it."""

    def look() -> dict[str, Any] | None:
        found: dict[str, Any] = call(daemon, "GET", node).json()
        return found if found["reservation"] is None else None

    return dict(until(look, 30, "the end of the step"))


def alike(wanted: Any, given: Any) -> bool:
    """Tell whether an answer says the same; a text that is only described may be any."""
    match wanted:
        case dict():
            same = isinstance(given, dict) and wanted.keys() == given.keys()
            return same and all(alike(value, given[key]) for key, value in wanted.items())
        case list():
            same = isinstance(given, list) and len(wanted) == len(given)
            return same and all(alike(*pair) for pair in zip(wanted, given, strict=True))
    return bool(wanted == "<text>" or wanted == given)


def test_the_recorded_answers_about_hardware_are_ours_too(daemon: Daemon) -> None:
    created, *samples = SAMPLES
    daemon.done("POST", created["request"]["path"], created["request"]["body"])
    different = {}
    for sample in samples:
        request, wanted = sample["request"], sample["response"]
        answer = daemon.client.request(request["method"], request["path"], json=request.get("body"))
        given = json.loads(answer.text) if answer.content else None
        headers = {name: answer.headers.get(name) for name in wanted["headers"]}
        if (answer.status_code, headers) != (wanted["status"], wanted["headers"]) or not alike(wanted["body"], given):
            different[sample["label"]] = (answer.status_code, answer.text, headers)
    assert different == {}


def test_bios_settings_are_applied_shown_and_reset(daemon: Daemon, node: str) -> None:
    daemon.bring([node], "manage", "manageable")

    def clean(step: str, **args: Any) -> None:
        steps = [{"interface": "bios", "step": step, "args": args}]
        answer = call(daemon, "PUT", f"{node}/states/provision", {"target": "clean", "clean_steps": steps})
        assert answer.status_code == 202, answer.text
        found = free(daemon, node)
        assert (found["provision_state"], found["last_error"]) == ("manageable", None)

    clean("apply_configuration", settings=[{"name": "Turbo", "value": "on"}, {"name": "Cores", "value": 8}])
    clean("apply_configuration", settings=[{"name": "Turbo", "value": "off"}])
    (setting,) = call(daemon, "GET", f"{node}/bios").json()["bios"]
    assert (setting["name"], setting["value"]) == ("Turbo", "off")
    assert setting["updated_at"] is not None
    assert call(daemon, "GET", f"{node}/bios/Turbo").json()["Turbo"]["value"] == "off"
    assert call(daemon, "GET", f"{node}/bios/Cores").status_code == 404
    clean("factory_reset")
    assert call(daemon, "GET", f"{node}/bios").json() == {"bios": []}


def test_firmware_that_was_updated_is_listed(daemon: Daemon, node: str) -> None:
    daemon.bring([node], "manage", "manageable")
    settings = [{"component": "bmc", "url": "http://files.example.com/bmc-2.1.bin"}]
    steps = [{"interface": "firmware", "step": "update", "args": {"settings": settings}}]
    call(daemon, "PUT", f"{node}/states/provision", {"target": "clean", "clean_steps": steps})
    free(daemon, node)
    (component,) = call(daemon, "GET", f"{node}/firmware").json()["firmware"]
    versions = {name: component[name] for name in ("component", "current_version", "last_version_flashed")}
    assert versions == {"component": "bmc", "current_version": "bmc-2.1.bin", "last_version_flashed": "bmc-2.1.bin"}


def test_a_step_with_settings_is_refused_without_them(daemon: Daemon, node: str) -> None:
    daemon.bring([node], "manage", "manageable")
    for interface, step in (("bios", "apply_configuration"), ("firmware", "update")):
        steps = [{"interface": interface, "step": step}]
        answer = call(daemon, "PUT", f"{node}/states/provision", {"target": "clean", "clean_steps": steps})
        assert (answer.status_code, "settings is missing" in fault(answer)) == (400, True)


def test_what_fake_hardware_cannot_do_is_400_with_what_it_can(daemon: Daemon, node: str) -> None:
    for method, path, body, told in (
        ("PUT", "management/boot_device", {"boot_device": "disk"}, "Choose the boot device pxe"),
        ("PUT", "management/inject_nmi", {}, "not supported by the management interface fake"),
        ("PUT", "management/indicators/led-0@chassis", {"state": "off"}, "Choose led@system"),
        ("PUT", "management/indicators/led@system", {"state": "green"}, "Choose led@system"),
        ("GET", "management/indicators/fan@system", None, "has no indicator fan@system"),
        ("GET", "management/indicators/led", None, "names no indicator"),
        ("GET", "vmedia", None, "not supported by the management interface fake"),
    ):
        answer = call(daemon, method, f"{node}/{path}", body)
        assert (answer.status_code, told in fault(answer)) == (400, True), answer.text
    assert call(daemon, "PUT", f"{node}/management/indicators/led@system", {"state": "BLINKING"}).status_code == 204
    assert call(daemon, "GET", f"{node}/management/indicators/led@system").json() == {"state": "on"}


def test_boot_mode_and_secure_boot_are_shown_once_they_are_set(daemon: Daemon, node: str) -> None:
    for name, target in (("boot_mode", "bios"), ("secure_boot", True)):
        answer = call(daemon, "PUT", f"{node}/states/{name}", {"target": target})
        assert (answer.status_code, answer.headers["Location"]) == (202, f"{PUBLIC}/v1/nodes/{node}/states")
        assert free(daemon, node)[name] == target
    assert call(daemon, "GET", f"{node}/states").json()["secure_boot"] is True


def test_vendor_methods_are_called_in_their_own_ways(daemon: Daemon, node: str) -> None:
    path = f"{node}/vendor_passthru"
    assert call(daemon, "POST", f"{path}?method=third_method_sync", {"bar": "woof"}).json() is False
    answer = call(daemon, "POST", f"{path}/second_method", {"bar": "kazoo"})
    assert (answer.status_code, answer.content) == (202, b"")
    answer = call(daemon, "POST", f"{path}/fourth_method_shared_lock", {"bar": "woof"})
    assert answer.status_code == 202, "it waited for the end of the second method"
    free(daemon, node)
    assert call(daemon, "POST", f"{path}/log_passthrough", {"any": ["thing"]}).status_code == 202
    assert free(daemon, node)["last_error"] is None


def test_a_redfish_machine_does_what_the_api_asks(daemon: Daemon, machine: str, bmc: BmcServer) -> None:
    assert call(daemon, "PUT", f"{machine}/management/inject_nmi").status_code == 204
    assert bmc.bodies("POST") == [{"ResetType": "Nmi"}]
    call(daemon, "PUT", f"{machine}/states/boot_mode", {"target": "bios"})
    assert free(daemon, machine)["boot_mode"] == "bios"
    call(daemon, "PUT", f"{machine}/states/secure_boot", {"target": True})
    assert free(daemon, machine)["secure_boot"] is True
    assert bmc.resources[f"{SYSTEM}/SecureBoot"]["SecureBootEnable"] is True
    names = [each["name"] for each in call(daemon, "GET", f"{machine}/management/indicators").json()["indicators"]]
    assert names == ["1@chassis", "1@system"]
    answer = call(daemon, "PUT", f"{machine}/management/indicators/1@system", {"state": "blinking"})
    assert (answer.status_code, bmc.resources[SYSTEM]["IndicatorLED"]) == (204, "Blinking")
    assert call(daemon, "GET", f"{machine}/management/indicators/1@system").json() == {"state": "blinking"}
    answer = call(daemon, "PUT", f"{machine}/management/boot_device", {"boot_device": "floppy"})
    assert (answer.status_code, "offers only pxe, disk" in fault(answer)) == (400, True)


def test_images_go_in_and_out_of_the_drives_of_a_redfish_machine(daemon: Daemon, machine: str, bmc: BmcServer) -> None:
    answer = call(daemon, "POST", f"{machine}/vmedia", {"device_type": "cdrom", "image_url": ISO})
    assert (answer.status_code, answer.content) == (204, b"")
    assert free(daemon, machine)["last_error"] is None
    assert (bmc.resources[DRIVE]["Image"], bmc.resources[DRIVE]["Inserted"]) == (ISO, True)
    (drive,) = call(daemon, "GET", f"{machine}/vmedia").json()
    assert (drive["device_types"], drive["inserted"], drive["image"]) == (["cdrom"], True, ISO)
    assert call(daemon, "DELETE", f"{machine}/vmedia?device_types=floppy").status_code == 204
    free(daemon, machine)
    assert bmc.resources[DRIVE]["Inserted"] is True
    assert call(daemon, "DELETE", f"{machine}/vmedia").status_code == 204
    free(daemon, machine)
    assert bmc.resources[DRIVE]["Inserted"] is False


def test_what_nobody_waited_for_tells_its_failure_in_last_error(daemon: Daemon, machine: str, bmc: BmcServer) -> None:
    call(daemon, "POST", f"{machine}/vmedia", {"device_type": "floppy", "image_url": ISO})
    error = free(daemon, machine)["last_error"]
    assert "management.attach_virtual_media" in error and "of the kind floppy" in error
    del bmc.resources[SYSTEM]["SecureBoot"]
    call(daemon, "PUT", f"{machine}/states/secure_boot", {"target": True})
    found = free(daemon, machine)
    assert ("does not offer to switch it" in found["last_error"], found["secure_boot"]) == (True, None)
