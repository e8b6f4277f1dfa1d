# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwright.engine.inspection import InspectionFailed
from rackwright.engine.inspection_actions import HttpCall, Scene
from rackwright.engine.inspection_rules import BuiltInRulesInvalid, Rule, built_in, in_order, run
from rackwright.engine.inspection_text import Words
from rackwright.store.node import Node
from rackwright.store.port import Port

NODE, PORT, MAC = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222", "52:54:00:aa:bb:01"
INVENTORY: dict[str, Any] = {
    "cpu": {"count": 4, "architecture": "x86_64"},
    "memory": {"physical_mb": 8192},
    "disks": [{"name": "/dev/sda", "size": 100}, {"name": "/dev/sdb", "size": 200}],
    "interfaces": [{"name": "eth0", "mac_address": MAC}],
    "bmc_address": "192.0.2.30",
    "bmc_password": "calvin",
    "system_vendor": {"manufacturer": "Dell Inc.", "serial": "{node.uuid}", "empty": "", "none": None},
}


def scene(**node: Any) -> Scene:
    fields: dict[str, Any] = {
        "uuid": NODE,
        "driver": "redfish",
        "driver_info": {"redfish_password": {"$sealed": "x"}, "redfish_address": "https://192.0.2.30"},
    }
    return Scene(
        node=Node(**(fields | node)).model_dump(),
        ports=[Port(uuid=PORT, address=MAC, node_id=1, name="first").model_dump()],
        inventory=copy.deepcopy(INVENTORY),
        plugin_data={"macs": [MAC], "nothing": []},
    )


def rule(*actions: Any, conditions: Any = (), **more: Any) -> Rule:
    row = {"uuid": "rule-1", "description": "the rule", "conditions": list(conditions)}
    done = list(actions) or [{"op": "set-attribute", "args": {"path": "/extra/done", "value": "yes"}}]
    return Rule.of({**row, "actions": done, **more})


def act(op: str, *, within: Scene | None = None, loop: Any = None, **args: Any) -> Scene:
    found = within or scene()
    action: dict[str, Any] = {"op": op, "args": args} | ({} if loop is None else {"loop": loop})
    assert run(rule(action), found, unseal=None)
    return found


def holds(op: str, args: Any, **more: Any) -> bool:
    return run(rule(conditions=[{"op": op, "args": args, **more}]), scene(), unseal=None)


@pytest.mark.parametrize(
    ("op", "args", "expected"),
    [
        ("eq", {"values": ["{node.driver}", "redfish"]}, True),
        ("eq", ["{node.driver}", "redfish", "redfish"], True),
        ("eq", {"values": ["{node.driver}", "redfish", "ipmi"]}, False),
        ("eq", {"values": ["{inventory[cpu][count]}", 4]}, True),
        ("eq", {"values": ["{inventory[cpu][count]}", "4"]}, True),
        ("eq", {"values": ["04", "4"]}, True),
        ("eq", {"values": ["04", "4"], "force_strings": True}, False),
        ("eq", {"values": [True, "True"]}, True),
        ("!eq", {"values": ["{node.driver}", "redfish"]}, False),
        ("! eq", {"values": ["{node.driver}", "ipmi"]}, True),
        ("not eq", {"values": ["{node.driver}", "ipmi"]}, True),
        ("lt", {"values": [1, "{inventory[cpu][count]}", 5]}, True),
        ("lt", {"values": [1, 5, "{inventory[cpu][count]}"]}, False),
        ("gt", {"values": ["{inventory.memory.physical_mb}", 4096]}, True),
        ("gt", {"values": ["10000", "9"], "force_strings": True}, False),
        ("is-empty", {"value": "{inventory[system_vendor][empty]}"}, True),
        ("is-empty", {"value": "{plugin_data[nothing]}"}, True),
        ("is-empty", {"value": "{plugin_data[macs]}"}, False),
        ("is-empty", {"value": []}, True),
        ("is-none", {"value": "{inventory[system_vendor][none]}"}, True),
        ("is-none", {"value": "{inventory[no][such]}"}, False),
        ("is-true", {"value": "Yes"}, True),
        ("is-true", {"value": 2}, True),
        ("is-true", {"value": "{node.maintenance}"}, False),
        ("is-false", {"value": "{node.maintenance}"}, True),
        ("is-false", {"value": 0}, True),
        ("is-false", {"value": None}, True),
        ("is-false", {"value": "perhaps"}, False),
        ("in-net", {"address": "{inventory[bmc_address]}", "subnet": "192.0.2.0/24"}, True),
        ("in-net", ["{inventory[bmc_address]}", "198.51.100.0/24"], False),
        ("in-net", {"address": "nonsense", "subnet": "192.0.2.0/24"}, False),
        ("matches", {"value": "{inventory[system_vendor][manufacturer]}", "regex": "Dell"}, False),
        ("matches", {"value": "{inventory[system_vendor][manufacturer]}", "regex": "Dell.*"}, True),
        ("contains", {"value": "{inventory[system_vendor][manufacturer]}", "regex": "(?i)INC"}, True),
        ("contains", {"value": "aaa", "regex": "a{3}"}, True),
        ("one-of", {"value": "{node.driver}", "values": ["ipmi", "redfish"]}, True),
        ("one-of", {"value": MAC, "values": "{plugin_data[macs]}"}, True),
        ("one-of", {"value": "{node.driver}", "values": []}, False),
    ],
)
def test_a_condition_compares_what_the_references_name(op: str, args: Any, expected: bool) -> None:
    assert holds(op, args) is expected


@pytest.mark.parametrize(
    ("multiple", "loop", "expected"),
    [
        ("any", ["a", "redfish", "b"], True),
        ("any", ["a", "b"], False),
        ("all", ["redfish", "redfish"], True),
        ("all", ["redfish", "b"], False),
        ("first", ["redfish", "b"], True),
        ("first", ["b", "redfish"], False),
        ("last", ["b", "redfish"], True),
        ("last", ["redfish", "b"], False),
        ("any", {"redfish": 1}, True),
        ("any", [], False),
        ("all", [], True),
    ],
)
def test_a_loop_joins_its_turns(multiple: str, loop: Any, expected: bool) -> None:
    args = {"values": ["{node.driver}", "{item}"]}
    assert holds("eq", args, loop=loop, multiple=multiple) is expected
    assert holds("!eq", args, loop=loop, multiple=multiple) is not expected


def test_a_loop_may_run_over_what_was_found() -> None:
    assert holds("eq", ["{item[size]}", 200], loop="{inventory[disks]}")
    found = act("set-attribute", path="/extra/{item[name]}", value="{item[size]}", loop="{inventory[disks]}")
    assert found.node["extra"] == {"/dev/sda": "100", "/dev/sdb": "200"}


def test_a_loop_over_an_object_has_keys_and_values() -> None:
    found = act("set-attribute", path="/extra/{key}", value="{value}", loop={"rack": "r1", "row": "{node.driver}"})
    assert found.node["extra"] == {"rack": "r1", "row": "redfish"}


def test_what_a_reference_puts_in_is_never_read_as_a_reference() -> None:
    found = act("set-attribute", path="/extra/serial", value="{inventory[system_vendor][serial]}")
    assert found.node["extra"]["serial"] == "{node.uuid}"


@pytest.mark.parametrize(
    "text",
    [
        "{node.__class__}",
        "{node.__init__.__globals__}",
        "{node.uuid.__class__}",
        "{inventory.keys}",
        "{0}",
        "{}",
        "{node.uuid!r}",
        "{node.uuid:>99999999}",
        "{inventory[cpu}",
        "{inventory[disks][9]}",
        "{inventory[disks][-1]}",
        "{unknown}",
        "{{ lookup('pipe', 'id') }} {",
        "}",
    ],
)
def test_a_reference_that_leads_nowhere_leaves_the_text(text: str) -> None:
    assert act("set-attribute", path="/extra/x", value=text).node["extra"]["x"] == text


def test_double_braces_are_single_ones() -> None:
    assert act("set-attribute", path="/extra/x", value="{{{node.driver}}}").node["extra"]["x"] == "{redfish}"


def test_references_are_replaced_on_every_level() -> None:
    value = {"serials": ["{node.driver}", 1], "{node.driver}": None}
    assert act("set-attribute", path="extra.x", value=value).node["extra"]["x"] == {
        "serials": ["redfish", 1],
        "redfish": None,
    }


@given(st.text(max_size=40), st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists, max_leaves=5))
def test_no_text_makes_filling_fail(text: str, data: Any) -> None:
    words = Words({"inventory": {"a": data}, "node": {}})
    assert isinstance(words.fill(text), str)
    assert isinstance(words.fill("{inventory" + text + "}"), str)


def test_a_password_in_a_url_is_hidden_unless_the_rule_may_see_secrets() -> None:
    action = {"op": "set-attribute", "args": ["/extra/a", "{node.driver_info[redfish_address]}"]}
    info = {"redfish_address": "https://admin:calvin@bmc"}
    blind, seeing = scene(driver_info=info), scene(driver_info=info)
    run(rule(action), blind, unseal=None)
    run(rule(action), seeing, unseal=dict)
    assert blind.node["extra"]["a"] == "https://admin:******@bmc"
    assert seeing.node["extra"]["a"] == "https://admin:calvin@bmc"


def test_secrets_are_hidden_unless_the_rule_may_see_them() -> None:
    actions = [
        {"op": "set-attribute", "args": ["/extra/a", "{node.driver_info[redfish_password]}"]},
        {"op": "set-attribute", "args": ["/extra/b", "{inventory[bmc_password]}"]},
        {"op": "set-attribute", "args": ["/extra/c", "{inventory}"]},
    ]
    blind, seeing = scene(), scene()
    run(rule(*actions), blind, unseal=None)
    run(rule(*actions), seeing, unseal=lambda _: {"redfish_password": "opened"})
    assert (blind.node["extra"]["a"], blind.node["extra"]["b"]) == ("***", "***")
    assert "calvin" not in blind.node["extra"]["c"]
    assert (seeing.node["extra"]["a"], seeing.node["extra"]["b"]) == ("opened", "calvin")


def test_attributes_are_set_extended_and_removed() -> None:
    found = act("set-attribute", path="/properties/a~1b/c", value=1)
    assert found.node["properties"] == {"a/b": {"c": 1}}
    act("extend-attribute", path="/extra/list", value="x", within=found)
    act("extend-attribute", path="/extra/list", value="x", within=found)
    act("extend-attribute", path="/extra/list", value="x", unique=True, within=found)
    assert found.node["extra"]["list"] == ["x", "x"]
    act("set-attribute", path="/extra/list/0", value="y", within=found)
    act("set-attribute", path="/extra/list/-", value="z", within=found)
    assert found.node["extra"]["list"] == ["y", "x", "z"]
    act("del-attribute", path="/extra/list/1", within=found)
    act("del-attribute", path="/extra/none/such", within=found)
    assert found.node["extra"] == {"list": ["y", "z"]}
    act("del-attribute", path="/extra", within=found)
    act(
        "set-attribute",
        path="resource_class",
        value="{inventory[cpu][architecture]}-{inventory[cpu][count]}",
        within=found,
    )
    assert (found.node["extra"], found.node["resource_class"]) == ({}, "x86_64-4")
    act("del-attribute", path="resource_class", within=found)
    assert found.node["resource_class"] is None
    assert found.node_changes == {"properties", "extra", "resource_class"}


def test_capabilities_and_traits_change() -> None:
    found = scene(properties={"capabilities": "boot_mode:uefi,old:1"}, traits=["CUSTOM_OLD"])
    act("set-capability", name="cpus", value="{inventory[cpu][count]}", within=found)
    act("unset-capability", name="old", within=found)
    act("unset-capability", name="never", within=found)
    act("add-trait", name="CUSTOM_{item}", loop=["A", "B"], within=found)
    act("remove-trait", name="CUSTOM_OLD", within=found)
    assert found.node["properties"]["capabilities"] == "boot_mode:uefi,cpus:4"
    assert found.node["traits"] == ["CUSTOM_A", "CUSTOM_B"]


def test_plugin_data_changes() -> None:
    found = act("set-plugin-data", path="/site/rack", value="r1")
    act("extend-plugin-data", path="macs", value="{item}", unique=True, loop=[MAC, "other"], within=found)
    act("unset-plugin-data", path="nothing", within=found)
    assert found.plugin_data == {"site": {"rack": "r1"}, "macs": [MAC, "other"]}


@pytest.mark.parametrize("ident", [PORT, MAC.upper(), "first", "{inventory[interfaces][0][mac_address]}"])
def test_ports_change_whatever_they_are_called_by(ident: str) -> None:
    found = act("set-port-attribute", port_id=ident, path="/extra/cable", value="blue")
    act("extend-port-attribute", port_id=ident, path="/extra/list", value=1, within=found)
    act("set-port-attribute", port_id=ident, path="pxe_enabled", value="false", within=found)
    act("set-port-attribute", port_id=ident, path="physical_network", value="net1", within=found)
    act("del-port-attribute", port_id=ident, path="/extra/list", within=found)
    assert found.ports[0]["extra"] == {"cable": "blue"}
    assert (found.ports[0]["pxe_enabled"], found.ports[0]["physical_network"]) == (False, "net1")
    assert found.port_changes == {PORT: {"extra", "pxe_enabled", "physical_network"}}


@pytest.mark.parametrize(
    ("op", "args", "why"),
    [
        ("fail", {"msg": "no {inventory[cpu][architecture]} here"}, "no x86_64 here"),
        ("set-attribute", {"path": "/provision_state", "value": "active"}, "cannot be changed by a rule"),
        ("set-attribute", {"path": "/uuid", "value": "x"}, "cannot be changed by a rule"),
        ("set-attribute", {"path": "/", "value": "x"}, "names nothing"),
        ("set-attribute", {"path": "/extra//a", "value": "x"}, "names nothing"),
        ("set-attribute", {"path": "/extra", "value": "x"}, "cannot have this value"),
        ("set-attribute", {"path": "/resource_class", "value": "x" * 81}, "cannot have this value"),
        ("set-attribute", {"path": "/retired", "value": "perhaps"}, "cannot have this value"),
        ("set-attribute", {"path": "/driver_info/redfish_address/x", "value": 1}, "no object"),
        ("del-attribute", {"path": "/driver"}, "cannot be without driver"),
        ("del-attribute", {"path": "/nonsense/a"}, "cannot be changed by a rule"),
        ("extend-attribute", {"path": "/driver_info/redfish_address", "value": 1}, "no list"),
        ("set-capability", {"name": "a,b", "value": "1"}, "capability"),
        ("add-trait", {"name": "nonsense"}, "no trait"),
        ("set-port-attribute", {"port_id": "52:54:00:00:00:00", "path": "/extra/a", "value": 1}, "no port"),
        ("set-port-attribute", {"port_id": PORT, "path": "/address", "value": MAC}, "cannot be changed by a rule"),
        ("api-call", {"url": "file:///etc/passwd"}, "no http or https"),
        ("set-attribute", {"path": "/extra/x", "value": "{node.extra[long]}" * 2}, "64 KiB"),
    ],
)
def test_a_failure_names_the_rule_the_step_the_cause_and_the_next_action(op: str, args: Any, why: str) -> None:
    steps = [{"op": "log", "args": {"msg": "first"}}, {"op": op, "args": args}]
    with pytest.raises(InspectionFailed) as failed:
        run(rule(*steps), scene(extra={"long": "x" * 40_000}), unseal=None)
    cause = str(failed.value.facts["cause"])
    assert cause.startswith(f"inspection rule rule-1 (the rule), action 2 ({op}): ")
    assert why in cause
    assert "inspect the node again" in str(failed.value.facts["action"])


@pytest.mark.parametrize(
    ("op", "args", "why"),
    [
        ("lt", {"values": ["many", 4]}, "have no order"),
        ("in-net", {"address": "192.0.2.1", "subnet": "nonsense"}, "subnet"),
        ("contains", {"value": "a" * 60 + "b", "regex": "(a|aa)+$"}, "took more than 1 s"),
        ("one-of", {"value": "a", "values": "{inventory[cpu]}"}, "values is no list"),
    ],
)
def test_a_condition_that_cannot_be_judged_fails_the_inspection(op: str, args: Any, why: str) -> None:
    with pytest.raises(InspectionFailed, match=why):
        holds(op, args)


def test_a_path_of_a_reference_alone_is_the_path_that_it_names() -> None:
    places = [{"path": "/driver_info/user", "value": "root"}, {"path": "/extra/a", "value": "{inventory[bmc_address]}"}]
    found = act("set-attribute", path="{item[path]}", value="{item[value]}", loop=places)
    assert (found.node["driver_info"]["user"], found.node["extra"]) == ("root", {"a": "192.0.2.30"})


def test_the_actions_of_a_rule_whose_conditions_do_not_hold_are_not_done() -> None:
    found = scene()
    conditions = [{"op": "eq", "args": [1, 1]}, {"op": "eq", "args": [1, 2]}, {"op": "lt", "args": ["never", 1]}]
    assert not run(rule(conditions=conditions), found, unseal=None)
    assert found.node_changes == set()


def test_messages_are_kept_for_the_log() -> None:
    assert act("log", msg="{node.driver}", level="warning").messages == [("warning", "redfish")]


def test_a_call_is_asked_for_once_and_its_error_fails_the_rule() -> None:
    args: dict[str, Any] = {"url": "http://192.0.2.9/{inventory[bmc_address]}/{node.name}", "headers": {"X-A": "b"}}
    found = act("api-call", **args)
    wanted = HttpCall("http://192.0.2.9/192.0.2.30/None", (("X-A", "b"),), (), 5, 3, 0.3)
    assert found.calls == [wanted]
    done = scene()
    done.answers = {wanted: None}
    assert act("api-call", within=done, **args).calls == []
    done.answers = {wanted: "GET failed: 404"}
    with pytest.raises(InspectionFailed, match="GET failed: 404"):
        act("api-call", within=done, **args)


def test_what_a_machine_told_cannot_leave_its_place_in_a_url() -> None:
    found = scene()
    found.plugin_data["evil"] = "x@192.0.2.66/?a=b#c"
    act("api-call", url="http://192.0.2.9/{plugin_data[evil]}", within=found)
    assert found.calls[0].url == "http://192.0.2.9/x%40192.0.2.66%2F%3Fa%3Db%23c"


def test_rules_run_by_priority_and_then_by_age() -> None:
    rules = [rule(uuid=name, priority=priority) for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", -5))]
    assert [each.name[0] for each in in_order(rules)] == ["b", "a", "c", "d"]


def test_rules_of_a_file_are_rules_like_others(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(
        "- description: Dell\n  priority: -1\n  sensitive: true\n"
        "  conditions:\n  - {op: contains, args: {value: '{inventory[system_vendor][manufacturer]}', regex: Dell}}\n"
        "  actions:\n  - {op: set-attribute, args: [/extra/vendor, dell]}\n"
    )
    (found,) = built_in(file)
    place = scene()
    assert run(found, place, unseal=None)
    assert place.node["extra"] == {"vendor": "dell"}
    assert (found.priority, found.sensitive) == (-1, True)
    assert built_in(None) == []


@pytest.mark.parametrize(
    "text",
    ["{", "a: b", "- a", "- {actions: []}", "- {actions: 5}", "- {actions: [{op: explode, args: []}]}", "5",
     "- {colour: red, actions: [{op: fail, args: [x]}]}", "- {phase: early, actions: [{op: fail, args: [x]}]}",
     "- {conditions: 5, actions: [{op: fail, args: [x]}]}"],
)  # fmt: skip
def test_a_file_of_rules_that_cannot_be_used_is_told(tmp_path: Path, text: str) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(text)
    with pytest.raises(BuiltInRulesInvalid, match=str(file)):
        built_in(file)
    with pytest.raises(BuiltInRulesInvalid):
        built_in(tmp_path / "none.yaml")
