# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Rackwright: bare metal provisioning that speaks Ironic's v1 API and works through Ansible."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("rackwright")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0.0.0"
