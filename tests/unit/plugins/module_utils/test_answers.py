# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._answers import ANSWERS, OPTIONS, attempt
from ansible_collections.rackwright.metal.plugins.module_utils._client import API_OPTIONS
from ansible_collections.rackwright.metal.tests.unit.plugins.api_server import ApiServer, fault

CONNECTION = {name: option.get("default") for name, option in API_OPTIONS.items()}


def ask(api: ApiServer, name: str, **options: Any) -> dict[str, Any]:
    given = {option: spec.get("default") for option, spec in OPTIONS[name].items()} | {"api_url": api.url} | options
    return attempt(name, given, check=False, tell=lambda _: None)


def test_each_module_that_has_options_has_an_answer() -> None:
    assert ANSWERS.keys() == OPTIONS.keys()


def test_a_refusal_is_a_failure_with_the_words_and_the_status_of_the_api(api: ApiServer) -> None:
    api.prepared = [(403, fault("Not for you."))]
    assert ask(api, "node_info") == {"failed": True, "msg": "The API refused: HTTP 403: Not for you.", "status": 403}


def test_an_api_that_does_not_answer_is_a_failure_that_says_what_to_do(api: ApiServer) -> None:
    api.silences = 1
    answer = ask(api, "node_info")
    assert answer["failed"] and "Check that the daemon runs" in answer["msg"]


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_certificate_authority_that_is_of_no_use_is_a_failure(
    api: ApiServer, tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "ca.pem"
    if content:
        file.write_text(content)
    answer = ask(api, "node_info", api_ca=str(file))
    assert answer["msg"].startswith(f"Failed to read the certificate authority {file}: ")
    assert api.requests == []
