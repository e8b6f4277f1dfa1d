# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What a request means, one file per resource. Services check the rules, change rows and commit."""
