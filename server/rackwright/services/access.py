# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Who may do what (contract: policies.yaml)."""

from __future__ import annotations

from rackwright.services.context import Context


def demand(rule: str, target: object = None, *, context: Context) -> None:
    """Raise Forbidden unless the caller may do what ``rule`` names, such as ``baremetal:chassis:create``.

    ``target`` is the row that it is about; its ``owner`` and ``lessee`` count.
    """
