# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The rules of provisioning as data and pure functions: no input, no output, no clock, no HTTP."""
