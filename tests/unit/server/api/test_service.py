# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What the service says of itself: drivers, conductors, files, its OpenAPI document."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from rackwright.api.schemas.driver import DRIVER
from rackwright.store import conductor as conductors
from rackwright.store.columns import now
from rackwright.store.session import writing
from tests.unit.server.api_house import HOST, PUBLIC, House


def silence(house: House, seconds: float) -> None:
    """Let the conductor have been silent for so long."""
    with writing(house.parts.engine) as session:
        conductors.heartbeat(HOST, session=session, at=now() - timedelta(seconds=seconds))
        session.commit()


@pytest.mark.parametrize(
    ("version", "keys"),
    [
        ("1.1", {"name", "hosts", "links"}),
        ("1.14", {"name", "hosts", "links", "properties"}),
        ("1.30", {"name", "hosts", "links", "properties", "type"}),
    ],
)
def test_drivers_are_those_of_running_conductors(house: House, version: str, keys: set[str]) -> None:
    found = house.call("GET", "/drivers", version=version).json()["drivers"]
    assert [(each["name"], each["hosts"]) for each in found] == [("fake-hardware", [HOST]), ("redfish", [HOST])]
    assert set(found[0]) == keys
    silence(house, 61)
    assert house.call("GET", "/drivers").json() == {"drivers": []}
    assert house.call("GET", "/drivers/redfish").status_code == 404


def test_a_driver_shows_what_its_interfaces_can_be(house: House) -> None:
    one = house.call("GET", "/drivers/redfish").json()
    assert (one["default_management_interface"], one["enabled_management_interfaces"]) == (
        "redfish",
        ["redfish", "noop"],
    )
    assert set(one) == {field.name for field in DRIVER.fields}
    assert one in house.call("GET", "/drivers?detail=true").json()["drivers"]
    assert "default_power_interface" not in house.call("GET", "/drivers/redfish", version="1.29").json()
    chosen = house.call("GET", "/drivers?fields=name,type").json()["drivers"]
    assert set(chosen[0]) == {"name", "type", "links"}
    assert house.call("GET", "/drivers?fields=name", version="1.76").status_code == 406
    assert house.call("GET", "/drivers?fields=name&detail=true").status_code == 400
    assert house.call("GET", "/drivers?type=classic").json() == {"drivers": []}


def test_driver_properties_say_what_is_required(house: House) -> None:
    assert house.call("GET", "/drivers/redfish/properties").json()["redfish_address"] == "URL of the BMC. Required."
    assert house.call("GET", "/drivers/none/properties").status_code == 404


def test_a_silent_conductor_is_not_alive(house: House) -> None:
    house.conductor("redfish", host="conductor-2.example")
    silence(house, 61)
    found = house.call("GET", "/conductors").json()["conductors"]
    assert {each["hostname"]: each["alive"] for each in found} == {HOST: False, "conductor-2.example": True}
    assert set(found[0]) == {"hostname", "conductor_group", "links", "alive"}
    page = house.call("GET", "/conductors?limit=1&sort_key=hostname").json()
    assert page["next"] == f"{PUBLIC}/v1/conductors?sort_key=hostname&sort_dir=asc&limit=1&marker={HOST}"
    assert house.call("GET", f"/conductors/{HOST}?fields=alive").json()["alive"] is False


def test_files_are_served_with_ranges_and_nothing_above_them(house: House, tmp_path: Path) -> None:
    folder = tmp_path / "http" / "boot"
    folder.mkdir(parents=True)
    (folder / "a.iso").write_bytes(b"0123456789")
    part = house.client.get("/files/boot/a.iso", headers={"Range": "bytes=2-4"})
    assert (part.status_code, part.content) == (206, b"234")
    assert house.client.head("/files/boot/a.iso").headers["Content-Length"] == "10"
    for path in ("/files/../secret.key", "/files/%2e%2e/secret.key", "/files/boot/", "/files/none"):
        assert house.client.get(path).status_code in (404, 405)


def test_the_openapi_document_knows_paths_arguments_and_bodies(house: House) -> None:
    document = house.client.get("/openapi.json").json()
    create = document["paths"]["/v1/nodes"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert (create["required"], "Since 1.47." in create["properties"]["automated_clean"]["description"]) == (
        ["driver"],
        True,
    )
    filters = {each.get("name") for each in document["paths"]["/v1/nodes"]["get"]["parameters"]}
    assert {"driver", "limit", "fields"} <= filters
    assert "clean_steps" in str(document["paths"]["/v1/nodes/{ident}/states/provision"]["put"]["requestBody"])


def test_the_openapi_document_tells_the_version_and_every_answer(house: House) -> None:
    document = house.client.get("/openapi.json").json()
    patch = document["paths"]["/v1/inspection_rules/{uuid}"]["patch"]
    assert "Since 1.96." in patch["description"]
    assert {"$ref": "#/components/parameters/version"} in patch["parameters"]
    assert {"200", "400", "401", "403", "404", "405", "406", "409", "413", "503"} == set(patch["responses"])
    shown = patch["responses"]["200"]["content"]["application/json"]["schema"]
    assert shown == {"$ref": "#/components/schemas/InspectionRule"}
    assert "actions" in document["components"]["schemas"]["InspectionRule"]["properties"]
    for path, item in document["paths"].items():
        for method, operation in item.items():
            assert operation["summary"], (path, method)
            assert "422" not in operation["responses"], (path, method)
            assert {"400", "404", "406", "413"} <= set(operation["responses"]), (path, method)


def test_a_refusal_is_no_error_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    house = House(tmp_path, max_concurrent_clean=1)
    house.node(provision_state="cleaning")
    uuid = house.node(provision_state="active")
    caplog.set_level("INFO", "rackwright.api")
    assert house.call("PUT", f"/nodes/{uuid}/states/provision", {"target": "deleted"}).status_code == 503
    (record,) = caplog.records
    assert (record.levelname, record.exc_info, record.getMessage()) == ("INFO", None, "The request is refused")
    assert "max_concurrent_clean" in record.__dict__["cause"]
    assert record.__dict__["action"] == f"PUT /v1/nodes/{uuid}/states/provision"
