# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What one look at the fleet finds.

The number of requests depends on the number of states that have nodes, never on the number of nodes: counts come as
counts, and of each state only as many nodes are asked for as are shown, the oldest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from rackwright.domain.masking import without_passwords
from rackwright.top.service import Service, plain

_FIELDS = ("uuid", "name", "provision_state", "target_provision_state", "provision_updated_at")
_FLYING = ",".join((*_FIELDS, "driver_internal_info"))
_FALLEN = ",".join((*_FIELDS, "last_error", "maintenance_reason"))


@dataclass(frozen=True, slots=True)
class Flying:
    """A node that something is done with; ages in seconds, None where the caller may not see it."""

    name: str
    state: str
    target: str
    step: str
    progress: str
    activity: str
    age: float | None
    activity_age: float | None


@dataclass(frozen=True, slots=True)
class Fallen:
    """A node that failed, or that was put into maintenance, and why."""

    name: str
    state: str
    age: float | None
    error: str


@dataclass(frozen=True, slots=True)
class Frame:
    """One look."""

    endpoint: str
    at: datetime
    """The time by the clock that all times come from, whatever the clocks of API and viewer say."""
    states: dict[str, int]
    maintenance: int
    operations: dict[str, int]
    """Number by status."""
    conductors: dict[str, bool]
    """Whether it is alive, by host name."""
    flying: tuple[Flying, ...]
    fallen: tuple[Fallen, ...]


def look(service: Service, *, rows: int) -> Frame:
    """Return what there is to see, at most so many nodes of each kind; raise ServiceFailed."""
    fleet = service.get("/rackwright/v1/fleet")
    at = datetime.fromisoformat(fleet["at"])
    busy = {each["provision_state"] for each in fleet["nodes"] if each["busy"]}
    failed = {each["provision_state"] for each in fleet["nodes"] if each["failed"]}
    maintenance = sum(each["count"] for each in fleet["nodes"] if each["maintenance"])
    flying = list(_of_states(service, busy, _FLYING, "asc", rows))
    fallen = list(_of_states(service, failed, _FALLEN, "desc", rows))
    if maintenance:
        kept = {node["uuid"] for node in fallen}
        more = service.nodes(most=rows, maintenance="true", fields=_FALLEN)
        fallen += [node for node in more if node["uuid"] not in kept]
    return Frame(
        endpoint=without_passwords(service.endpoint),
        at=at,
        states=_summed(fleet["nodes"], "provision_state"),
        maintenance=maintenance,
        operations=_summed(fleet["operations"], "status"),
        conductors={each["hostname"]: each["alive"] for each in fleet["conductors"]},
        flying=tuple(islice(sorted((_flying(each, at) for each in flying), key=_oldest_first), rows)),
        fallen=tuple(_fallen(each, at) for each in fallen[:rows]),
    )


def _of_states(
    service: Service, states: Iterable[str], fields: str, direction: str, rows: int
) -> Iterator[dict[str, Any]]:
    order = {"sort_key": "provision_updated_at", "sort_dir": direction}
    for state in sorted(states):
        yield from service.nodes(most=rows, provision_state=state, fields=fields, **order)


def _summed(rows: Iterable[dict[str, Any]], key: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in rows:
        found[each[key]] = found.get(each[key], 0) + each["count"]
    return found


def _flying(node: dict[str, Any], at: datetime) -> Flying:
    info = node.get("driver_internal_info") or {}
    shown = info.get("operation") or {}
    count = shown.get("count", 0)
    return Flying(
        name=_name(node),
        state=plain(node["provision_state"]),
        target=plain(node["target_provision_state"]),
        step=plain(shown.get("step")),
        progress=f"{min(shown.get('index', 0) + 1, count)}/{count}" if count else "",
        activity=plain(shown.get("activity") or "queued"),
        age=_age(shown.get("started_at") or node["provision_updated_at"], at),
        activity_age=_age(shown.get("since"), at),
    )


def _fallen(node: dict[str, Any], at: datetime) -> Fallen:
    reason = node.get("last_error") or node.get("maintenance_reason")
    return Fallen(_name(node), plain(node["provision_state"]), _age(node["provision_updated_at"], at), plain(reason))


def _oldest_first(one: Flying) -> float:
    return -(one.age or 0.0)


def _name(node: dict[str, Any]) -> str:
    return plain(node["name"] or node["uuid"])


def _age(text: str | None, at: datetime) -> float | None:
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    return max((at - (moment if moment.tzinfo else moment.replace(tzinfo=UTC))).total_seconds(), 0.0)
