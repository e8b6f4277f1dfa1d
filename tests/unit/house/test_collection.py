# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What belongs to a plugin, and whom it may import."""

import sys
from pathlib import PurePath

import pytest
import yaml

from tests.unit.house.tree import ROOT, constant, imports, kept, load

MODULES = {PurePath(path).stem: path for path in kept("plugins/modules/*.py")}
ACTIONS = {PurePath(path).stem: path for path in kept("plugins/action/*.py")}
OURS = "ansible_collections.rackwright.metal.plugins."
# The libraries of BMC protocols and image formats; `missing_required_lib` speaks when one is absent.
LIBRARIES = {"oslo_utils", "pycdlib", "pyghmi", "sushy", "requests", "urllib3"}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_has_a_unit_test_a_target_and_examples(name: str) -> None:
    assert (ROOT / f"tests/unit/plugins/modules/test_{name}.py").is_file()
    assert (ROOT / f"tests/integration/targets/{name}/tasks/main.yml").is_file()
    examples = yaml.safe_load(constant(MODULES[name], "EXAMPLES") or "")
    assert any(f"rackwright.metal.{name}" in task for task in examples)


@pytest.mark.parametrize("path", kept("plugins/module_utils/*.py", "plugins/plugin_utils/*.py"))
def test_shared_plugin_code_is_private(path: str) -> None:
    assert any(part.startswith("_") for part in PurePath(path).parts[2:])


@pytest.mark.parametrize("name", ACTIONS)
def test_an_action_plugin_has_the_module_that_documents_it(name: str) -> None:
    assert name in MODULES


@pytest.mark.parametrize("group", load("meta/runtime.yml")["action_groups"])
def test_an_action_group_holds_the_modules_that_share_its_options(group: str) -> None:
    fragment = f"rackwright.metal._{group}"
    documented = {name: yaml.safe_load(constant(path, "DOCUMENTATION") or "") for name, path in MODULES.items()}
    members = [name for name, page in documented.items() if fragment in page.get("extends_documentation_fragment", [])]
    assert load("meta/runtime.yml")["action_groups"][group] == sorted(members)


@pytest.mark.parametrize("path", kept("plugins/*.py"))
def test_a_plugin_imports_neither_the_daemon_nor_what_its_user_may_lack(path: str) -> None:
    allowed = sys.stdlib_module_names | LIBRARIES | {"ansible", "yaml"}
    foreign = [name for _, name in imports(path) if name.split(".")[0] not in allowed and not name.startswith(OURS)]
    assert foreign == []


@pytest.mark.parametrize("path", kept("plugins/modules/*.py", "plugins/module_utils/*.py"))
def test_a_module_needs_no_more_of_ansible_than_its_module_utils(path: str) -> None:
    allowed = ("ansible.module_utils.", OURS + "module_utils.")
    names = [name for _, name in imports(path) if name.split(".")[0] in {"ansible", "ansible_collections"}]
    assert [name for name in names if not name.startswith(allowed)] == []
