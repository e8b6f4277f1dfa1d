# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the documentation says of an option is what the module takes."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import yaml

from ansible_collections.rackwright.metal.plugins.doc_fragments._bmc import ModuleDocFragment
from ansible_collections.rackwright.metal.plugins.module_utils._bmc import BMC_ARGUMENTS

COMPARED = ("type", "elements", "choices", "default", "required")
OURS = (
    "agent_presence",
    "await_agent",
    "bmc_boot_device",
    "bmc_boot_mode",
    "bmc_indicator",
    "bmc_info",
    "bmc_nmi",
    "bmc_power",
    "bmc_secure_boot",
    "bmc_virtual_media",
    "boot_iso",
    "fake_step",
    "sequence",
)


def traits(options: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: {key: option.get(key) for key in COMPARED} for name, option in options.items()}


@pytest.mark.parametrize("name", OURS)
def test_a_module_takes_the_options_that_its_page_shows(name: str) -> None:
    plugins = "ansible_collections.rackwright.metal.plugins"
    page = yaml.safe_load(importlib.import_module(f"{plugins}.modules.{name}").DOCUMENTATION)
    taken = importlib.import_module(f"{plugins}.action.{name}").ActionModule.arguments
    shared = yaml.safe_load(ModuleDocFragment.DOCUMENTATION)["options"] if name.startswith("bmc_") else {}
    assert traits(taken) == traits(page.get("options", {}) | shared)


def test_the_fragment_shows_the_options_of_a_connection() -> None:
    assert traits(yaml.safe_load(ModuleDocFragment.DOCUMENTATION)["options"]) == traits(BMC_ARGUMENTS)
