# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What is counted and timed while the daemon works, as data.

An instrument is like a logger: it is noted into wherever something happens, and is silent until its process says with
``keep_in`` where numbers are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from rackwright.telemetry.book import Book

OTHER = "other"
"""Label of what comes from outside, once too many different values of it were seen."""

_LONGEST = 64  # characters of a label
_REQUEST = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_WORK = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0, 600.0, 1800.0, 7200.0)
_NODES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
_MOST = 200  # combinations of labels from outside that are told apart

_book = Book()
keep_in = _book.keep_in


@dataclass(slots=True)
class Instrument:
    """One number of many faces: a counter, or with ``buckets`` a histogram."""

    name: str
    about: str
    labels: tuple[str, ...]
    buckets: tuple[float, ...] = ()
    outside: tuple[str, ...] = ()
    """The labels whose values come from machines: only so many combinations of them are told apart."""
    _seen: set[tuple[str, ...]] = field(default_factory=set)

    def note(self, amount: float = 1.0, **labels: str) -> None:
        """Add to a counter, or put one observation into a histogram."""
        metric = _book.metric(self.name, self._made)
        if metric is None:
            return
        child = metric.labels(**(labels | self._outside(labels)))
        if self.buckets:
            child.observe(max(amount, 0.0))
        else:
            child.inc(amount)

    @contextmanager
    def timed(self, **labels: str) -> Iterator[dict[str, str]]:
        """Note the seconds that the inside takes; labels that are known at its end only go into what is yielded."""
        begin = perf_counter()
        try:
            yield labels
        finally:
            self.note(perf_counter() - begin, **labels)

    def _outside(self, labels: dict[str, str]) -> dict[str, str]:
        """Return the labels that come from machines, as short printable text."""
        found = tuple(_short(labels[name]) for name in self.outside)
        if found not in self._seen and len(self._seen) >= _MOST:
            return dict.fromkeys(self.outside, OTHER)
        self._seen.add(found)
        return dict(zip(self.outside, found, strict=True))

    def _made(self, library: Any) -> Any:
        """Return the library's metric."""
        name, registry = f"rackwright_{self.name}", library.CollectorRegistry(auto_describe=False)
        if self.buckets:
            return library.Histogram(name, self.about, self.labels, buckets=self.buckets, registry=registry)
        return library.Counter(name, self.about, self.labels, registry=registry)


def _short(text: str) -> str:
    return "".join(char for char in text if char.isprintable()).strip()[:_LONGEST] or "unknown"


API_SECONDS = Instrument(
    "api_request_seconds",
    "Time that the API took for a request.",
    ("method", "route", "status"),
    _REQUEST,
)
OPERATION_SECONDS = Instrument(
    "operation_seconds",
    "Time from the verb to the end of its operation.",
    ("phase", "status"),
    _WORK,
)
QUEUE_SECONDS = Instrument(
    "queue_seconds",
    "Time that a node was ready and had no run yet.",
    ("phase",),
    _WORK,
)
STEP_SECONDS = Instrument(
    "step_seconds",
    "Time that a node was at a step, runs and waits together.",
    ("phase", "step"),
    _WORK,
    ("step",),
)
WAVE_NODES = Instrument(
    "wave_nodes",
    "Nodes that share a playbook run.",
    ("phase",),
    _NODES,
)
RUN_SECONDS = Instrument(
    "run_seconds",
    "Time that a playbook run took.",
    ("playbook", "status"),
    _WORK,
)
STEP_FAILURES = Instrument(
    "step_failures",
    "Steps that failed.",
    ("phase", "step"),
    outside=("step",),
)
BMC_ERRORS = Instrument(
    "bmc_errors",
    "Steps and power looks that ended with an error of a BMC.",
    ("vendor", "model", "kind"),
    outside=("vendor", "model"),
)
POWER_LOOKS = Instrument(
    "power_looks",
    "Nodes whose recorded power state was compared with the machine's, by what followed.",
    ("verdict",),
)
INSTRUMENTS = (
    *(API_SECONDS, OPERATION_SECONDS, QUEUE_SECONDS, STEP_SECONDS, WAVE_NODES, RUN_SECONDS),
    *(STEP_FAILURES, BMC_ERRORS, POWER_LOOKS),
)
"""All of them, in the order of the documentation."""
