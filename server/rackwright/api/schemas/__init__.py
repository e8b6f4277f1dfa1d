# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The fields of the API's resources, one table per file (contract: node-fields.md)."""
