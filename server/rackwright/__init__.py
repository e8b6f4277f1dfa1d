# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Rackwright: bare metal provisioning that speaks Ironic's v1 API and works through Ansible."""

__version__: str
"""The version of the installed package."""


def __getattr__(name: str) -> str:
    """Return ``__version__``; what looks it up costs the supervisor, which does not ask, a third of its memory."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(__name__)
    except PackageNotFoundError:  # a source tree that was never installed
        return "0.0.0"
