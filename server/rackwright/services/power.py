# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Power actions (contract: state-machine.yaml, power_api)."""

from __future__ import annotations

from rackwright.domain.errors import Conflict, Invalid, NotAcceptableVersion
from rackwright.domain.states import PowerTarget, ProvisionState
from rackwright.domain.verbs import Interface
from rackwright.engine import plan
from rackwright.services import access, nodes, validate
from rackwright.services.context import Context, check_unlocked

_SOFT = (PowerTarget.SOFT_OFF, PowerTarget.SOFT_REBOOTING)
_OFF = (PowerTarget.OFF, PowerTarget.SOFT_OFF)
_SOFT_SINCE = 27


def change(ident: str, target: str, *, timeout: int | None = None, context: Context) -> None:
    """Start a power action; ``timeout`` (seconds) is the longest wait for an orderly shutdown.

    Raise NodeNotFound, Forbidden, Invalid, NotAcceptableVersion, Conflict or NodeLocked.
    """
    node = nodes.get(ident, context=context, lock=True)
    access.demand("baremetal:node:set_power_state", node, context=context)
    if target not in tuple(PowerTarget):
        raise Invalid(f"{target} is no power target; possible: {', '.join(PowerTarget)}.")
    wanted = PowerTarget(target)
    if wanted in _SOFT and context.minor < _SOFT_SINCE:
        raise NotAcceptableVersion(what=f"Power target {wanted}", since=_SOFT_SINCE, minor=context.minor)
    state = ProvisionState(node.provision_state)
    if not state.traits.power_api:
        raise Invalid(f"The power of node {node.uuid} cannot be changed in state {state}; wait for its end.")
    if node.disable_power_off and wanted in _OFF:
        raise Conflict(f"Node {node.uuid} must not be powered off: disable_power_off is set.")
    check_unlocked(node)
    validate.check(node, Interface.POWER, attempted=f"Power target {wanted}", context=context)
    plan.start_power(
        session=context.session,
        settings=context.settings,
        catalog=context.catalog,
        node=node,
        target=wanted.value,
        timeout=timeout,
        user=context.user,
        project=context.project,
    )
    context.session.commit()
