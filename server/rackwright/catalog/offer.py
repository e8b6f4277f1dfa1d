# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The offer of the installed roles as data, and the questions that the daemon asks of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rackwright.catalog.locate import Collection
from rackwright.domain.errors import DriverNotFound, InvalidDriver
from rackwright.domain.steps import Step, Steps
from rackwright.domain.steps_file import Property
from rackwright.domain.verbs import Interface, Phase


@dataclass(frozen=True, slots=True)
class Implementation:
    """One way to serve an interface, as ``redfish`` is one for ``power``."""

    kind: Interface
    name: str
    steps: Steps = ()
    properties: Mapping[str, Property] = field(default_factory=dict)
    supported: bool = True
    """False for the ``no-*`` ones, which stand for an interface that a node does not have."""
    protocol: str | None = None
    """How the BMC is spoken to; None where none is."""

    def steps_for(self, phase: Phase) -> Steps:
        """Return the steps that belong to ``phase``."""
        return tuple(step for step in self.steps if step.phase is phase)


@dataclass(frozen=True, slots=True)
class HardwareType:
    """A driver: for each interface the implementations that its nodes may use, the default first."""

    name: str
    interfaces: Mapping[Interface, tuple[str, ...]]
    left_out: Mapping[Interface, tuple[str, ...]] = field(default_factory=dict)
    """What it supports and the settings do not enable."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """Everything that the installed collections offer to the enabled hardware types."""

    collections: tuple[Collection, ...]
    """Where the roles come from; ours is the first."""
    hardware_types: Mapping[str, HardwareType]
    implementations: Mapping[tuple[Interface, str], Implementation]

    @property
    def secrets(self) -> frozenset[str]:
        """Return the keys of driver_info that roles declare as secret."""
        wanted = (each.properties.items() for each in self.implementations.values())
        return frozenset(name for properties in wanted for name, wish in properties if wish.secret)

    def hardware_type(self, driver: str) -> HardwareType:
        """Return the hardware type ``driver``; raise DriverNotFound when it is not enabled."""
        try:
            return self.hardware_types[driver]
        except KeyError:
            raise DriverNotFound(ident=driver) from None

    def implementation(self, kind: str, name: str) -> Implementation:
        """Return one implementation; raise InvalidDriver when no role offers it."""
        try:
            return self.implementations[Interface(kind), name]
        except (KeyError, ValueError):
            raise InvalidDriver(f"No installed role implements the {kind} interface {name}.") from None

    def default_interfaces(self, driver: str) -> dict[Interface, str]:
        """Return the default implementation of each interface of ``driver``."""
        return {kind: names[0] for kind, names in self.hardware_type(driver).interfaces.items()}

    def offered(self, interfaces: Mapping[Interface, str], phase: Phase) -> Steps:
        """Return the steps that the chosen implementations of a node offer for ``phase``."""
        found: list[Step] = []
        for kind, name in interfaces.items():
            found += self.implementation(kind, name).steps_for(phase)
        return tuple(found)
