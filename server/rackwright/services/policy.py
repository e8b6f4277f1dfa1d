# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The rules that are in force: ours in ``policies.yaml``, and those by which an operator replaces some of them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

import yaml

from rackwright.domain.caller import Caller
from rackwright.domain.checks import Check, CheckInvalid, Target, compiled
from rackwright.domain.errors import Invalid

STEP = "baremetal:step:execute:"
"""What the name of a rule about one step begins with; ``<interface>.<step>`` follows. None exists by default."""

_OURS = "baremetal:"


class PolicyInvalid(Invalid):
    """The rules of {file} cannot be used: {reason}. Correct the file, or unset policy_file, and start again."""


class Policy:
    """Answers whether a caller may do what a rule names."""

    def __init__(self, checks: Mapping[str, Check], common: Target) -> None:
        self._checks = checks
        self._common = dict(common)

    @classmethod
    def load(cls, file: Path | None = None, *, service_project: str) -> Policy:
        """Return our rules, with those of a file in their places; raise PolicyInvalid.

        ``service_project`` is the name of the project of OpenStack's own services.
        """
        rules = _read(resources.files(__package__).joinpath("policies.yaml").read_text(encoding="utf-8"))
        try:
            own = {} if file is None else _read(file.read_text(encoding="utf-8"))
            _check_names(own, rules)
            checks = compiled({**rules, **own})
        except (OSError, ValueError, yaml.YAMLError, CheckInvalid) as error:
            raise PolicyInvalid(file=file, reason=str(error).rstrip(".")) from error
        return cls(checks, {"config.service_project_name": service_project})

    def knows(self, rule: str) -> bool:
        """Return whether there is such a rule."""
        return rule in self._checks

    def allows(self, rule: str, caller: Caller, target: Target) -> bool:
        """Return whether the caller may do what the rule names; a rule that does not exist allows nobody."""
        check = self._checks.get(rule)
        return check is not None and check(caller, {**self._common, **target})


def _read(text: str) -> dict[str, str]:
    found = yaml.safe_load(text)
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(isinstance(part, str) for item in found.items() for part in item):
        raise ValueError("it must be a table of names and check strings")
    return found


def _check_names(own: Mapping[str, str], ours: Mapping[str, str]) -> None:
    """Refuse names that no request asks about: the rule would protect nothing."""
    for name in own:
        if name.startswith(_OURS) and name not in ours and not name.startswith(STEP):
            near = difflib.get_close_matches(name, ours, n=1)
            raise ValueError(f"there is no rule {name}" + (f"; did you mean {near[0]}?" if near else ""))
