# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.rackwright.metal.plugins.module_utils import _agent, _agent_steps, _client, _converge
from ansible_collections.rackwright.metal.plugins.module_utils._bmc import (
    redfish,
    redfish_boot,
    redfish_media,
    redfish_service,
)
from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import AgentServer
from ansible_collections.rackwright.metal.tests.unit.plugins.api_server import ApiServer
from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import BmcServer
from ansible_collections.rackwright.metal.tests.unit.plugins.image_server import ImageServer

Data = dict[str, Any]


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentServer]:
    """Run an agent with TLS, and shorten the pauses of those who talk to it."""
    monkeypatch.setattr(_agent, "PAUSE", 0.01)
    monkeypatch.setattr(_agent_steps, "POLL", 0.01)
    with AgentServer(tmp_path).running() as server:
        yield server


@pytest.fixture
def bmc(monkeypatch: pytest.MonkeyPatch) -> Iterator[BmcServer]:
    """Run a BMC, and shorten the pauses of those who talk to it."""
    monkeypatch.setattr(redfish, "INTERVAL", 0.02)
    monkeypatch.setattr(redfish_service, "PAUSE", 0.02)
    monkeypatch.setattr(redfish_boot, "READ_BACK", 0.2)
    monkeypatch.setattr(redfish_media, "READ_BACK", 0.2)
    with BmcServer().running() as server:
        yield server


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """Run a small Ironic, and shorten the pauses of those who talk to it."""
    monkeypatch.setattr(_client, "PAUSE", 0.01)
    monkeypatch.setattr(_converge, "INTERVAL", 0.01)
    with ApiServer().running() as server:
        yield server


@pytest.fixture
def images() -> Iterator[ImageServer]:
    with ImageServer().running() as server:
        yield server


@pytest.fixture
def module(capsys: pytest.CaptureFixture[str]) -> Callable[..., Data]:
    """Run a module of ours with options, and return its answer."""

    def run(name: str, /, **options: Any) -> Data:
        main = importlib.import_module(f"ansible_collections.rackwright.metal.plugins.modules.{name}").main
        with patch_module_args(options), pytest.raises(SystemExit):
            main()
        return dict(json.loads(capsys.readouterr().out))

    return run
