# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The form of ``meta/steps.yml``: what a role implements and the steps that it offers.

The JSON Schema in ``docs/reference/steps.schema.json`` is made from these models.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from rackwright.domain.steps import ArgInfo, Step, StepFields
from rackwright.domain.verbs import Interface

_FORM = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
ImplementationName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$", max_length=255)]


class StepDeclaration(StepFields):
    """One step of a role: ``tasks/<tasks>.yml`` and the entry point ``<name>`` in ``argument_specs.yml``."""

    args: dict[str, str] = Field(default_factory=dict)
    """Public argument to role variable; type, description and required stand in argument_specs.yml only."""

    def step(self, role: str, argsinfo: Mapping[str, ArgInfo]) -> Step:
        """Return the step as ``role`` offers it, with what its users are told about the arguments."""
        return Step(
            **self.model_dump(exclude={"args"}),
            role=role,
            variables=self.args,
            argsinfo={name: argsinfo.get(name, ArgInfo()) for name in self.args},
        )


class Property(BaseModel):
    """One key of driver_info that the implementation reads."""

    model_config = _FORM

    description: str
    required: bool = False
    secret: bool = False
    """Sealed in the database, masked by the API."""


class Implementation(BaseModel):
    """One interface implementation that a role belongs to; it may be spread over several roles."""

    model_config = _FORM

    interface: Interface
    name: ImplementationName
    protocol: str | None = None
    """The language of the BMC: redfish, ipmi."""
    supported: bool = True
    """False for the no-* implementations, which refuse every call."""
    properties: dict[str, Property] = {}
    """Keys of driver_info that only this implementation reads."""


class StepsFile(BaseModel):
    """The whole file."""

    model_config = _FORM

    implements: tuple[Implementation, ...] = ()
    """Implementations that the role is a part of; none = the role serves other roles."""
    properties: dict[str, Property] = {}
    """Keys of driver_info that all of them read."""
    steps: tuple[StepDeclaration, ...] = ()

    @model_validator(mode="after")
    def _each_step_once(self) -> Self:
        seen = set()
        for step in self.steps:
            key = (step.phase, step.interface, step.name)
            if key in seen:
                raise ValueError(f"step {step.interface}.{step.name} of phase {step.phase} is listed twice")
            seen.add(key)
        return self
