# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Errors of the lab."""


class LabError(Exception):
    """Something in the lab could not be done; the text says what, why and what to do next."""


class AlreadyRunningError(LabError):
    """Another process runs a rack in the same folder."""
