# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A setting that nobody reads would promise what nothing does."""

import re

from rackwright.domain.verbs import Interface, Phase
from rackwright.settings import Settings
from tests.unit.house.tree import kept, text

# Names that are put together where they are read: catalog/choice.py, engine/composition.py.
MADE = {f"enabled_{kind}_interfaces" for kind in Interface}
MADE |= {f"default_{kind}_interface" for kind in Interface}
MADE |= {f"disallow_{phase}_steps" for phase in Phase}


def test_each_setting_is_read_by_the_daemon_or_named_by_a_step() -> None:
    readers = [path for path in kept("server/rackwright/*.py") if "/settings/" not in str(path)]
    words = set(re.findall(r"\w+", "\n".join(map(text, [*readers, *kept("roles/*/meta/*.yml")]))))
    own = re.findall(r"\bself\.(\w+)", "\n".join(map(text, kept("server/rackwright/settings/*.py"))))
    assert Settings.model_fields.keys() - words - set(own) - MADE == set()
