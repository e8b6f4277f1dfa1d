# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Set up logging: one line for each record on standard error, as text with its facts at the end, or as one JSON object.

The facts are those of the record (``extra``) and those of the work that it belongs to (``telemetry.facts``): the
request, the operation, the node. Passwords in URLs are masked in all of it, whoever tells the URL: libraries do too.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from rackwright.domain.masking import without_passwords
from rackwright.telemetry import facts

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "color_message"}


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    own = {key: value for key, value in record.__dict__.items() if key not in _STANDARD}
    return {**facts.current(), **own}


class FactsFormatter(logging.Formatter):
    """Adds the facts of a record to its line."""

    def __init__(self, service: str) -> None:
        super().__init__(f"%(asctime)s %(levelname)s {service} %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and the traceback if there is one."""
        return without_passwords(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # the name is logging's
        """Return the line with every fact of the record."""
        shown = (f"{key}={value!r}" for key, value in _facts(record).items())
        return " ".join([super().formatMessage(record), *shown])


class JsonFormatter(logging.Formatter):
    """Writes a record as one JSON object on one line: time, level, logger, message, process, its facts, a traceback."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self._service = service

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "service": self._service,
            "process": record.process,
            "thread": record.threadName,
        }
        line |= {key: value for key, value in _facts(record).items() if key not in line}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return without_passwords(json.dumps(line, default=str))


_FORMATTERS: Mapping[str, Callable[[str], logging.Formatter]] = {"text": FactsFormatter, "json": JsonFormatter}


def set_up(level: str, form: str = "text", service: str = "rackwright") -> None:
    """Send records of ``level`` and above to standard error, in the form ``text`` or ``json``.

    ``service`` is what this process is, as ``api``; every line tells it.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_FORMATTERS[form](service))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for talkative in ("alembic", "uvicorn.access", "httpx"):
        logging.getLogger(talkative).setLevel(logging.WARNING)
