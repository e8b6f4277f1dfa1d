# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from rackwright.reference import settings_page
from rackwright.settings import Settings, SettingsInvalid, load


def test_the_command_line_goes_before_the_environment_before_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rackwright.toml"
    file.write_text("port = 1\nwave_size = 2\nrun_slots = 3\n")
    monkeypatch.setenv("RACKWRIGHT_PORT", "4")
    monkeypatch.setenv("RACKWRIGHT_WAVE_SIZE", "5")
    found = load(file, port=6)
    assert (found.port, found.wave_size, found.run_slots) == (6, 5, 3)


def test_the_environment_may_name_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rackwright.toml"
    file.write_text("automated_clean = false\n")
    monkeypatch.setenv("RACKWRIGHT_CONFIG", str(file))
    assert load().automated_clean is False


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"host_ip": "0.0.0.0"}, "host_ip 0.0.0.0"),
        ({"host_ip": "host.example"}, "trust_network"),
        ({"heartbeat_timeout": 10}, "heartbeat_interval"),
        ({"auth_strategy": "http_basic"}, "http_basic_auth_user_file"),
        ({"auth_strategy": "keystone", "keystone_password": "x"}, "keystone_auth_url"),
        ({"auth_strategy": "keystone", "keystone_auth_url": "https://keystone.example"}, "keystone_password"),
        ({"keystone_auth_url": "keystone.example"}, "http"),
        ({"keystone_auth_url": "http://nohost.invalid:bad/"}, "keystone_auth_url: 'http://nohost.invalid:bad/'"),
        ({"keystone_auth_url": "http://host.example:65536"}, "1 to 65535"),
        ({"www_authenticate_uri": "http://:5000"}, "name a host"),
        ({"public_endpoint": "http://[::1"}, "public_endpoint"),
        ({"external_http_url": "http://host.example\n"}, "external_http_url"),
        ({"auth_strategy": "token"}, "auth_strategy"),
        ({"fake_delays": {"power": "abc"}}, "fake_delays: power is 'abc'"),
        ({"fake_delays": {"power": "-1"}}, "number of seconds"),
        ({"fake_delays": {"power": "1,nan"}}, "number of seconds"),
        ({"fake_delays": {"power": "1,2,3"}}, "two with a comma"),
        ({"fake_delays": {"frob": "3"}}, "fake_delays: 'frob' is no interface; choose from bios, boot,"),
        ({"clean_step_priority_override": {"erase_devices": 0}}, "clean_step_priority_override: 'erase_devices'"),
        ({"verify_step_priority_override": {"frob.look": 5}}, "write interface.step"),
        ({"disallow_clean_steps": ("vendor.",)}, "disallow_clean_steps: 'vendor.'"),
        ({"file_url_allowed_paths": ("/",)}, "file_url_allowed_paths"),
        ({"file_url_allowed_paths": ("images",)}, "absolute"),
        ({"file_url_allowed_paths": ("/var/../etc",)}, "too much"),
        ({"kernel_append_params": "a\nb"}, "one line"),
        ({"public_endpoint": "ftp://192.0.2.1"}, "http"),
        ({"port": 0}, "port"),
        ({"automated_clean": "perhaps"}, "automated_clean"),
    ],
)
def test_unsafe_or_contradictory_values_are_refused_with_the_name_of_the_setting(
    given: dict[str, Any], reason: str
) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        load(**given)
    assert reason in str(caught.value)


def test_a_variable_that_reaches_no_run_is_refused_where_it_is_named() -> None:
    assert load(run_environment=("VAULT_ADDR",)).run_environment == ("VAULT_ADDR",)
    with pytest.raises(SettingsInvalid, match=r"run_environment.*ANSIBLE_STRATEGY would reach no run"):
        load(run_environment=("VAULT_ADDR", "ANSIBLE_STRATEGY"))


def test_who_asks_callers_who_they_are_may_listen_on_any_address(tmp_path: Path) -> None:
    basic: dict[str, Any] = {"auth_strategy": "http_basic", "http_basic_auth_user_file": tmp_path / "users"}
    keystone: dict[str, Any] = {"auth_strategy": "keystone", "keystone_password": "hunter2"}
    keystone["keystone_auth_url"] = "https://k.example"
    for given in (basic, keystone):
        assert not load(host_ip="0.0.0.0", **given).is_open
    assert load(host_ip="0.0.0.0", trust_network=True).is_open
    assert "hunter2" not in repr(load(**keystone))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.5.5.5"])
def test_without_authentication_the_machine_itself_may_ask(host: str) -> None:
    assert load(host_ip=host).host_ip == host


def test_an_unknown_setting_is_refused_with_the_nearest_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rackwright.toml"
    file.write_text("wave_sise = 5\n")
    with pytest.raises(SettingsInvalid, match=r"rackwright\.toml.*wave_sise.*wave_size"):
        load(file)
    monkeypatch.setenv("RACKWRIGHT_AUTOMATED_CLEEN", "false")
    with pytest.raises(SettingsInvalid, match="automated_clean"):
        load()


@pytest.mark.parametrize("text", [None, "port =", "\xff"])
def test_a_file_that_cannot_be_read_is_told_with_its_name(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "rackwright.toml"
    if text is not None:
        file.write_bytes(text.encode("latin-1"))
    with pytest.raises(SettingsInvalid, match=r"rackwright\.toml"):
        load(file)


@pytest.mark.parametrize("name", ["keystone_cafile", "nova_cafile"])
@pytest.mark.parametrize("content", [None, "", "no certificate", "-----BEGIN CERTIFICATE-----\nbroken\n", "a folder"])
def test_authorities_that_cannot_be_read_are_told_at_start(tmp_path: Path, name: str, content: str | None) -> None:
    file = tmp_path / "ca.pem"
    if content == "a folder":
        file.mkdir()
    elif content is not None:
        file.write_text(content)
    with pytest.raises(ValidationError, match=rf"{name}\n.*{file} cannot be used: .*PEM"):
        Settings.model_validate({name: file})


def test_a_refused_value_is_not_repeated_in_the_message() -> None:
    with pytest.raises(SettingsInvalid) as caught:
        load(database_url=["canary"])
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("password", ["kanary", "ka/nary", "ka@nary", "ka#nary", "ka?nary", "1/nary", "ka\nnary"])
def test_a_refused_url_does_not_show_its_password(password: str) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        load(public_endpoint=f"http://user:{password}@host.example:bad")
    assert "ka" not in str(caught.value) and "nary" not in str(caught.value)
    assert "host.example:bad" in str(caught.value)


@pytest.mark.parametrize("url", ["http://host.example", "https://[2001:db8::1]:443/identity", "http://192.0.2.1:5000"])
def test_a_url_of_any_host_and_port_is_taken(url: str) -> None:
    assert load(keystone_auth_url=f"{url}/").keystone_auth_url == url


def test_settings_do_not_change_and_do_not_show_the_database() -> None:
    found = load(database_url="postgresql://user:canary@db.example/x")
    assert "canary" not in repr(found)
    with pytest.raises(ValidationError):
        found.port = 5  # type: ignore[misc]  # that it is refused is the point


def test_agents_and_bmcs_are_told_the_addresses_that_they_reach() -> None:
    assert load(port=7000).callback_url == "http://127.0.0.1:7000"
    assert load(host_ip="::1", port=7000).base_url == "http://[::1]:7000"
    found = load(public_endpoint="https://api.example/", external_callback_url="http://192.0.2.1:6385")
    assert (found.base_url, found.callback_url) == ("https://api.example", "http://192.0.2.1:6385")
    assert found.files_url == "http://192.0.2.1:6385/files"


def test_every_setting_is_described_in_the_reference() -> None:
    page = settings_page()
    for name, field in Settings.model_fields.items():
        assert field.description and field.description.endswith("."), name
        assert f"| `{name}` |" in page


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("enabled_hardware_types", "fake-hardware,redfish", ("fake-hardware", "redfish")),
        ("enabled_hardware_types", " redfish ", ("redfish",)),
        ("enabled_hardware_types", '["fake-hardware", "redfish"]', ("fake-hardware", "redfish")),
        ("file_url_allowed_paths", "/srv/a,/srv/b", (Path("/srv/a"), Path("/srv/b"))),
        (
            "clean_step_priority_override",
            "deploy.erase_devices:0,bios.reset:7",
            {"deploy.erase_devices": 0, "bios.reset": 7},
        ),
        ("clean_step_priority_override", '{"bios.reset": 7}', {"bios.reset": 7}),
    ],
)
def test_lists_and_tables_of_the_environment_are_read_with_commas_or_as_json(
    name: str, text: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"RACKWRIGHT_{name.upper()}", text)
    assert getattr(load(), name) == value


def test_a_broken_list_of_the_environment_names_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RACKWRIGHT_ENABLED_HARDWARE_TYPES", "[redfish")
    with pytest.raises(SettingsInvalid, match="enabled_hardware_types"):
        load()
