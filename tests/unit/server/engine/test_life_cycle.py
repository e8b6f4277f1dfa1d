# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from rackwright.domain.errors import InvalidTransition, NodeLocked, TooManyOperations
from rackwright.domain.outcomes import Failed, Learned, WaitFor, Waiting
from rackwright.domain.steps import StepRequest
from rackwright.domain.verbs import Interface
from rackwright.engine import plan
from tests.unit.server.engine.engine_house import HOST, EngineHouse


def test_a_node_goes_from_enroll_to_an_instance_and_back(house: EngineHouse) -> None:
    uuid = house.node(automated_clean=False)
    house.script["power.read_power_state"] = Learned({"power_state": "power on", "vendor": "Acme"})
    seen = []
    for verb in ("manage", "provide", "active", "deleted"):
        house.verb(uuid, verb)
        house.settle()
        node = house.look(uuid)
        seen.append((node.provision_state, node.target_provision_state, node.reservation, node.last_error))
    assert [state for state, *_ in seen] == ["manageable", "available", "active", "available"]
    assert {tuple(rest) for _, *rest in seen} == {(None, None, None)}
    assert house.look(uuid).power_state == "power on"
    assert house.look(uuid).properties["vendor"] == "Acme"


def test_the_intent_is_stored_whole_before_anything_runs(house: EngineHouse) -> None:
    uuid = house.node(last_error="an old one")
    started = house.verb(uuid, "manage", user="alice")
    node = house.look(uuid)
    assert (node.provision_state, node.target_provision_state) == ("verifying", "manageable")
    assert (node.reservation, node.last_error) == (HOST, None)
    assert (started.status, started.position, started.user) == ("ready", 0, "alice")
    assert [each["name"] for each in started.steps] == ["read_power_state"]


def test_a_verb_on_a_locked_node_changes_nothing(house: EngineHouse) -> None:
    uuid = house.node()
    house.change(uuid, reservation="somebody else")
    with pytest.raises(NodeLocked):
        house.verb(uuid, "manage")
    assert house.look(uuid).provision_state == "enroll"


def test_an_illegal_verb_leaves_the_node_free(house: EngineHouse) -> None:
    uuid = house.node()
    with pytest.raises(InvalidTransition):
        house.verb(uuid, "active")
    assert house.look(uuid).reservation is None


def test_cleaning_that_is_switched_off_is_over_at_once(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable", automated_clean=False)
    assert house.verb(uuid, "provide").status == "done"
    assert house.look(uuid).provision_state == "available"
    assert house.look(uuid).reservation is None


def test_an_instance_leaves_nothing_behind_for_the_next_one(house: EngineHouse) -> None:
    of_instance = {"root_uuid_or_disk_id": "x", "deploy_boot_mode": "uefi", "automatic_lessee": True}
    uuid = house.node(provision_state="active", automated_clean=False, lessee="one")
    house.change(uuid, driver_internal_info={**of_instance, "is_whole_disk_image": True})
    house.verb(uuid, "deleted")
    house.settle()
    assert house.look(uuid).lessee is None
    assert {*of_instance, "is_whole_disk_image"} & house.look(uuid).driver_internal_info.keys() == set()
    house.change(uuid, provision_state="active", lessee="one that somebody has set")
    house.verb(uuid, "deleted")
    house.settle()
    assert house.look(uuid).lessee == "one that somebody has set"


def test_undeploying_leads_into_cleaning_without_a_moment_without_target(house: EngineHouse) -> None:
    uuid = house.node(
        provision_state="active",
        instance_uuid="22222222-2222-4222-8222-222222222222",
        instance_info={"image_source": "http://192.0.2.1/image"},
        instance_name="web",
    )
    house.script["boot.boot_ramdisk"] = Waiting(WaitFor.AGENT)
    house.verb(uuid, "deleted")
    house.settle()
    node = house.look(uuid)
    assert (node.provision_state, node.target_provision_state) == ("clean wait", "available")
    assert (node.instance_uuid, node.instance_info, node.instance_name) == (None, {}, None)
    assert house.operation(uuid).verb == "provide"


def test_the_agents_steps_join_the_list_by_priority(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    reported = {
        "generic": [
            {"step": "erase_devices_metadata", "interface": "deploy", "priority": 99},
            {"step": "erase_devices", "interface": "deploy", "priority": 10},
            {"step": "burnin_cpu", "interface": "deploy", "priority": 0},
        ]
    }
    house.script["deploy.agent_steps"] = Learned({"agent_steps": reported})
    house.verb(uuid, "provide")
    house.settle()
    assert house.look(uuid).provision_state == "available"
    assert house.steps_of(uuid) == [
        "boot.boot_ramdisk",
        "deploy.agent_steps",
        "deploy.erase_devices_metadata",
        "deploy.erase_devices",
        "boot.clean_up_ramdisk",
    ]


def test_an_agent_that_reports_nonsense_fails_the_cleaning_with_the_reason(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    house.script["deploy.agent_steps"] = Learned({"agent_steps": {"generic": [{"step": 5}]}})
    house.verb(uuid, "provide")
    house.settle()
    node = house.look(uuid)
    assert node.provision_state == "clean failed"
    assert "deploy.agent_steps" in (node.last_error or "")
    assert house.steps_of(uuid)[-1] == "boot.clean_up_ramdisk"


def test_manual_cleaning_runs_what_was_asked_for_and_ends_in_manageable(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    house.verb(uuid, "clean", StepRequest(interface=Interface.BIOS, step="factory_reset"))
    assert house.look(uuid).target_provision_state == "manageable"
    house.settle()
    assert house.steps_of(uuid) == ["bios.factory_reset"]
    assert house.look(uuid).provision_state == "manageable"


def test_reserved_power_steps_are_taken_by_the_power_implementation(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    asked = [StepRequest(interface=Interface.POWER, step=name) for name in ("power_on", "reboot")]
    started = house.verb(uuid, "clean", *asked)
    assert [each["tasks"] for each in started.steps] == ["set_power_state"] * 2
    assert [each["args"] for each in started.steps] == [{"target": "power on"}, {"target": "rebooting"}]
    house.settle()
    assert house.steps_of(uuid) == ["power.power_on", "power.reboot"]


def test_a_retired_node_is_not_offered_after_cleaning(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    house.verb(uuid, "provide")
    house.change(uuid, retired=True)
    house.settle()
    assert house.look(uuid).provision_state == "manageable"


@pytest.mark.parametrize(
    ("before", "verb", "after"),
    [
        ("manageable", "inspect", "manageable"),
        ("manageable", "adopt", "active"),
        ("active", "rescue", "rescue"),
        ("rescue", "unrescue", "active"),
    ],
)
def test_every_other_phase_comes_to_its_end(house: EngineHouse, before: str, verb: str, after: str) -> None:
    uuid = house.node(provision_state=before)
    house.verb(uuid, verb)
    house.settle()
    assert house.look(uuid).provision_state == after


def test_service_runs_the_steps_of_the_user_and_returns_to_the_instance(house: EngineHouse) -> None:
    uuid = house.node(provision_state="active")
    house.verb(uuid, "service", StepRequest(interface=Interface.BIOS, step="apply_configuration"))
    house.settle()
    assert house.look(uuid).provision_state == "active"
    assert house.steps_of(uuid) == ["bios.apply_configuration"]


def test_the_rescue_password_is_sealed_and_gone_after_the_rescue(house: EngineHouse) -> None:
    uuid = house.node(provision_state="active")
    house.verb(uuid, "rescue", rescue_password="canary-of-the-rescue")
    assert "canary" not in str(house.look(uuid).instance_info)
    house.settle()
    assert "rescue_password" not in house.look(uuid).instance_info


def test_deployments_above_the_limit_are_refused(house: EngineHouse) -> None:
    for _ in range(house.settings.max_concurrent_deploy):
        house.node(provision_state="wait call-back")
    uuid = house.node(provision_state="available")
    with pytest.raises(TooManyOperations, match="would exceed max_concurrent_deploy, the limit of 250 "):
        house.verb(uuid, "active")


def test_undeploys_above_the_limit_of_cleanings_are_refused(house: EngineHouse) -> None:
    for _ in range(house.settings.max_concurrent_clean):
        house.node(provision_state="clean wait")
    uuid = house.node(provision_state="active")
    with pytest.raises(TooManyOperations, match="would exceed max_concurrent_clean, the limit of 50 "):
        house.verb(uuid, "deleted")


def test_a_failed_step_is_told_with_step_cause_and_next_action(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available")
    house.script["deploy.write_image"] = Failed("", "the image was not found", "Correct image_source.")
    house.verb(uuid, "active")
    house.settle()
    node = house.look(uuid)
    assert (node.provision_state, node.target_provision_state) == ("deploy failed", "active")
    assert node.last_error == "Step deploy.write_image failed: the image was not found. Correct image_source."
    assert house.steps_of(uuid) == [
        "deploy.deploy",
        "deploy.write_image",
        "deploy.collect_logs",
        "boot.clean_up_ramdisk",
    ]


def test_a_failure_step_that_fails_does_not_keep_the_others_from_running(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available")
    house.script["deploy.write_image"] = Failed("", "the image was not found")
    house.script["deploy.collect_logs"] = Failed("", "the agent is silent")
    house.verb(uuid, "active")
    house.settle()
    node = house.look(uuid)
    assert node.provision_state == "deploy failed"
    assert house.steps_of(uuid)[-1] == "boot.clean_up_ramdisk"
    assert "image was not found" in (node.last_error or "") and "agent is silent" in (node.last_error or "")


def test_a_step_that_fails_again_in_the_failure_list_is_told_once(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    house.script["boot.clean_up_ramdisk"] = Failed("", "the BMC is silent")
    house.verb(uuid, "inspect")
    house.settle()
    assert house.steps_of(uuid).count("boot.clean_up_ramdisk") == 2
    assert (house.look(uuid).last_error or "").count("the BMC is silent") == 1


def test_a_clean_step_that_fails_puts_the_node_into_maintenance(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    house.script["bios.factory_reset"] = Failed("", "the BMC refused it")
    house.verb(uuid, "clean", StepRequest(interface=Interface.BIOS, step="factory_reset"))
    house.settle()
    node = house.look(uuid)
    assert (node.provision_state, node.maintenance, node.fault) == ("clean failed", True, "clean failure")
    assert "refused" in (node.maintenance_reason or "")


def test_a_ramdisk_that_does_not_boot_is_no_reason_for_maintenance(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    house.script["boot.boot_ramdisk"] = Failed("", "the BMC refused the medium")
    house.verb(uuid, "provide")
    house.settle()
    assert (house.look(uuid).provision_state, house.look(uuid).maintenance) == ("clean failed", False)


def test_a_failed_verification_returns_to_enroll_and_a_failed_undeploy_to_error(house: EngineHouse) -> None:
    new, used = house.node(), house.node(provision_state="active", instance_info={"image_source": "x"})
    house.script["power.read_power_state"] = Failed("", "wrong password")
    house.script["power.power_off"] = Failed("", "the BMC is silent")
    house.verb(new, "manage")
    house.verb(used, "deleted")
    house.settle()
    assert (house.look(new).provision_state, house.look(new).target_provision_state) == ("enroll", None)
    assert (house.look(used).provision_state, house.look(used).instance_info) == ("error", {})


def test_power_is_set_with_a_target_while_it_lasts(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable", power_state="power on")
    house.script["power.set_power_state"] = Learned({"power_state": "power off"})
    common = {"settings": house.settings, "catalog": house.world.catalog}
    house.within(uuid, plan.start_power, target="soft power off", timeout=30, **common)
    assert house.look(uuid).target_power_state == "power off"
    house.settle()
    node = house.look(uuid)
    assert (node.power_state, node.target_power_state, node.reservation) == ("power off", None, None)
    assert node.provision_state == "manageable"


def test_a_query_keeps_its_answer_with_the_operation(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    house.script["management.get_boot_device"] = Learned({"boot_device": "disk"})
    common = {"settings": house.settings, "catalog": house.world.catalog}
    house.within(uuid, plan.start_query, step="get_boot_device", args={}, **common)
    house.settle()
    assert (house.operation(uuid).status, house.operation(uuid).facts) == ("done", {"boot_device": "disk"})


def test_a_query_that_fails_leaves_the_nodes_last_error_alone(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable", last_error="kept")
    house.script["management.get_boot_device"] = Failed("", "the BMC is silent")
    common = {"settings": house.settings, "catalog": house.world.catalog}
    house.within(uuid, plan.start_query, step="get_boot_device", args={}, **common)
    house.settle()
    assert house.look(uuid).last_error == "kept"
    assert "silent" in (house.operation(uuid).error or "")


def test_an_image_that_the_node_brings_itself_holds_no_token_so_the_agent_is_given_one_at_lookup(
    house: EngineHouse,
) -> None:
    built = house.node(provision_state="manageable")
    brought = house.node(provision_state="manageable", driver_info={"deploy_iso": "http://192.0.2.1/agent.iso"})
    for uuid in (built, brought):
        house.script["boot.boot_ramdisk"] = Waiting(WaitFor.AGENT)
        house.verb(uuid, "provide")
    assert house.look(built).driver_internal_info["agent_secret_token_pregenerated"] is True
    assert "agent_secret_token" not in house.look(brought).driver_internal_info
