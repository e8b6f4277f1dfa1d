# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The HTTP side: Ironic's v1 API as tables of fields with versions, and one router per resource."""
