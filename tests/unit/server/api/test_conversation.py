# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A conversation recorded with Ironic 39.0.0, held again with us."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.unit.server.api_house import House

SAMPLES = json.loads((Path(__file__).parents[2] / "fixtures" / "api_samples.json").read_text())
ENDS = {
    "provision manage": "manageable",
    "node inspect": "manageable",
    "clean": "manageable",
    "power": "manageable",
    "provide": "available",
    "deploy": "active",
    "rescue": "rescue",
    "unrescue": "active",
    "undeploy": "available",
}
"""The state in which a conductor leaves node-1 after each request that starts work."""

KNOWN = {
    "node patch": ["/reservation"],  # no lock is held once the answer is given
    "conductor show": ["/drivers"],  # this one serves fewer
}
"""Where we differ on purpose."""

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


def answers(house: House, sample: dict[str, Any]) -> Iterator[str]:
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


def test_a_recorded_conversation_is_answered_as_ironic_answers_it(house: House) -> None:
    found = {}
    for sample in SAMPLES:
        different = [each for each in answers(house, sample) if each not in KNOWN.get(sample["label"], [])]
        if different:
            found[sample["label"]] = different
        if sample["label"] in ENDS:
            house.settle("node-1", ENDS[sample["label"]])
    assert found == {}
