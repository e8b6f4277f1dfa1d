# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Log lines: text or JSON, each with what its work is about, from the request to the end of the operation."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from rackwright import logs
from rackwright.telemetry.facts import about
from tests.unit.server.site_house import Site

GLOBAL = "req-0b8bb92a-3f0b-4d2c-9a52-3a3a6a3b4c5d"


class Lines:
    """What was logged, in a form of the setting log_format."""

    def __init__(self, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._stream = StringIO()
        with monkeypatch.context() as patched:
            patched.setattr("sys.stderr", self._stream)
            logs.set_up("INFO", form, "conductor")

    def text(self) -> list[str]:
        return self._stream.getvalue().splitlines()

    def json(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text()]


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield
    root.handlers[:] = before
    root.setLevel(level)


def test_a_json_line_holds_time_level_message_facts_and_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = Lines("json", monkeypatch)
    log = logging.getLogger("rackwright.test")
    with about(operation="o1", node=None):
        try:
            raise ValueError("two\nlines")
        except ValueError:
            log.exception("It %s", "broke", extra={"path": Path("x"), "level": "mine"})
    log.info("After")
    first, second = lines.json()
    assert (first["message"], first["level"], first["logger"]) == ("It broke", "ERROR", "rackwright.test")
    assert (first["operation"], first["path"]) == ("o1", "x")
    assert "ValueError: two" in first["traceback"]
    assert first["time"].endswith("+00:00")
    assert (first["service"], second["service"]) == ("conductor", "conductor")
    assert "node" not in first and "operation" not in second


def test_a_text_line_ends_with_the_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = Lines("text", monkeypatch)
    with about(operation="o1"), about(node="n1"):
        logging.getLogger("rackwright.test").warning("Look", extra={"cause": "none"})
    assert lines.text()[0].endswith("WARNING conductor rackwright.test: Look operation='o1' node='n1' cause='none'")


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_password_in_a_url_is_in_no_line_wherever_the_url_comes_from(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, url = Lines(form, monkeypatch), "https://rackwright:can@ry@keystone.example:5000/v3"
    log = logging.getLogger("rackwright.test")
    log.error("No answer of %s", url, extra={"url": url, "cause": f"ConnectFailure: {url}: refused"})
    try:
        raise OSError(url)
    except OSError:
        log.exception("It broke")
    told = "".join(lines.text())
    assert told.count("https://rackwright:******@keystone.example:5000/v3") == 4
    assert "can@" not in told and "ry@" not in told


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.close()


def test_lines_of_the_conductor_name_the_request_that_asked_for_the_operation(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = site.call("POST", "/nodes", {"driver": "fake-hardware"}).json()["uuid"]
    lines = Lines("json", monkeypatch)
    site.client.headers["X-OpenStack-Request-ID"] = GLOBAL
    answer = site.call("PUT", f"/nodes/{node}/states/provision", {"target": "manage"})
    site.settle(node)
    (ended,) = [line for line in lines.json() if line["message"] == "An operation has ended"]
    assert ended["request"] == answer.headers["x-openstack-request-id"]
    assert ended["global_request"] == GLOBAL
    assert ended["node"] == node
    operation = site.call("GET", f"//rackwright/v1/nodes/{node}/operations").json()["operations"][-1]["uuid"]
    assert ended["operation"] == operation


def test_a_line_of_the_api_names_its_request_and_takes_no_other_text_for_an_id(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = Lines("json", monkeypatch)
    for given in (GLOBAL, 'req-"} {"admin": "yes'):
        site.client.headers["X-OpenStack-Request-ID"] = given
        answer = site.call("GET", "/lookup?addresses=52:54:00:aa:bb:77")
        assert answer.status_code == 404
        (line,) = [each for each in lines.json() if each.get("request") == answer.headers["x-openstack-request-id"]]
        assert line.get("global_request") == (GLOBAL if given == GLOBAL else None)
