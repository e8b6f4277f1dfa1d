# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from rackwright.catalog import Catalog
from rackwright.catalog.offer import HardwareType
from rackwright.services.context import Context
from rackwright.store import port as ports
from rackwright.store.inspection_rule import InspectionRule
from rackwright.store.session import writing
from tests.unit.server.agent_house import MAC, NODE, OTHER, OTHER_MAC
from tests.unit.server.services.test_inspection import Inspection, report

EQUAL = {"op": "eq", "args": ["{inventory[cpu][architecture]}", "x86_64"]}


class Rules(Inspection):
    """The house of inspection, with rules."""

    def rule(self, *actions: Any, conditions: Any = (), **more: Any) -> str:
        with writing(self.database) as session:
            made = InspectionRule(actions=list(actions), conditions=list(conditions), **more)
            session.add(made)
            session.commit()
            return made.uuid

    def inspect(self, **plugin_data: Any) -> None:
        self.expect(NODE, MAC)
        self.send(report(MAC, **plugin_data))

    def refused(self) -> str:
        return str(self.operation().facts["inventory_refused"]["cause"])

    @override
    def context(self, session: Any, minor: int = 68) -> Context:
        found = super().context(session, minor)
        object.__setattr__(found, "catalog", Catalog((), {"redfish": HardwareType("redfish", {})}, {}))
        return found


def put(path: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"op": "set-attribute", "args": {"path": path, "value": value}, **more}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Rules]:
    made = Rules(tmp_path)
    yield made
    made.database.dispose()


def test_rules_see_what_hooks_found_and_change_the_node_its_ports_and_the_data(house: Rules) -> None:
    house.rule(
        put("/resource_class", "{node.properties[cpu_arch]}.{inventory[cpu][count]}"),
        put("/driver_info/redfish_password", "from {plugin_data[site]}"),
        {"op": "set-port-attribute", "args": ["{item}", "/extra/seen", "yes"], "loop": "{plugin_data[macs]}"},
        {"op": "add-trait", "args": ["CUSTOM_SEEN"]},
        {"op": "set-plugin-data", "args": ["rules/ran", True]},
        conditions=[EQUAL],
    )
    house.expect(NODE, MAC)
    house.send(report(MAC, OTHER_MAC, site="here"))
    node = house.node()
    assert (node.resource_class, node.traits) == ("x86_64.4", ["CUSTOM_SEEN"])
    assert house.sealer.unseal(node.driver_info) == {"redfish_password": "from here"}
    assert "from here" not in str(node.driver_info)
    stored = house.stored()
    assert stored is not None
    assert stored.plugin_data["rules"] == {"ran": True}
    assert house.ports() == [(MAC, True), (OTHER_MAC, True)]
    assert house.operation().facts == {"inventory_received": True}


def test_rules_see_what_the_rule_before_them_did(house: Rules) -> None:
    house.rule(put("/extra/order", "{node.extra[order]}b"), priority=1)
    house.rule(put("/extra/order", "a"), priority=9)
    house.rule(put("/extra/order", "{node.extra[order]}c"))
    house.inspect()
    assert house.node().extra == {"order": "abc"}


def test_a_rule_that_fails_fails_the_inspection_and_leaves_nothing_of_it(house: Rules) -> None:
    house.rule(put("/extra/before", "1"), {"op": "set-plugin-data", "args": ["a", 1]}, priority=5)
    uuid = house.rule(put("/extra/x", "1"), {"op": "fail", "args": ["wrong rack"]}, description="racks")
    house.expect(NODE, MAC)
    house.send(report(MAC, OTHER_MAC))
    assert house.refused() == f"inspection rule {uuid} (racks), action 2 (fail): wrong rack"
    assert house.operation().status == "ready"
    node = house.node()
    assert (node.extra, node.properties) == ({}, {})
    assert house.ports() == [(MAC, True)]
    stored = house.stored()
    assert stored is not None
    assert "a" not in stored.plugin_data


@pytest.mark.parametrize(
    ("action", "why"),
    [
        (put("/name", "no name"), "not a name"),
        (put("/name", OTHER), "UUID"),
        (put("/name", "taken"), "already exists"),
        (put("/parent_node", "nobody"), "nobody"),
        (put("/conductor_group", "far"), "far"),
        ({"op": "set-port-attribute", "args": [MAC, "/name", "taken"]}, "already exists"),
    ],
)
def test_a_rule_is_bound_by_the_rules_of_the_fields(house: Rules, action: Any, why: str) -> None:
    house.add(OTHER, OTHER_MAC, state="active", name="taken")
    with writing(house.database) as session:
        port = ports.get(OTHER_MAC, session=session)
        port.name = "taken"
        session.add(port)
        session.commit()
    house.rule(put("/extra/x", "1"), action)
    house.inspect()
    assert "its changes were refused" in house.refused()
    assert why in house.refused()
    assert (house.node().name, house.node().extra) == (None, {})


def test_secrets_are_seen_by_whom_the_setting_allows(house: Rules) -> None:
    house.rule(put("/extra/plain", "{node.driver_info[redfish_password]}"))
    house.rule(put("/extra/sensitive", "{node.driver_info[redfish_password]}"), sensitive=True)
    secret = house.sealer.seal({"redfish_password": "calvin"})
    seen = {}
    for setting in ("always", "sensitive", "never"):
        house.set(mask_secrets=setting)
        if setting == "always":
            house.expect(NODE, MAC, driver_info=secret)
        house.send(report(MAC))
        seen[setting] = (house.node().extra["plain"], house.node().extra["sensitive"])
    assert seen == {"always": ("***", "***"), "sensitive": ("***", "calvin"), "never": ("calvin", "calvin")}
    assert house.node().driver_info == secret


def test_rules_of_the_operators_file_run_beside_the_others(house: Rules, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("- priority: 20000\n  actions:\n  - {op: set-attribute, args: [/extra/order, a]}\n")
    house.set(built_in_rules=file)
    house.rule(put("/extra/order", "{node.extra[order]}b"))
    house.inspect()
    assert house.node().extra == {"order": "ab"}


def test_a_rule_writes_to_the_log_and_its_text_stays_data(house: Rules, caplog: pytest.LogCaptureFixture) -> None:
    house.rule({"op": "log", "args": {"msg": "{plugin_data[text]}", "level": "warning"}})
    with caplog.at_level(logging.INFO):
        house.inspect(text="%s {{ x }}")
    (record,) = [each for each in caplog.records if each.getMessage() == "An inspection rule says something"]
    assert (record.levelname, vars(record)["text"], vars(record)["node"]) == ("WARNING", "%s {{ x }}", NODE)


class _Server(HTTPServer):
    seen: list[tuple[str, str | None]]


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self.server.seen.append((self.path, self.headers["X-Key"]))
        self.send_response(404 if "missing" in self.path else 200)
        self.end_headers()

    @override
    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server(("127.0.0.1", 0), _Handler) as made:
        made.seen = []
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def call(server: _Server, path: str, **args: Any) -> dict[str, Any]:
    return {"op": "api-call", "args": {"url": f"http://127.0.0.1:{server.server_port}{path}", **args}}


def test_a_rule_calls_a_url_once_and_its_changes_are_kept(house: Rules, server: _Server) -> None:
    house.rule(call(server, "/seen/{inventory[bmc_address]}", headers={"X-Key": "k"}), put("/extra/called", "yes"))
    house.rule({"op": "log", "args": ["once"]})
    house.inspect()
    assert server.seen == [("/seen/192.0.2.30", "k")]
    assert house.node().extra == {"called": "yes"}


def test_a_call_that_fails_fails_the_inspection(house: Rules, server: _Server) -> None:
    house.rule(put("/extra/called", "yes"), call(server, "/missing"))
    house.inspect()
    assert "action 2 (api-call): GET http://127.0.0.1" in house.refused()
    assert "404" in house.refused()
    assert house.node().extra == {}


def test_a_failed_call_does_not_tell_the_password_in_its_url(house: Rules, server: _Server) -> None:
    house.rule(call(server, "/missing") | {"args": {"url": f"http://me:geheim@127.0.0.1:{server.server_port}/missing"}})
    house.inspect()
    assert "GET http://me:******@127.0.0.1" in house.refused()
    assert "geheim" not in house.refused()


def test_nobody_has_to_wait_with_writing_while_a_rule_calls(house: Rules, server: _Server) -> None:
    house.rule(call(server, "/slow"))
    seen: list[str] = []

    def write(path: str) -> None:
        house.change(OTHER, description=path)
        seen.append(path)

    class Slow(_Handler):
        def do_GET(self) -> None:
            write(self.path)
            super().do_GET()

    server.RequestHandlerClass = Slow
    house.add(OTHER, OTHER_MAC, state="active")
    house.inspect()
    assert (seen, house.operation().status) == (["/slow"], "ready")
