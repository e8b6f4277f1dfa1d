# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The numbers for Prometheus: what the database says now, and what processes have noted while they worked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rackwright.domain.errors import NotFound
from rackwright.domain.states import ProvisionState
from rackwright.services import access
from rackwright.services.context import Context
from rackwright.store import census
from rackwright.store.columns import now
from rackwright.telemetry.book import FOLDER, STARTS, Kept
from rackwright.telemetry.numbers import INSTRUMENTS

READ = "baremetal:conductor:get"
"""The rule that is asked where not everybody may read the numbers: they are about the whole deployment."""


class NumbersOff(NotFound):
    """The setting metrics is off; set it to authenticated or open to have the numbers told."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """A number that is read from the database."""

    name: str
    about: str
    labels: tuple[str, ...] = ()


NODES = Gauge("nodes", "Nodes.", ("provision_state", "maintenance"))
OPERATIONS = Gauge("operations", "Operations that are not over.", ("phase", "status"))
OLDEST = Gauge(
    "operation_oldest_seconds", "Time since the least recent change of such an operation.", OPERATIONS.labels
)
RUNS = Gauge("runs", "Playbook runs that have operations now.", ("phase",))
CONDUCTORS = Gauge("conductor_alive", "Whether a conductor that has not signed off is alive.", ("conductor",))
SEEN = Gauge("conductor_seen_seconds", "Time since the last heartbeat of such a conductor.", ("conductor",))
GAUGES = (NODES, OPERATIONS, OLDEST, RUNS, CONDUCTORS, SEEN)

Samples = Iterable[tuple[tuple[str, ...], float]]


def told(context: Context) -> tuple[bytes, str]:
    """Return all numbers as text, and its media type; raise NumbersOff, or Forbidden."""
    if context.settings.metrics == "off":
        raise NumbersOff
    if context.settings.metrics != "open":
        access.demand(READ, context=context)
    from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Census(_samples(context)))
    folder = context.settings.state_dir / FOLDER
    if folder.is_dir():
        registry.register(Kept(folder))
    return generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4


def _samples(context: Context) -> dict[Gauge, Samples]:
    at, session = now(), context.session
    nodes = census.nodes(session=session)
    operations = census.operations(session=session)
    signs = census.conductors(session=session, timeout=context.settings.heartbeat_timeout, at=at)
    counts = dict.fromkeys(((state.value, word) for state in ProvisionState for word in ("false", "true")), 0)
    counts |= {(each.provision_state, str(each.maintenance).lower()): each.count for each in nodes}
    return {
        NODES: counts.items(),
        OPERATIONS: [((each.phase, each.status), each.count) for each in operations],
        OLDEST: [((each.phase, each.status), (at - each.oldest).total_seconds()) for each in operations],
        RUNS: [((each.phase,), each.runs) for each in operations if each.status == "running"],
        CONDUCTORS: [((each.hostname,), float(each.alive)) for each in signs],
        SEEN: [((each.hostname,), (at - each.seen_at).total_seconds()) for each in signs],
    }


class _Census:
    """A collector of what was read already."""

    def __init__(self, samples: Mapping[Gauge, Samples]) -> None:
        self._samples = samples

    def collect(self) -> Iterator[Any]:
        """Yield one family of numbers for each gauge."""
        from prometheus_client.core import GaugeMetricFamily

        for gauge, samples in self._samples.items():
            family = GaugeMetricFamily(f"rackwright_{gauge.name}", gauge.about, labels=gauge.labels)
            for labels, value in samples:
                family.add_metric(labels, value)
            yield family


def described() -> Iterator[tuple[str, str, tuple[str, ...], str]]:
    """Yield name, kind, labels and meaning of every number, for the documentation."""
    for gauge in GAUGES:
        yield f"rackwright_{gauge.name}", "gauge", gauge.labels, gauge.about
    for each in INSTRUMENTS:
        suffix, kind = ("", "histogram") if each.buckets else ("_total", "counter")
        yield f"rackwright_{each.name}{suffix}", kind, each.labels, each.about
    about = "Starts of a process of the daemon; more than one means that it died, or that the daemon was restarted."
    yield f"rackwright_{STARTS}_total", "counter", ("process",), about
