# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What is counted and timed while the daemon works, as data.

An instrument is like a logger: it is noted into wherever something happens, and is silent until its process says where
numbers are kept. They are kept in files that are mapped into memory, one set for each process that runs at a time: a
``kill -9`` loses nothing, the next process of that kind goes on with the same files, and any process reads all of them.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

OTHER = "other"
"""Label of what comes from outside and is beyond the number of different values that are told apart."""

FOLDER = "metrics"
"""Name of the folder in the state directory that holds the files."""

_LONGEST = 64  # characters of a label
_LARGEST = 4 << 20  # bytes of a file; one that has grown beyond is begun anew when its process starts
_FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

_REQUEST = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_WORK = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0, 600.0, 1800.0, 7200.0)
_NODES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)


@dataclass(slots=True)
class Instrument:
    """One number of many faces: a counter, or with ``buckets`` a histogram."""

    name: str
    about: str
    labels: tuple[str, ...]
    buckets: tuple[float, ...] = ()
    few: dict[str, int] = field(default_factory=dict)
    """Labels whose values come from machines, each with the number of different values that are told apart."""
    _seen: dict[str, set[str]] = field(default_factory=dict)
    _metric: Any = None

    def note(self, amount: float = 1.0, **labels: str) -> None:
        """Add to a counter, or put one observation into a histogram."""
        if self._metric is None:
            return
        child = self._metric.labels(**{name: self._label(name, value) for name, value in labels.items()})
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

    def _label(self, name: str, value: str) -> str:
        limit = self.few.get(name)
        if limit is None:
            return value
        text = "".join(char for char in value if char.isprintable()).strip()[:_LONGEST] or "unknown"
        seen = self._seen.setdefault(name, set())
        if text not in seen and len(seen) >= limit:
            return OTHER
        seen.add(text)
        return text

    def bind(self, library: Any) -> None:
        """Let the library keep what is noted from now on."""
        name, registry = f"rackwright_{self.name}", library.CollectorRegistry(auto_describe=False)
        if self.buckets:
            self._metric = library.Histogram(name, self.about, self.labels, buckets=self.buckets, registry=registry)
        else:
            self._metric = library.Counter(name, self.about, self.labels, registry=registry)

    def silence(self) -> None:
        """Keep nothing any more."""
        self._metric = None
        self._seen.clear()


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
    {"step": 200},
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
    few={"step": 200},
)
BMC_ERRORS = Instrument(
    "bmc_errors",
    "Steps and power looks that ended with an error of a BMC.",
    ("vendor", "model", "kind"),
    few={"vendor": 30, "model": 150, "kind": 20},
)
POWER_LOOKS = Instrument(
    "power_looks",
    "Nodes whose recorded power state was compared with the machine's, by what followed.",
    ("verdict",),
)
PROCESS_STARTS = Instrument(
    "process_starts",
    "Starts of a process of the daemon; more than one means that it died and was started again.",
    ("process",),
)

INSTRUMENTS = (
    *(API_SECONDS, OPERATION_SECONDS, QUEUE_SECONDS, STEP_SECONDS, WAVE_NODES, RUN_SECONDS),
    *(STEP_FAILURES, BMC_ERRORS, POWER_LOOKS, PROCESS_STARTS),
)
"""All of them, in the order of the documentation."""


def keep_in(folder: Path, kind: str) -> None:
    """Keep what this process of a ``kind``, as ``api``, notes in files below ``folder``, beside what is there."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = _claimed(folder, kind)
    os.environ[_FOLDER_VARIABLE] = str(folder)
    import prometheus_client
    from prometheus_client import values

    for file in folder.glob(f"*_{place}.db"):
        if file.stat().st_size > _LARGEST:
            file.unlink()
    values.ValueClass = values.MultiProcessValue(lambda: place)
    try:
        _bind_all(prometheus_client)
    except (ValueError, OSError):  # the machine went down while a file was written
        for file in folder.glob(f"*_{place}.db"):
            file.unlink()
        values.ValueClass = values.MultiProcessValue(lambda: place)
        _bind_all(prometheus_client)
    PROCESS_STARTS.note(process=kind)


def _bind_all(library: Any) -> None:
    for instrument in INSTRUMENTS:
        instrument.bind(library)


def _claimed(folder: Path, kind: str) -> str:
    """Return the name of the first set of files of a kind that no living process holds; we hold it until we end."""
    for number in count():
        lock = os.open(folder / f"{kind}-{number}.lock", os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
        else:
            break
    return f"{kind}-{number}"


def kept_in(folder: Path) -> Any:
    """Return the collector, for a registry of prometheus_client, of what all processes have noted."""
    from prometheus_client.multiprocess import MultiProcessCollector

    return MultiProcessCollector(None, path=str(folder))


def serve(folder: Path, *, host: str, port: int) -> None:
    """Tell everybody who asks at a port of its own, in threads, what is kept in ``folder``; raise OSError."""
    from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry(auto_describe=False)
    registry.register(kept_in(folder))
    start_http_server(port, addr=host, registry=registry)
