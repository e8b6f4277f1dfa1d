# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""How clients call a step of a vendor interface by its name (contract: api.yaml, vendor_passthru)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

HttpMethod = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class Passthru(BaseModel):
    """A method of ``vendor_passthru``: the step of its name, in the phase management."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    description: str
    http_methods: tuple[HttpMethod, ...] = ("POST",)
    wait: bool = False
    """The client gets the step's fact ``result``; else an answer at once, and a failure becomes last_error."""
    exclusive: bool = True
    """A locked node refuses the call; else the call waits for the end of the lock."""
    of: Literal["node", "driver"] = "node"
    """Whose method it is; that of a driver is called without a node, and has neither its BMC nor its facts."""
