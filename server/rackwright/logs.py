# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Set up logging: one line for each record on standard error, its facts as key=value at the end."""

from __future__ import annotations

import logging
import sys

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "color_message"}


class FactsFormatter(logging.Formatter):
    """Adds the ``extra`` facts of a record to its line."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(processName)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # the name is logging's
        """Return the line with every fact of the record."""
        facts = (f"{key}={value!r}" for key, value in record.__dict__.items() if key not in _STANDARD)
        return " ".join([super().formatMessage(record), *facts])


def set_up(level: str) -> None:
    """Send records of ``level`` and above to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(FactsFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for talkative in ("alembic", "uvicorn.access", "httpx"):
        logging.getLogger(talkative).setLevel(logging.WARNING)
