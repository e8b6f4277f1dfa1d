# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from rackwright.domain.errors import Invalid, MissingParameter, NodeLocked, NodeNotFound
from rackwright.domain.states import ProvisionState
from rackwright.engine.transitions import forget_agent
from rackwright.services import agents
from rackwright.store import node as nodes
from rackwright.store.session import writing
from tests.unit.server.agent_house import AT, MAC, NODE, OTHER, OTHER_MAC, SHARED, URL, House, certificate


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.database.dispose()


# ---- lookup


def test_the_node_is_found_by_any_of_its_addresses_in_any_spelling(house: House) -> None:
    house.add(NODE, MAC)
    house.add(OTHER, OTHER_MAC)
    assert house.lookup("junk", MAC.upper().replace(":", "-")).node.uuid == NODE


def test_the_uuid_wins_over_addresses(house: House) -> None:
    house.add(NODE, MAC)
    house.add(OTHER, OTHER_MAC)
    assert house.lookup(MAC, uuid=OTHER).node.uuid == OTHER


@pytest.mark.parametrize("addresses", [(), ("junk", ""), ("00:1b:21:00:00",)])
def test_a_lookup_without_uuid_and_valid_address_is_a_bad_request(house: House, addresses: tuple[str, ...]) -> None:
    with pytest.raises(MissingParameter):
        house.lookup(*addresses)


def test_unknown_addresses_and_uuids_are_not_found(house: House) -> None:
    house.add(NODE, MAC)
    for uuid in (OTHER, None):
        with pytest.raises(NodeNotFound):
            house.lookup(OTHER_MAC, uuid=uuid)


def test_addresses_of_two_nodes_are_ambiguous_and_the_log_names_both(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.add(NODE, MAC)
    house.add(OTHER, OTHER_MAC)
    with pytest.raises(NodeNotFound):
        house.lookup(MAC, OTHER_MAC)
    assert caplog.records[-1].__dict__["candidates"] == [f"{NODE} (wait call-back)", f"{OTHER} (wait call-back)"]


def test_of_two_nodes_the_one_that_expects_an_agent_is_found(house: House) -> None:
    house.add(NODE, MAC)
    house.add(OTHER, OTHER_MAC, state="active")
    assert house.lookup(MAC, OTHER_MAC).node.uuid == NODE


def test_shared_internal_mac_merges_nodes(house: House, caplog: pytest.LogCaptureFixture) -> None:
    house.add(NODE, MAC, SHARED)  # an operator registered the shared address by mistake
    house.add(OTHER, OTHER_MAC)
    assert house.lookup(SHARED, OTHER_MAC).node.uuid == OTHER
    assert house.lookup(MAC, SHARED).node.uuid == NODE
    with pytest.raises(NodeNotFound):
        house.lookup("fa:4b:7f:00:00:01")
    assert caplog.records[-1].__dict__["addresses"] == ["fa:4b:7f:00:00:01"]


@pytest.mark.parametrize("state", list(ProvisionState))
def test_only_states_that_expect_an_agent_can_be_looked_up(house: House, state: ProvisionState) -> None:
    house.add(NODE, MAC, state=state.value)
    if state.traits.lookup:
        assert house.lookup(MAC).node.uuid == NODE
    else:
        with pytest.raises(NodeNotFound):
            house.lookup(MAC)
        with pytest.raises(NodeNotFound):
            house.lookup(uuid=NODE)
        house.set(restrict_lookup=False)
        assert house.lookup(MAC).node.uuid == NODE


def test_the_config_has_every_key_of_the_contract(house: House) -> None:
    house.add(NODE, MAC, management_interface="redfish")
    house.set(ramdisk_heartbeat_timeout=30, allow_md5_checksum=False, tls_minimum_version="1.2")
    config = house.lookup(MAC).config
    assert sorted(config) == [
        "agent_containers",
        "agent_md5_checksum_enable",
        "agent_skip_bmc_detect",
        "agent_token",
        "agent_token_required",
        "disable_deep_image_inspection",
        "enable_bios_bootloader_install",
        "heartbeat_timeout",
        "metrics",
        "metrics_statsd",
        "permitted_image_formats",
        "tls_cipher_suites",
        "tls_min_version",
    ]
    assert config["heartbeat_timeout"] == 30
    assert config["agent_md5_checksum_enable"] is False
    assert config["agent_skip_bmc_detect"] is True
    assert config["tls_min_version"] == "1.2"
    assert config["permitted_image_formats"] == ["raw", "gpt", "qcow2", "iso"]


# ---- tokens


def test_the_token_has_43_url_safe_characters_and_is_stored_sealed(house: House) -> None:
    house.add(NODE, MAC)
    token = house.token()
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", token)
    assert token not in str(house.node().driver_internal_info)
    house.beat(token)


def test_no_token_is_made_below_version_62(house: House) -> None:
    house.add(NODE, MAC)
    assert house.lookup(MAC, minor=61).config["agent_token"] is None
    assert house.node().driver_internal_info == {}


def test_a_token_that_may_have_got_lost_is_replaced_until_a_heartbeat_has_proved_one(house: House) -> None:
    house.add(NODE, MAC)
    lost, kept = house.token(), house.token()
    assert lost != kept
    with pytest.raises(agents.TokenInvalid):
        house.beat(lost)
    house.beat(kept)
    assert house.token() == "******"
    house.beat(kept)


def test_a_token_that_was_built_into_the_ramdisk_is_never_replaced(house: House) -> None:
    house.add(NODE, MAC)
    info = house.sealer.seal({"agent_secret_token": "p" * 43}) | {"agent_secret_token_pregenerated": True}
    house.change(driver_internal_info=info)
    assert house.token() == "******"
    house.beat("p" * 43)


def test_agent_token_orphaned(house: House) -> None:
    house.add(NODE, MAC, state="clean wait")
    orphan = house.token()
    house.beat(orphan)
    assert house.token() == "******"
    with writing(house.database) as session:  # what the end of a wait and every verb do
        node = nodes.get(NODE, session=session)
        forget_agent(node)
        session.add(node)
        session.commit()
    with pytest.raises(agents.TokenInvalid):
        house.beat(orphan)
    fresh = house.token()
    house.beat(fresh, callback_url="https://192.0.2.99:9999")
    assert house.token() == "******"


def test_a_token_is_not_made_while_a_run_has_the_node(house: House) -> None:
    house.add(NODE, MAC, reservation="conductor-1")
    with pytest.raises(NodeLocked):
        house.lookup(MAC)
    assert house.lookup(MAC, minor=61).node.uuid == NODE


# ---- heartbeat


def test_a_heartbeat_leaves_what_the_contract_names(house: House) -> None:
    house.add(NODE, MAC)
    house.beat(house.token(), agent_verify_ca=certificate("agent"))
    node = house.node()
    info = node.driver_internal_info
    assert info["agent_url"] == URL
    assert info["agent_version"] == "13.0.0"
    assert info["agent_verify_ca"] == certificate("agent")
    assert info["agent_last_heartbeat"] == "2026-03-01T11:00:00.000005"
    assert "agent_status" not in info
    assert node.provision_updated_at == AT


def test_a_heartbeat_with_a_status_needs_no_version(house: House) -> None:
    house.add(NODE, MAC)
    keys: dict[str, Any] = {"agent_version": None, "callback_url": "", "agent_status_message": "x" * 9999}
    house.beat(house.token(), agent_status="start", **keys)
    info = house.node().driver_internal_info
    assert (info["agent_status"], info["agent_url"]) == ("start", "")
    assert len(info["agent_status_message"]) <= 1024


def test_a_heartbeat_wakes_the_operation_that_waits_for_the_agent(house: House) -> None:
    house.add(NODE, MAC)
    house.wait()
    house.beat(house.token())
    assert house.operation().status == "ready"


@pytest.mark.parametrize(
    ("status", "waits_for"), [("waiting", "inspection"), ("waiting", "poll"), ("running", None), ("ready", None)]
)
def test_a_heartbeat_leaves_other_operations_alone(house: House, status: str, waits_for: str | None) -> None:
    house.add(NODE, MAC)
    house.wait(waits_for or "", status=status)
    house.beat(house.token())
    assert house.operation().status == status


@pytest.mark.parametrize("state", list(ProvisionState))
def test_each_state_stores_and_wakes_as_its_flags_say(house: House, state: ProvisionState) -> None:
    house.add(NODE, MAC)
    token = house.token()
    house.change(provision_state=state.value)
    house.wait()
    house.beat(token)
    node = house.node()
    assert ("agent_url" in node.driver_internal_info) == state.traits.heartbeat
    goes_on = state.traits.heartbeat and not state.traits.heartbeat_record_only
    assert (house.operation().status == "ready") == goes_on
    assert (node.provision_updated_at is not None) == goes_on


def test_a_heartbeat_during_inspection_proves_the_token(house: House) -> None:
    house.add(NODE, MAC, state="inspect wait")
    house.beat(house.token())
    assert "agent_url" not in house.node().driver_internal_info
    assert house.token() == "******"


def test_a_node_in_maintenance_is_recorded_but_does_not_go_on(house: House) -> None:
    house.add(NODE, MAC, maintenance=True)
    house.wait()
    house.beat(house.token())
    assert house.node().driver_internal_info["agent_url"] == URL
    assert house.operation().status == "waiting"


@pytest.mark.parametrize(
    "keys",
    [
        {"agent_version": None},
        {"agent_status": "dancing"},
        {"callback_url": "http://192.0.2.20:9999"},
        {"callback_url": "ftp://192.0.2.20"},
        {"callback_url": "192.0.2.20:9999"},
        {"callback_url": "https://"},
        {"callback_url": "https://192.0.2.20:99999"},
        {"callback_url": "https://user:secret@192.0.2.20"},
        {"callback_url": "https://192.0.2.20/\n"},
        {"callback_url": "https://192.0.2.20/ x"},
        {"callback_url": "https://[::1"},
        {"callback_url": "https://{{x}}/"},
        {"callback_url": "https://h/" + "x" * 2000},
        {"agent_verify_ca": ""},
        {"agent_verify_ca": "/etc/passwd"},
        {"agent_verify_ca": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"},
        {"agent_verify_ca": certificate("agent") + certificate("other")},
        {"agent_token": None},
        {"agent_token": ""},
        {"agent_token": "x" * 43},
        {"agent_token": "\N{SNOWMAN}" * 43},
    ],
)
def test_a_heartbeat_that_cannot_be_right_is_a_bad_request_and_changes_nothing(
    house: House, keys: dict[str, Any]
) -> None:
    house.add(NODE, MAC)
    house.wait()
    token = house.token()
    before = house.node().driver_internal_info
    with pytest.raises(Invalid):
        house.beat(keys.pop("agent_token", token), **keys)
    assert house.node().driver_internal_info == before
    assert house.operation().status == "waiting"


def test_an_unknown_node_is_not_found(house: House) -> None:
    with pytest.raises(NodeNotFound):
        house.beat("x" * 43)


def test_a_node_without_token_accepts_no_heartbeat(house: House) -> None:
    house.add(NODE, MAC)
    for token in ("", "None", "x" * 43):
        with pytest.raises(Invalid):
            house.beat(token)


def test_plain_http_is_accepted_where_the_operator_said_so(house: House) -> None:
    house.add(NODE, MAC)
    house.set(require_tls=False)
    house.beat(house.token(), callback_url="http://[2001:db8::5]:9999")
    assert house.node().driver_internal_info["agent_url"] == "http://[2001:db8::5]:9999"


@pytest.mark.parametrize("key", ["callback_url", "agent_verify_ca"])
def test_an_agent_that_changes_its_address_or_certificate_is_refused(house: House, key: str) -> None:
    house.add(NODE, MAC)
    token, first = house.token(), {"agent_verify_ca": certificate("agent")}
    house.beat(token, **first)
    changed = {"callback_url": "https://192.0.2.66:9999", "agent_verify_ca": certificate("other")}[key]
    with pytest.raises(agents.AgentChanged):
        house.beat(token, **{**first, key: changed})
    house.beat(token, **first)
    house.beat(token)
    assert house.node().driver_internal_info["agent_verify_ca"] == certificate("agent")


def test_the_first_heartbeat_is_repeated_while_a_run_has_the_node(house: House) -> None:
    house.add(NODE, MAC)
    token = house.token()
    house.change(reservation="conductor-1")
    with pytest.raises(NodeLocked):
        house.beat(token)
    house.change(reservation=None)
    house.beat(token)
    house.change(reservation="conductor-1")
    later = AT + timedelta(minutes=1)
    house.beat(token, at=later)
    assert house.node().driver_internal_info["agent_last_heartbeat"].startswith("2026-03-01T11:01:00")


def test_agent_commands_without_token(house: House, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    house.add(NODE, MAC)
    token = house.token()
    house.beat(token)
    with pytest.raises(agents.TokenInvalid) as refused:
        house.beat("planted-secret")
    told = "".join(str(record.__dict__) for record in caplog.records) + str(refused.value)
    assert token not in told
    assert "planted-secret" not in told
    assert token not in str(house.node().driver_internal_info)
