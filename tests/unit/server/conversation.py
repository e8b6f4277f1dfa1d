# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Recorded conversations with Ironic 39.0.0, held again with us (``tests/unit/fixtures/api_samples*.json``)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from httpx2 import Response

Sample = dict[str, Any]


class Speaker(Protocol):
    """Somebody who can send a request; ``path`` is a whole one behind a second slash."""

    def call(self, method: str, path: str, body: Any = None, *, version: str | None = ..., **more: Any) -> Response:
        """Send a request and return the answer."""
        ...


def recorded(name: str) -> list[Sample]:
    """Return the samples of one file, in the order in which they were recorded."""
    found: list[Sample] = json.loads((Path(__file__).parents[1] / "fixtures" / f"{name}.json").read_text())
    return found


GENERATED = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00|(?!1{8})[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)


def differences(wanted: Any, given: Any, path: str = "") -> Iterator[str]:
    if path.endswith("error_message"):
        wanted, given = json.loads(wanted), json.loads(given)
    if isinstance(wanted, dict) and isinstance(given, dict):
        yield from (f"{path}/{key}" for key in wanted.keys() ^ given.keys())
        for key in wanted.keys() & given.keys():
            yield from differences(wanted[key], given[key], f"{path}/{key}")
    elif isinstance(wanted, list) and isinstance(given, list) and len(wanted) == len(given):
        for number, (one, other) in enumerate(zip(wanted, given, strict=True)):
            yield from differences(one, other, f"{path}/{number}")
    elif wanted != "<text>" and wanted != given:
        yield path


def answers(house: Speaker, sample: Sample) -> Iterator[str]:
    """Send one request; yield where the answer differs from the recorded one."""
    request, wanted = sample["request"], sample["response"]
    answer = house.call(request["method"], f"/{request['path']}", request.get("body"), version=request["version"])
    if answer.status_code != wanted["status"]:
        yield f"status {answer.status_code}: {answer.text}"
        return
    for name, value in wanted["headers"].items():
        if GENERATED.sub("", answer.headers.get(name, "none")) != GENERATED.sub("", value):
            yield name
    body = json.loads(GENERATED.sub("", answer.text)) if answer.content else None
    yield from differences(json.loads(GENERATED.sub("", json.dumps(wanted["body"]))), body)
