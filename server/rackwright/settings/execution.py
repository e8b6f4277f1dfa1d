# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The settings that choose where runs are carried out: on this host, or over ssh on others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints, field_validator

from rackwright.settings.interfaces import InterfaceSettings

Destinations = Annotated[str, StringConstraints(pattern=r"^\s*[^\s-]\S*(\s+[^\s-]\S*)*\s*$")]
"""Words for ssh, none of which it could take for an option."""


_KEPT = ("RACKWRIGHT_", "ANSIBLE_")
"""Beginnings of variables that no run gets, even if it is asked for: our secrets, and what would change Ansible."""


class ExecutionSettings(InterfaceSettings):
    """Execution hosts and how to speak to them."""

    execution_hosts: dict[str, Destinations] = Field(
        {},
        description="Hosts that carry out runs, as ssh names them, with spaces between, by what the node's property "
        "execution_host_property says, or its conductor group; *: all other groups, whose runs stay here without.",
    )
    execution_host_property: str = Field(
        "execution_host", description="Property of a node that goes before its conductor group in execution_hosts."
    )
    execution_command: str = Field(
        "rackwright worker", description="Command line of the worker on execution hosts, for their shell."
    )
    execution_ssh_config: Path | None = Field(
        None, description="Configuration file of ssh for execution hosts; null: that of the daemon's user."
    )
    execution_patience: int = Field(
        20, ge=2, description="Silence after which a worker elsewhere ends, and its run is tried again."
    )

    run_environment: tuple[str, ...] = Field(
        (),
        description="Variables of the environment that playbooks of your own read, by name; those of RACKWRIGHT_ and "
        "ANSIBLE_ reach no run. Workers go by the settings of their hosts.",
    )

    @field_validator("run_environment")
    @classmethod
    def _reaches_runs(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if kept := [name for name in names if name.startswith(_KEPT)]:
            raise ValueError(f"{', '.join(kept)} would reach no run; take it out, and give playbooks another variable")
        return names

    @property
    def execution_destinations(self) -> dict[str, tuple[str, ...]]:
        """Return the destinations by the name of the execution host."""
        return {name: tuple(places.split()) for name, places in self.execution_hosts.items()}
