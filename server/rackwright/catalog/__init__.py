# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What the installed collections offer: hardware types, implementations of interfaces, steps.

Read once at start; nothing of Ansible is imported.
"""

from rackwright.catalog.choice import chosen, installed
from rackwright.catalog.load import load
from rackwright.catalog.locate import Collection
from rackwright.catalog.offer import Catalog, HardwareType, Implementation

__all__ = ["Catalog", "Collection", "HardwareType", "Implementation", "chosen", "installed", "load"]
