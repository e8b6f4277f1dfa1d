# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rackwright.engine.inspection import (
    HOOKS,
    Changes,
    HookFailed,
    InspectionFailed,
    InspectionOptions,
    PortFacts,
    Subject,
    UnknownHook,
    evaluate,
    stages,
    with_capabilities,
)
from rackwright.settings import Settings

GIB = 1024**3
FIRST, SECOND = "52:54:00:aa:bb:01", "52:54:00:aa:bb:02"
INVENTORY: dict[str, Any] = {
    "interfaces": [
        {"name": "lo", "mac_address": "00:00:00:00:00:00", "ipv4_address": "127.0.0.1"},
        {"name": "eth0", "mac_address": FIRST.upper(), "ipv4_address": "192.0.2.20", "client_id": "ff:00"},
        {"name": "eth1", "mac_address": SECOND, "ipv4_address": None},
    ],
    "cpu": {"count": 4, "architecture": "x86_64", "flags": ["vmx", "aes", "odd"]},
    "memory": {"physical_mb": 8192, "total": 8 * GIB},
    "disks": [{"name": "/dev/sda", "size": 100 * GIB}, {"name": "/dev/sdb", "size": 0}],
    "boot": {"current_boot_mode": "uefi", "pxe_interface": FIRST},
}


def subject(*hooks: str, **changes: Any) -> Subject:
    options = InspectionOptions(inspection_hooks=hooks, **changes.pop("options", {}))
    plain = Subject(INVENTORY, {}, properties={}, instance_info={}, ports=(), options=options)
    return replace(plain, **changes)


def run(*hooks: str, **changes: Any) -> Changes:
    given = subject(*hooks, **changes)
    return evaluate(stages(given.options), given)


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in INVENTORY.items() if name != key}


def ports_of(**changes: Any) -> Changes:
    return run("validate-interfaces", "ports", **changes)


def test_the_default_hooks_make_the_port_that_booted_and_the_architecture() -> None:
    given = subject(*InspectionOptions().inspection_hooks)
    changes = evaluate(stages(given.options), given)
    assert changes.new_ports == (PortFacts(FIRST, True, {"client-id": "ff:00"}),)
    assert changes.properties == {"cpu_arch": "x86_64"}


def test_a_hook_that_nobody_knows_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownHook, match=r"names colour; known hooks: ramdisk-error, "):
        InspectionOptions(inspection_hooks=("colour",))


def test_every_failure_is_told_at_once_and_nothing_is_changed() -> None:
    with pytest.raises(InspectionFailed) as failed:
        run("ramdisk-error", "memory", "architecture", plugin_data={"error": "no disk"}, inventory=without("memory"))
    assert "ramdisk-error: the ramdisk reports: no disk" in str(failed.value)
    assert "memory: inventory.memory.physical_mb is missing" in str(failed.value)
    assert "architecture" not in str(failed.value)


def test_one_more_stage_sees_what_the_hooks_found() -> None:
    def rule(seen: Subject) -> Changes:
        if seen.properties["cpu_arch"] != "x86_64":
            raise HookFailed("wrong machine")
        return Changes(properties={"seen": seen.properties["cpu_arch"]})

    given = subject("architecture")
    changes = evaluate([*stages(given.options), ("rules", rule)], given)
    assert changes.properties == {"cpu_arch": "x86_64", "seen": "x86_64"}


def test_valid_interfaces_are_kept_with_the_plugin_data() -> None:
    found = run("validate-interfaces").plugin_data
    assert found["macs"] == [FIRST]
    assert sorted(found["all_interfaces"]) == ["eth0", "eth1", "lo"]
    assert found["all_interfaces"]["eth1"] == {
        "name": "eth1",
        "mac_address": SECOND,
        "ipv4_address": None,
        "ipv6_address": None,
        "pxe_enabled": False,
    }
    assert list(found["valid_interfaces"]) == ["eth0"]


@pytest.mark.parametrize(
    ("add_ports", "boot", "expected"),
    [
        ("pxe", {"pxe_interface": FIRST}, [(FIRST, True)]),
        ("pxe", {"pxe_interface": f"01-{FIRST.replace(':', '-')}"}, [(FIRST, True)]),
        ("pxe", {}, [(FIRST, True), (SECOND, True)]),
        ("active", {"pxe_interface": SECOND}, [(FIRST, False)]),
        ("all", {"pxe_interface": FIRST}, [(FIRST, True), (SECOND, False)]),
        ("disabled", {"pxe_interface": FIRST}, []),
    ],
)
def test_setting_add_ports_chooses_the_interfaces_that_become_ports(
    add_ports: str, boot: dict[str, Any], expected: list[tuple[str, bool]]
) -> None:
    changes = ports_of(options={"add_ports": add_ports}, inventory={**INVENTORY, "boot": boot})
    assert [(port.address, port.pxe_enabled) for port in changes.new_ports] == expected


def test_no_suitable_interface_is_a_failure_that_names_the_setting() -> None:
    only_loopback = {"interfaces": INVENTORY["interfaces"][:1]}
    with pytest.raises(InspectionFailed, match="add_ports=active"):
        ports_of(options={"add_ports": "active"}, inventory=only_loopback)


def test_malformed_interface_records_are_passed_over() -> None:
    odd = [{"mac_address": SECOND}, {"name": 5, "mac_address": SECOND}, {"name": "eth9", "mac_address": None}]
    inventory = {**INVENTORY, "interfaces": [*odd, *INVENTORY["interfaces"]]}
    assert [port.address for port in ports_of(inventory=inventory).new_ports] == [FIRST]


def test_known_ports_are_not_made_again_but_marked() -> None:
    known = (PortFacts(FIRST, pxe_enabled=False), PortFacts(SECOND, pxe_enabled=True))
    changes = ports_of(ports=known)
    assert changes.new_ports == ()
    assert changes.pxe_enabled == {FIRST: True, SECOND: False}
    assert ports_of(ports=known, options={"update_pxe_enabled": False}).pxe_enabled == {}


def test_ports_are_not_marked_when_the_boot_interface_is_unknown() -> None:
    assert ports_of(ports=(PortFacts(FIRST),), inventory={**INVENTORY, "boot": {}}).pxe_enabled == {}


@pytest.mark.parametrize(
    ("keep_ports", "gone"),
    [("all", ()), ("present", ("52:54:00:aa:bb:99",)), ("added", (SECOND, "52:54:00:aa:bb:99"))],
)
def test_setting_keep_ports_chooses_the_ports_that_survive(keep_ports: str, gone: tuple[str, ...]) -> None:
    known = (PortFacts(FIRST), PortFacts(SECOND), PortFacts("52:54:00:aa:bb:99"))
    assert ports_of(ports=known, options={"keep_ports": keep_ports}).gone_ports == gone


def test_an_internal_address_that_every_unit_shares_makes_no_port_and_is_noted() -> None:
    shared = {"name": "usb0", "mac_address": "fa:4b:7f:00:00:01", "ipv4_address": "169.254.0.2"}
    inventory = {**INVENTORY, "interfaces": [shared, *INVENTORY["interfaces"]], "boot": {}}
    changes = ports_of(inventory=inventory)
    assert [port.address for port in changes.new_ports] == [FIRST, SECOND]
    assert [note.field for note in changes.notes] == ["interface usb0"]


def test_a_bond_makes_no_port() -> None:
    bond = {"name": "bond0", "mac_address": "00:1b:21:00:00:09", "ipv4_address": "192.0.2.9"}
    inventory = {**INVENTORY, "interfaces": [bond, *INVENTORY["interfaces"]], "boot": {}}
    assert [port.address for port in ports_of(inventory=inventory).new_ports] == [FIRST, SECOND]


@pytest.mark.parametrize(
    ("hook", "key", "expected"),
    [
        ("architecture", "cpu", {"cpu_arch": "x86_64"}),
        ("memory", "memory", {"memory_mb": 8192}),
        ("cpus", "cpu", {"cpus": 4}),
    ],
)
def test_hooks_set_the_properties_of_their_name(hook: str, key: str, expected: dict[str, Any]) -> None:
    assert run(hook).properties == expected
    if hook == "cpus":
        assert run(hook, inventory=without(key)).properties == {}
        return
    odd = {"architecture": {"$sealed": "x"}, "physical_mb": "many"}
    for broken in (without(key), *({**INVENTORY, key: value} for value in ("text", {}, odd))):
        with pytest.raises(InspectionFailed, match=f"inventory.{key}"):
            run(hook, inventory=broken)


def test_boot_mode_and_processor_flags_become_capabilities() -> None:
    assert run("boot-mode").capabilities == {"boot_mode": "uefi"}
    assert run("boot-mode", inventory={"boot": {"current_boot_mode": "strange"}}).capabilities == {}
    assert run("cpu-capabilities").capabilities == {"cpu_vt": "true", "cpu_aes": "true"}
    assert run("cpu-capabilities", inventory={"cpu": {"flags": None}}).capabilities == {}


def test_capabilities_are_merged_into_the_text_that_is_there() -> None:
    assert with_capabilities("boot_mode:bios, gpu:yes,broken", {"boot_mode": "uefi"}) == "boot_mode:uefi,gpu:yes"
    assert with_capabilities(None, {"boot_mode": "uefi"}) == "boot_mode:uefi"


def test_the_root_disk_is_the_one_that_the_hints_mean() -> None:
    changes = run("root-device", properties={"root_device": {"name": "/dev/sda"}})
    assert changes.properties == {"local_gb": 99}
    assert changes.plugin_data["root_disk"]["name"] == "/dev/sda"
    wins = run("root-device", properties={"root_device": {"name": "x"}}, instance_info={"root_device": {"size": 100}})
    assert wins.plugin_data["root_disk"]["name"] == "/dev/sda"


def test_without_hints_the_root_disk_of_the_agent_counts() -> None:
    assert run("root-device", plugin_data={"root_disk": {"size": 10 * GIB}}).properties == {"local_gb": 9}
    assert run("root-device").properties == {"local_gb": 0}


def test_hints_that_match_no_disk_fail_the_inspection() -> None:
    with pytest.raises(InspectionFailed, match="none of the disks"):
        run("root-device", properties={"root_device": {"name": "/dev/sdb"}})


@pytest.mark.parametrize("hook", sorted(HOOKS))
def test_no_hook_stumbles_over_a_report_of_nothing_but_interfaces(hook: str) -> None:
    odd = {"interfaces": INVENTORY["interfaces"], "cpu": [], "memory": 1, "disks": "none", "boot": [5]}
    try:
        run(hook, inventory=odd, plugin_data={"root_disk": [], "boot_interface": 7})
    except InspectionFailed as failed:
        assert f"{hook}: " in str(failed)


def test_the_options_have_the_names_and_defaults_of_the_settings() -> None:
    assert InspectionOptions.of(Settings()) == InspectionOptions()
