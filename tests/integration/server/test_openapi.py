# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Requests made out of the OpenAPI document, right ones and wrong ones, against the application with a conductor."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.unit.server.site_house import VERSION, Site

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 12
PARTS = 4
"""Of the document, so that several processes share them."""
UUID = "{0}1111111-1111-4111-8111-111111111111"
"""The resources that are there, by the first digit."""
NODE, MAC = UUID.format(1), "52:54:00:aa:bb:01"
STEP = {"interface": "bios", "step": "factory_reset", "args": {}}
SEEDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("chassis", {"uuid": UUID.format(8)}),
    ("nodes", {"uuid": NODE, "name": "node-1", "driver": "fake-hardware", "resource_class": "baremetal"}),
    ("portgroups", {"uuid": UUID.format(3), "node_uuid": NODE, "name": "group-1"}),
    ("ports", {"uuid": UUID.format(2), "node_uuid": NODE, "address": MAC, "name": "port-1"}),
    ("allocations", {"uuid": UUID.format(4), "name": "allocation-1", "resource_class": "none"}),
    ("deploy_templates", {"uuid": UUID.format(5), "name": "CUSTOM_A", "steps": [{**STEP, "priority": 1}]}),
    ("runbooks", {"uuid": UUID.format(6), "name": "CUSTOM_B", "steps": [{**STEP, "order": 1}]}),
    ("inspection_rules", {"uuid": UUID.format(7), "actions": [{"op": "fail", "args": {"msg": "no"}}]}),
    ("volume/connectors", {"uuid": UUID.format(9), "node_uuid": NODE, "type": "iqn", "connector_id": "iqn.a"}),
    ("volume/targets", {"uuid": UUID.format("a"), "node_uuid": NODE, "volume_type": "iscsi", "volume_id": "1",
                        "boot_index": 0}),
)  # fmt: skip
KNOWN = {
    "ident": [NODE, "node-1", "port-1", MAC, "group-1", *(UUID.format(each) for each in "23456")],
    "uuid": [UUID.format(each) for each in "2789a"],
    "name": ["fake-hardware"],
    "driver": ["fake-hardware"],
    "hostname": ["conductor-1.example"],
    "trait": ["CUSTOM_A"],
    "method": ["first_method", "third_method_sync"],
    "indicator": ["led@system"],
}


def seed(site: Site) -> None:
    """Let every resource be there."""
    for path, body in SEEDS:
        answer = site.call("POST", f"/{path}", body)
        assert answer.status_code in (201, 400, 409), answer.text


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("site"), public_endpoint=None)
    yield made
    made.close()


def requests_of(operation: Any) -> st.SearchStrategy[Any]:
    """Return right and wrong requests, most of them at a resource that is there and in the newest version."""
    modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    cases = st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in modes))

    def aimed(case: Any, place: int) -> Any:
        for name in list(case.path_parameters or {}):
            if place and name in KNOWN:
                case.path_parameters[name] = KNOWN[name][place % len(KNOWN[name])]
        if place % 3:
            case.headers = {**(case.headers or {}), VERSION: "1.115"}
        return case

    return st.builds(aimed, cases, st.integers(0, 11))


def broken(site: Site, operation: Any) -> str | None:
    """Return what went wrong with an operation, None when every answer was one that the document tells."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(requests_of(operation))
    def ask(case: Any) -> None:
        answer = case.call(session=site.client)
        case.validate_response(answer, checks=CHECKS)

    try:
        ask()
    except FailureGroup as failed:
        return f"{operation.label}: {failed} {getattr(failed, 'exceptions', '')}"
    return None


# The conductor's thread draws random numbers while Hypothesis makes a request and takes them for a part of it.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module:hypothesis.errors.HypothesisDeprecationWarning")
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_answer_is_one_that_the_document_tells(site: Site, part: int) -> None:
    schema = schemathesis.openapi.from_asgi("/openapi.json", site.app)
    failures = []
    for found in islice(schema.get_all_operations(), part, None, PARTS):
        assert isinstance(found, Ok)
        seed(site)
        failures.append(broken(site, found.ok()))
    told = [each for each in failures if each]
    assert not told, "\n\n".join(told)
