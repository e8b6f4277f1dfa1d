# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of provision and power requests (contract: api.yaml, states/provision)."""

from __future__ import annotations

from rackwright.api.deps import Arg, Args
from rackwright.api.kinds import ANYTHING, BOOLEAN, IDENT, POSITIVE, TEXT
from rackwright.api.schemas.steps import COMMON, NUMBER, kind_of_steps

_CLEAN = {
    **COMMON,
    "order": NUMBER,
    "execute_on_child_nodes": {"type": "boolean"},
    "limit_child_node_execution": {"type": "array", "items": {"type": "string", "format": "uuid"}},
}

CLEAN_STEPS = kind_of_steps(_CLEAN, ["interface", "step"], null=True)
DEPLOY_STEPS = kind_of_steps({**COMMON, "priority": NUMBER}, ["interface", "step", "args", "priority"], null=True)

PROVISION: Args = {
    "target": Arg(TEXT, required=True),
    "configdrive": Arg(ANYTHING),
    "clean_steps": Arg(CLEAN_STEPS),
    "deploy_steps": Arg(DEPLOY_STEPS),
    "service_steps": Arg(CLEAN_STEPS),
    "rescue_password": Arg(TEXT.or_null()),
    "disable_ramdisk": Arg(BOOLEAN.or_null()),
    "runbook": Arg(IDENT.or_null()),
}
"""Which version brought an argument depends on the verb: ``domain.verbs.VERBS``."""

POWER: Args = {"target": Arg(TEXT, required=True), "timeout": Arg(POSITIVE.or_null(), 27)}
