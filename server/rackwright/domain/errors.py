# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Every error that the daemon raises on purpose, as one tree.

.. code-block:: text

    RackwrightError
    ├── Invalid                     the request or the data cannot be accepted as it is
    │   ├── MissingParameter
    │   ├── InvalidPatch
    │   ├── InvalidDriver           unknown driver, or an interface that it does not support
    │   ├── InvalidState            the verb is not legal now
    │   │   └── InvalidTransition
    │   ├── UnknownVerb
    │   ├── NodeInMaintenance
    │   ├── InvalidStep
    │   │   ├── UnknownStep
    │   │   └── StepConflict        two steps want the same name
    │   └── Unsupported             the driver or interface of this node cannot do it
    ├── NotFound                    one class per resource: NodeNotFound, PortNotFound, ...
    ├── Conflict                    right request, wrong moment
    │   ├── NodeLocked
    │   ├── NodeAssociated
    │   ├── WrongState
    │   ├── Stale                   somebody else changed the record first
    │   └── Duplicate
    ├── Unauthenticated
    ├── Forbidden
    │   └── NodeProtected
    ├── NotAcceptableVersion
    ├── Unavailable                 try again later
    │   ├── NoConductor
    │   ├── NoFreeWorker
    │   └── TooManyOperations
    └── OperationFailed             the work itself went wrong
        ├── AllocationFailed        no node fits
        ├── ClaimLost               another conductor owns the node now
        ├── CatalogInvalid          an installed role or hardware type is declared wrongly
        └── RunFailed               a playbook run ended without a result for a node

The docstring of a class is its default message; names in braces are filled from the keyword arguments. What the
errors mean over HTTP is decided in ``rackwright.api.errors`` only.
"""

from __future__ import annotations

import inspect


class RackwrightError(Exception):
    """Rackwright cannot go on; the log of the daemon has the details."""

    def __init__(self, message: str = "", **facts: object) -> None:
        """Take a ready message, or the facts that fill the default one; both stay readable as attributes."""
        self.facts = facts
        self.message = message or (inspect.getdoc(type(self)) or "").format_map(facts)
        super().__init__(self.message)


class Invalid(RackwrightError):
    """The request cannot be understood; correct it and send it again."""


class MissingParameter(Invalid):
    """{name} is missing; add it and send the request again."""


class InvalidPatch(Invalid):
    """The patch of {path} cannot be applied: {reason}."""


class InvalidDriver(Invalid):
    """Driver {driver} cannot be used: {reason}."""


class InvalidState(Invalid):
    """Verb {verb} is not possible in provision state {state}; possible now: {possible}."""


class InvalidTransition(InvalidState):
    """Event {event} is not possible in provision state {state}."""


class UnknownVerb(Invalid):
    """{target} is no provision target; known targets: {known}."""


class NodeInMaintenance(Invalid):
    """{attempted} is refused because node {node} is in maintenance; clear the maintenance flag first."""


class InvalidStep(Invalid):
    """Step {step} cannot be used: {reason}."""


class UnknownStep(InvalidStep):
    """Step {step} is offered neither by the interfaces of this node nor by its agent; offered: {offered}."""


class StepConflict(InvalidStep):
    """Step {step} is offered twice, by {first} and by {second}; remove or rename one of them."""


class Unsupported(Invalid):
    """{attempted} is not supported by {what}."""


class NotFound(RackwrightError):
    """{what} {ident} could not be found."""


class NodeNotFound(NotFound):
    """Node {ident} could not be found."""


class PortNotFound(NotFound):
    """Port {ident} could not be found."""


class PortgroupNotFound(NotFound):
    """Port group {ident} could not be found."""


class ChassisNotFound(NotFound):
    """Chassis {ident} could not be found."""


class ConductorNotFound(NotFound):
    """Conductor {ident} could not be found."""


class DriverNotFound(NotFound):
    """Driver {ident} is offered by no running conductor."""


class AllocationNotFound(NotFound):
    """Allocation {ident} could not be found."""


class DeployTemplateNotFound(NotFound):
    """Deploy template {ident} could not be found."""


class RunbookNotFound(NotFound):
    """Runbook {ident} could not be found."""


class InspectionRuleNotFound(NotFound):
    """Inspection rule {ident} could not be found."""


class TraitNotFound(NotFound):
    """Trait {ident} is not set on node {node}."""


class VolumeConnectorNotFound(NotFound):
    """Volume connector {ident} could not be found."""


class VolumeTargetNotFound(NotFound):
    """Volume target {ident} could not be found."""


class HistoryNotFound(NotFound):
    """History entry {ident} could not be found; list the history of this node for the entries that it has."""


class InventoryNotFound(NotFound):
    """Node {ident} has no inventory; inspect it first."""


class BiosSettingNotFound(NotFound):
    """BIOS setting {ident} of node {node} could not be found."""


class Conflict(RackwrightError):
    """The request does not fit the present state of the resource; look at it and try again."""


class NodeLocked(Conflict):
    """Node {node} is locked by host {host}; try again when its present operation has ended."""


class NodeAssociated(Conflict):
    """Node {node} belongs to instance {instance}. {action}"""


class WrongState(Conflict):
    """{attempted} is not possible while node {node} is in provision state {state}. {action}"""


class Stale(Conflict):
    """{what} was changed by somebody else in the meantime; read it again and repeat the change."""


class Duplicate(Conflict):
    """{what} {ident} already exists."""


class Unauthenticated(RackwrightError):
    """The request needs valid credentials."""


class Forbidden(RackwrightError):
    """{attempted} is not allowed for this user."""


class NodeProtected(Forbidden):
    """{attempted} is refused because node {node} is protected; clear its protected flag first."""


class NotAcceptableVersion(RackwrightError):
    """{what} needs API version 1.{since} or later, the request asks for 1.{minor}."""


class Unavailable(RackwrightError):
    """The service cannot take the request now; try again later."""


class NoConductor(Unavailable):
    """No running conductor serves driver {driver} in conductor group "{group}"; start one and try again."""


class NoFreeWorker(Unavailable):
    """All workers of conductor {conductor} are busy; try again later."""


class TooManyOperations(Unavailable):
    """{attempted} would exceed {setting}, the limit of {limit} such operations at once{whose}; try again later."""


class OperationFailed(RackwrightError):
    """{attempted} failed: {cause}. {action}"""


class AllocationFailed(OperationFailed):
    """Failed to process allocation {uuid}: {cause}. {action} It stays; delete it before you ask again."""


class ClaimLost(OperationFailed):
    """Conductor {conductor} no longer owns node {node}; its new owner continues the operation."""


class CatalogInvalid(OperationFailed):
    """{where} is declared wrongly: {reason}. Correct the file and restart the daemon."""


class RunFailed(OperationFailed):
    """The playbook run {run} ended without a result for node {node}: {cause}."""
