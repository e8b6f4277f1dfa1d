# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The language of rules: check strings as oslo.policy reads them, turned into functions (contract: policies.yaml).

``role:reader and (system_scope:all or project_id:%(node.owner)s)`` asks about the caller, with ``and``, ``or``, ``not``
and parentheses; ``rule:name`` asks another rule, ``@`` and an empty string allow everybody, ``!`` nobody. A part
``%(key)s`` stands for a fact of the target; where that is missing or null the check fails, also for callers whose own
value is null.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields

from rackwright.domain.caller import Caller
from rackwright.domain.errors import Invalid

Target = Mapping[str, str]
"""Facts of what a request is about, as ``node.owner``; null ones are left out."""

Check = Callable[[Caller, Target], bool]

_TOKEN = re.compile(r"[()]|[^\s()]+:%\([\w.]+\)s|[^\s()]+")
_TEMPLATE = re.compile(r"%\((?P<key>[\w.]+)\)s")
_KINDS = frozenset(each.name for each in fields(Caller)) - {"roles"}


class CheckInvalid(Invalid):
    """The rule {rule} cannot be understood: {reason}."""


def compiled(rules: Mapping[str, str]) -> dict[str, Check]:
    """Return the check of every rule; raise CheckInvalid for one that cannot be read or that asks itself."""
    compiler = _Compiler(rules)
    return {name: compiler.check(name) for name in rules}


@dataclass(slots=True)
class _Compiler:
    rules: Mapping[str, str]
    _done: dict[str, Check] = field(default_factory=dict)
    _begun: set[str] = field(default_factory=set)

    def check(self, name: str) -> Check:
        if name in self._done:
            return self._done[name]
        if name in self._begun:
            raise CheckInvalid(rule=name, reason="it asks itself, by way of other rules")
        self._begun.add(name)
        self._done[name] = _Reader(name, _TOKEN.findall(self.rules[name]), self).whole()
        return self._done[name]


@dataclass(slots=True)
class _Reader:
    """Reads the tokens of one rule from left to right."""

    rule: str
    tokens: list[str]
    compiler: _Compiler

    def whole(self) -> Check:
        if not self.tokens:
            return _always
        found = self._either()
        if self.tokens:
            raise self._wrong(f"{self.tokens[0]} stands where and, or, or the end is expected")
        return found

    def _wrong(self, reason: str) -> CheckInvalid:
        return CheckInvalid(rule=self.rule, reason=reason)

    def _takes(self, word: str) -> bool:
        if self.tokens and self.tokens[0].lower() == word:
            del self.tokens[0]
            return True
        return False

    def _either(self) -> Check:
        found = self._both()
        while self._takes("or"):
            found = _or(found, self._both())
        return found

    def _both(self) -> Check:
        found = self._one()
        while self._takes("and"):
            found = _and(found, self._one())
        return found

    def _one(self) -> Check:
        if self._takes("not"):
            inner = self._one()
            return lambda caller, target: not inner(caller, target)
        if self._takes("("):
            found = self._either()
            if not self._takes(")"):
                raise self._wrong("a closing parenthesis is missing")
            return found
        if not self.tokens:
            raise self._wrong("it ends where a check is expected")
        return self._leaf(self.tokens.pop(0))

    def _leaf(self, token: str) -> Check:
        if token in _CONSTANT:
            return _CONSTANT[token]
        kind, colon, match = token.partition(":")
        if not colon:
            raise self._wrong(f"{token} is no check; checks are written as kind:value")
        if kind == "rule":
            return self._other_rule(match)
        if kind == "role":
            wanted = match.lower()
            return lambda caller, _: wanted in caller.roles
        if kind not in _KINDS:
            raise self._wrong(f"{kind} is no kind of check; known: {', '.join(sorted(_KINDS | {'role', 'rule'}))}")
        if template := _TEMPLATE.fullmatch(match):
            return _same(kind, template["key"])
        return lambda caller, _: str(getattr(caller, kind)) == match

    def _other_rule(self, name: str) -> Check:
        if name not in self.compiler.rules:
            raise self._wrong(f"it asks the rule {name}, which does not exist")
        return self.compiler.check(name)


def _always(_caller: Caller, _target: Target) -> bool:
    return True


def _never(_caller: Caller, _target: Target) -> bool:
    return False


def _or(first: Check, second: Check) -> Check:
    return lambda caller, target: first(caller, target) or second(caller, target)


def _and(first: Check, second: Check) -> Check:
    return lambda caller, target: first(caller, target) and second(caller, target)


_CONSTANT: Mapping[str, Check] = {"@": _always, "!": _never}


def _same(kind: str, key: str) -> Check:
    """Return the check that compares a value of the caller with a fact of the target."""

    def check(caller: Caller, target: Target) -> bool:
        wanted, own = target.get(key), getattr(caller, kind)
        return wanted is not None and own is not None and str(own) == wanted

    return check
