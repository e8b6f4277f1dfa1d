# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rackwright.engine.inspection_grammar import GrammarError
from rackwright.engine.inspection_literals import proved
from rackwright.engine.inspection_rules import BuiltInRulesInvalid, built_in


@pytest.mark.parametrize(
    ("kind", "op", "args", "why"),
    [
        ("condition", "in-net", ["{inventory[bmc_address]}", "y"], "subnet"),
        ("condition", "!in-net", ["{inventory[bmc_address]}", "192.0.2.0/33"], "subnet"),
        ("action", "api-call", {"url": "file:///etc/passwd"}, "no http or https"),
        ("action", "api-call", {"url": ""}, "no http or https"),
        ("action", "set-attribute", ["/uuid", "x"], "cannot be changed by a rule"),
        ("action", "set-attribute", ["", "x"], "names nothing"),
        ("action", "set-attribute", ["/retired", "perhaps"], "cannot have this value"),
        ("action", "set-attribute", ["/resource_class", "x" * 81], "cannot have this value"),
        ("action", "extend-attribute", ["/provision_state", "x"], "cannot be changed by a rule"),
        ("action", "del-attribute", ["/driver"], "cannot be without driver"),
        ("action", "del-attribute", ["/extra//a"], "names nothing"),
        ("action", "set-plugin-data", ["/", "x"], "names nothing"),
        ("action", "extend-plugin-data", ["a..b", "x"], "names nothing"),
        ("action", "unset-plugin-data", [""], "names nothing"),
        ("action", "set-port-attribute", ["{item}", "/address", "x"], "cannot be changed by a rule"),
        ("action", "set-port-attribute", ["{item}", "/pxe_enabled", "x"], "cannot have this value"),
        ("action", "del-port-attribute", ["{item}", "/uuid"], "cannot be changed by a rule"),
        ("action", "set-capability", ["a:b", "1"], "capability"),
        ("action", "set-capability", ["a", "1,2"], "capability"),
        ("action", "unset-capability", [""], "capability"),
        ("action", "add-trait", ["x"], "no trait"),
    ],
)
@pytest.mark.parametrize("loop", [None, ["a"]])
def test_a_literal_that_can_never_work_is_told_with_its_place(
    kind: Any, op: str, args: Any, why: str, loop: Any
) -> None:
    with pytest.raises(GrammarError, match=rf"^{kind} 1: op {op.removeprefix('!')}: .*{why}"):
        proved(kind, [{"op": op, "args": args, "loop": loop}])


@pytest.mark.parametrize(
    ("kind", "op", "args", "loop"),
    [
        ("condition", "in-net", ["nonsense", "{plugin_data[net]}"], None),
        ("condition", "in-net", ["192.0.2.1", "192.0.2.1/24"], None),
        ("action", "api-call", {"url": "{plugin_data[url]}"}, None),
        ("action", "api-call", {"url": "HTTPS://cmdb.example/{node.uuid}"}, None),
        ("action", "set-attribute", ["{item[path]}", "x"], ["a"]),
        ("action", "set-attribute", ["{{ /properties/cpu_model }}", "x"], None),
        ("action", "set-attribute", ["/retired", "{plugin_data[old]}"], None),
        ("action", "set-attribute", ["/retired", "true"], None),
        ("action", "set-attribute", ["/properties", {"cpus": "{inventory[cpu][count]}"}], None),
        ("action", "set-attribute", ["driver_info.redfish_address", "https://bmc"], None),
        ("action", "del-attribute", ["/description"], None),
        ("action", "del-attribute", ["/extra/a/b"], None),
        ("action", "del-port-attribute", ["{item}", "/extra"], None),
        ("action", "set-capability", ["{item}", 5], ["a"]),
        ("action", "add-trait", ["CUSTOM_{item}"], ["A"]),
        ("action", "add-trait", ["HW_CPU_X86_VMX"], None),
        ("action", "remove-trait", ["x"], None),
    ],
)
def test_what_may_work_is_taken(kind: Any, op: str, args: Any, loop: Any) -> None:
    (clause,) = proved(kind, [{"op": op, "args": args, "loop": loop}])
    assert clause.op == op


def test_a_file_of_rules_with_such_a_literal_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("- actions:\n  - {op: add-trait, args: [x]}\n")
    with pytest.raises(BuiltInRulesInvalid, match="no trait"):
        built_in(file)
