# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with simulated machines: by name, for some machines, in some of the cases.

The names of the upper half of the table say what happens; those of the lower half are of cases that were seen in the
field, each with the habits that made it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Self

import yaml

from rackwright_lab.errors import LabError


class Kind(Enum):
    """When a fault is asked whether it strikes."""

    BEFORE = "before a request is carried out"
    AFTER = "after a request was carried out"
    EVENT = "when something happens that it is about"
    HABIT = "always"


@dataclass(frozen=True)
class Fault:
    """A kind of fault: when it strikes, what happens, how long by default, and the forms that it comes in."""

    kind: Kind
    meaning: str
    seconds: float = 0.0
    variants: str = "a"


FAULTS: Mapping[str, Fault] = {
    "unavailable": Fault(Kind.BEFORE, "the BMC answers HTTP 503"),
    "server-error": Fault(Kind.BEFORE, "the BMC answers HTTP 500"),
    "connection-reset": Fault(Kind.BEFORE, "the connection is reset before anything was done"),
    "time-out": Fault(Kind.BEFORE, "the BMC accepts the connection and never answers", 300.0),
    "slow-answer": Fault(Kind.BEFORE, "the BMC takes its time", 3.0),
    "session-expired": Fault(Kind.BEFORE, "the BMC has forgotten the session"),
    "answer-lost": Fault(Kind.AFTER, "the request is carried out, its answer never arrives"),
    "answer-cut": Fault(Kind.AFTER, "the request is carried out, half of its answer arrives"),
    "media-stays": Fault(Kind.EVENT, "the BMC accepts to eject a medium, which stays"),
    "power-stays-on": Fault(Kind.EVENT, "the BMC accepts to cut the power, which stays"),
    "power-slow": Fault(Kind.EVENT, "the power changes late", 8.0),
    "boot-fails": Fault(Kind.EVENT, "the machine is on and boots nothing"),
    "agent-dies": Fault(Kind.EVENT, "the agent dies in the middle of a command"),
    "step-fails": Fault(Kind.EVENT, "a command of the agent fails"),
    "heartbeat-lost": Fault(Kind.EVENT, "a heartbeat does not arrive"),
    "lookup-answer-lost": Fault(Kind.EVENT, "the answer to a lookup does not arrive"),
    "command-answer-lost": Fault(Kind.EVENT, "the agent takes a command, its answer does not arrive"),
    "token-lost": Fault(Kind.EVENT, "the agent forgets its token when it has booted"),
    "vmedia-extra-fields-refused": Fault(Kind.HABIT, "InsertMedia takes the image's URL alone", 0, "ab"),
    "vmedia-patch-only-no-action": Fault(Kind.HABIT, "media are inserted and ejected by PATCH"),
    "vmedia-ejected-under-running-ramdisk": Fault(Kind.EVENT, "the power goes late, as with power-slow", 8.0),
    "etag-forms-ladder": Fault(Kind.HABIT, "the BMC refuses the ETag that it gave", 0, "abcde"),
    "boot-override-in-settings-resource": Fault(Kind.HABIT, "there is a resource of pending settings", 0, "ab"),
    "boot-override-needs-all-three": Fault(Kind.HABIT, "the boot override is taken in one form only", 0, "ab"),
    "boot-override-accepted-but-ignored": Fault(Kind.EVENT, "the machine boots its disk whatever was set"),
    "redirects-and-trailing-slashes": Fault(Kind.HABIT, "actions are redirected", 0, "ab"),
    "firmware-task-vanishes-or-starts-as-new": Fault(Kind.HABIT, "the task of an update is seldom there", 10.0, "ab"),
    "no-ethernet-interfaces": Fault(Kind.HABIT, "the BMC knows no network card, or odd ones", 0, "ab"),
    "bios-types-and-bad-values": Fault(Kind.HABIT, "BIOS values of wrong types are refused, bad ones ignored"),
    "dead-bmcs-starve-workers": Fault(Kind.BEFORE, "the BMC accepts connections and never answers", 300.0),
    "power-poll-fights-firmware": Fault(Kind.HABIT, "an update takes BMC and power away", 60.0),
    "wait-state-without-deadline": Fault(Kind.EVENT, "the agent boots and never calls"),
    "step-after-bios-skipped": Fault(Kind.EVENT, "a heartbeat arrives twice"),
    "slow-leak-in-long-run": Fault(Kind.AFTER, "answers are cut in the middle"),
}


@dataclass(frozen=True)
class Rule:
    """One line of a profile.

    Attributes:
        fault: a name of ``FAULTS``.
        machines: ``all``, a name, a pattern like ``node-1*``, or a share like ``10%``.
        percent: of the cases in which it could strike.
        times: how often it strikes each machine at most; none: again and again.
        seconds: how long, where that matters; none: as the fault's own.
        step: only in commands or steps of this name.
        variant: in which form, where there are several.

    Raises:
        LabError: there is no such fault, or it does not come in that form.
    """

    fault: str
    machines: str = "all"
    percent: float = 100.0
    times: int | None = None
    seconds: float | None = None
    step: str = ""
    variant: str = "a"

    def __post_init__(self) -> None:
        known = FAULTS.get(self.fault)
        if known is None:
            raise LabError(f"There is no fault {self.fault!r}. There are: {', '.join(FAULTS)}.")
        if self.variant not in list(known.variants):
            raise LabError(f"The fault {self.fault} comes in the forms {', '.join(known.variants)} only.")

    @classmethod
    def read(cls, data: Any) -> Self:
        """Return the rule that a mapping describes; raise LabError where it does not."""
        names = {each.name for each in fields(cls)}
        if not isinstance(data, dict) or not data.keys() <= names or "fault" not in data:
            raise LabError(f"{data!r} is no fault: give a mapping with fault and, at will, {', '.join(sorted(names))}.")
        return cls(**data)


@dataclass
class Active:
    """A rule for one machine, with how often it may still strike."""

    rule: Rule
    left: int | None = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.rule.times

    @property
    def seconds(self) -> float:
        """Return how long it lasts."""
        return FAULTS[self.rule.fault].seconds if self.rule.seconds is None else self.rule.seconds


class MachineFaults:
    """The faults of one machine."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._active: Sequence[Active] = ()

    def replace(self, rules: Iterable[Rule]) -> None:
        """Have these from now on."""
        self._active = [Active(rule) for rule in rules]

    def strikes(self, *names: str, step: str = "") -> Active | None:
        """Return the fault of one of these names that strikes now, None when all goes well."""
        return self._first([active for active in self._active if active.rule.fault in names], step)

    def request(self, kind: Kind) -> Active | None:
        """Return the fault that strikes a request, None when all goes well."""
        return self._first([active for active in self._active if FAULTS[active.rule.fault].kind is kind], "")

    def habit(self, name: str) -> str:
        """Return the form in which a machine has a habit; nothing when it has not."""
        return next((active.rule.variant for active in self._active if active.rule.fault == name), "")

    def seconds(self, name: str) -> float:
        """Return how long a habit of the machine lasts."""
        return next((active.seconds for active in self._active if active.rule.fault == name), 0.0)

    def _first(self, candidates: Sequence[Active], step: str) -> Active | None:
        for active in candidates:
            rule = active.rule
            if (rule.step and rule.step != step) or active.left == 0:
                continue
            if rule.percent < 100 and self._chance.random() * 100 >= rule.percent:
                continue
            if active.left is not None:
                active.left -= 1
            return active
        return None


class Faults:
    """The faults of a rack; those of requests that are about no single machine are ``shared``."""

    def __init__(self, names: Sequence[str], seed: int) -> None:
        self._chance = random.Random(seed)
        self.shared = MachineFaults(self._chance)
        self.machines = {name: MachineFaults(self._chance) for name in names}
        self.rules: Sequence[Rule] = ()

    def replace(self, rules: Sequence[Rule]) -> None:
        """Have these from now on, in place of those before."""
        self.rules = rules
        chosen = [(rule, self._chosen(rule.machines)) for rule in rules]
        for name, faults in self.machines.items():
            faults.replace(rule for rule, names in chosen if name in names)
        self.shared.replace(rule for rule in rules if rule.machines == "all")

    def _chosen(self, machines: str) -> set[str]:
        names = list(self.machines)
        if machines.endswith("%"):
            return set(self._chance.sample(names, round(len(names) * float(machines[:-1]) / 100)))
        return {name for name in names if machines == "all" or fnmatchcase(name, machines)}


def read_profile(text: str) -> list[Rule]:
    """Return the rules of a profile: YAML, ``faults:`` and a list; raise LabError."""
    try:
        data = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise LabError(f"Could not read the faults: it is no YAML: {error}") from error
    listed = data.get("faults") if isinstance(data, dict) else None
    if not isinstance(listed, list):
        raise LabError("Could not read the faults: give a mapping with the list `faults`.")
    return [Rule.read(item) for item in listed]


def load_profile(path: Path) -> list[Rule]:
    """Return the rules of a file; raise LabError."""
    try:
        return read_profile(path.read_text())
    except OSError as error:
        raise LabError(f"Could not read the faults: {error}. Give the path of a YAML file.") from error
