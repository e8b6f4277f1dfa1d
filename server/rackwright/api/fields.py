# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Resources as tables of fields: one row says all about a field, and everything else is derived from it.

Derived are: what an answer shows at which version, what may be created and patched, what ``fields=`` and
``sort_key=`` take, and the reference page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rackwright.api.kinds import Kind
from rackwright.domain.errors import Invalid, MissingParameter, NotAcceptableVersion

Row = Mapping[str, Any]
Turn = Callable[[Row], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What a field needs besides its row: the version, the public URL, and how secrets are hidden."""

    minor: int
    url: str
    mask: Callable[[dict[str, Any]], dict[str, Any]]


def _masked(value: Any, mask: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    if isinstance(value, list):
        return [mask(each) for each in value]
    return mask(value) if value else value


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a resource."""

    name: str
    kind: Kind
    since: int = 1
    create: bool = False
    """A client may give it when it creates the resource."""
    patch: bool = False
    """A client may change it."""
    required: bool = False
    default: Any = None
    """What it becomes when a patch removes it."""
    sort: bool = True
    short: bool = False
    """It is shown in lists without detail."""
    write_only: bool = False
    """A client may give it, but no answer shows it."""
    whole_only: bool = False
    """It is left out as soon as a client chooses fields."""
    secret: bool = False
    """It is an object, or a list of objects, with secrets, which are masked."""
    needs: tuple[str, ...] | None = None
    """The columns it is made of; its own by default."""
    show: Callable[[Any, int], Any] | None = None
    """Turn the value into what a version sees."""
    compute: Callable[[Row, Site], Any] | None = None
    """Make the value out of the whole row."""
    unset_since: int = 1
    """The version from which a patch may set it to null."""
    rule: Callable[[Any, int], None] | None = None
    """Check a value that a client sends against its version; raises NotAcceptableVersion."""
    about: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of the store that the field is made of."""
        return (self.name,) if self.needs is None else self.needs

    def turn(self, site: Site) -> Turn | None:
        """Return what makes the shown value out of a row, None where it is the column as it is."""
        name, compute, show, mask = self.name, self.compute, self.show, site.mask
        if compute is not None:
            return lambda row: compute(row, site)
        if show is not None:
            return lambda row: show(row[name], site.minor)
        if self.secret:
            return lambda row: _masked(row[name], mask)
        return None

    def read(self, value: Any, minor: int) -> Any:
        """Return a value that a client sent in the form we keep; raise Invalid or NotAcceptableVersion."""
        self.demand(minor)
        if self.rule is not None:
            self.rule(value, minor)
        return self.kind.read(value, self.name)

    def demand(self, minor: int) -> None:
        """Raise NotAcceptableVersion when the version does not know this field."""
        if minor < self.since:
            raise NotAcceptableVersion(what=f"Field {self.name}", since=self.since, minor=minor)


@dataclass(frozen=True)
class Resource:
    """A resource of the API: its names in texts and paths, and its fields in the order of answers."""

    name: str
    collection: str
    fields: tuple[Field, ...]
    by_name: Mapping[str, Field] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {each.name: each for each in self.fields})

    @cached_property
    def _views(self) -> dict[tuple[int, bool], tuple[Field, ...]]:
        return {}

    def visible(self, minor: int, *, short: bool = False) -> tuple[Field, ...]:
        """Return the fields that a version sees; with ``short`` those of a list without detail."""
        if (minor, short) not in self._views:
            shown = (each for each in self.fields if each.since <= minor and not each.write_only)
            self._views[minor, short] = tuple(each for each in shown if each.short or not short)
        return self._views[minor, short]

    def chosen(self, names: Iterable[str], minor: int) -> tuple[Field, ...]:
        """Return the fields that a client chose, and the links; raise Invalid or NotAcceptableVersion."""
        wanted = set(names)
        known = {each.name for each in self.fields if not each.whole_only and not each.write_only}
        if unknown := sorted(wanted - known):
            raise Invalid(
                f"Field(s) {', '.join(unknown)} unknown for a {self.name}; known: {', '.join(sorted(known))}."
            )
        found = tuple(each for each in self.fields if each.name in wanted or each.name == "links")
        for each in found:
            each.demand(minor)
        return found

    def sort_key(self, name: str, minor: int) -> str:
        """Return the column to sort by; raise Invalid or NotAcceptableVersion."""
        if name == "id":
            return name
        found = self.by_name.get(name)
        if found is None or not found.sort or found.columns != (name,):
            raise Invalid(f"The sort_key {name} is not one of the fields that a list can be sorted by.")
        found.demand(minor)
        return name

    def read(self, body: Any, minor: int) -> dict[str, Any]:
        """Return what a client sent to create the resource; raise Invalid or NotAcceptableVersion."""
        if not isinstance(body, dict):
            raise Invalid(f"The body must be a JSON object with the fields of a {self.name}.")
        for name in body:
            found = self.by_name.get(name)
            if found is None or not found.create:
                raise Invalid(self._not_creatable(name))
        for each in self.fields:
            if each.required and body.get(each.name) is None:
                raise MissingParameter(name=each.name)
        return {name: self.by_name[name].read(value, minor) for name, value in body.items()}

    def _not_creatable(self, name: str) -> str:
        allowed = ", ".join(each.name for each in self.fields if each.create)
        return f"Schema error for {self.name}: {name} cannot be set when it is created; allowed: {allowed}."

    def render(self, row: Row, fields: Sequence[Field], site: Site) -> dict[str, Any]:
        """Return the JSON object of one row."""
        return self.render_all((row,), fields, site)[0]

    def render_all(self, rows: Iterable[Row], fields: Sequence[Field], site: Site) -> list[dict[str, Any]]:
        """Return the JSON objects of rows. How a field is shown is decided once and not for each row."""
        turns = [(each.name, each.turn(site)) for each in fields]
        return [{name: row[name] if turn is None else turn(row) for name, turn in turns} for row in rows]


def columns(fields: Iterable[Field]) -> tuple[str, ...]:
    """Return the columns that are needed for these fields, each once."""
    return tuple(dict.fromkeys(column for each in fields for column in each.columns))
