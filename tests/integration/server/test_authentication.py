# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Clients that people have prove who they are, over real HTTP, to the API and to an identity service."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bcrypt
import pytest
import uvicorn
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from openstack.connection import Connection
from openstack.exceptions import ForbiddenException

from tests.integration.server.api_process import wait_for
from tests.unit.server.api_house import House
from tests.unit.server.keystone_house import GuardedHouse, Keystone, identity_service


@contextmanager
def served(house: House) -> Iterator[str]:
    """Serve an API from a thread; yield its URL."""
    config = uvicorn.Config(house.app, host="127.0.0.1", port=0, log_level="warning", access_log=False, ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_for(lambda: server.started, "the API listens")
    _, port = server.servers[0].sockets[0].getsockname()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(timeout=30)


def cli(*words: str, **options: str) -> subprocess.CompletedProcess[str]:
    """Run the command ``baremetal`` with credentials."""
    given = [word for name, value in options.items() for word in (f"--os-{name.replace('_', '-')}", value)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    command = [str(Path(sys.executable).with_name("baremetal")), *given, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=environment)


class Users(House):
    """An API that asks alice for her password; the tests themselves get past it."""

    def __init__(self, folder: Path) -> None:
        file = folder / "users"
        file.write_text(f"alice:{bcrypt.hashpw(b'wonderland', bcrypt.gensalt(4)).decode()}\n")
        # Public on loopback only: links must lead to where the test listens.
        super().__init__(folder, auth_strategy="http_basic", http_basic_auth_user_file=file, public_endpoint=None)


def test_the_command_line_gives_name_and_password(tmp_path: Path) -> None:
    with served(Users(tmp_path)) as url:
        who = {"auth_type": "http_basic", "endpoint": url, "username": "alice"}
        created = cli("node", "create", "--driver", "fake-hardware", "--name", "n1", **who, password="wonderland")
        assert created.returncode == 0, created.stderr
        listed = cli("node", "list", "-f", "value", "-c", "Name", **who, password="wonderland")
        assert listed.stdout.split() == ["n1"]
        refused = cli("node", "list", **who, password="wrong")
        assert refused.returncode != 0
        assert "401" in refused.stderr or "Unauthorized" in refused.stderr, refused.stderr


class Guarded(GuardedHouse):
    """An API that asks about each token anew."""

    def __init__(self, folder: Path, keystone: Keystone) -> None:
        super().__init__(folder, keystone, public_endpoint=None, token_cache_time=0)


def connected(keystone_url: str, user: str, **scope: Any) -> Connection:
    account = Password(f"{keystone_url}/v3", username=user, password="pw", user_domain_id="default", **scope)
    return Connection(session=Session(auth=account), region_name="r")


# The SDK warns of functions of its own that it calls itself.
@pytest.mark.filterwarnings("default::openstack.warnings._RemovedInSDKWarning")
def test_the_sdk_finds_the_api_in_the_catalog_and_sees_what_its_project_owns(tmp_path: Path) -> None:
    with identity_service() as keystone, served(Guarded(tmp_path, keystone)) as url:
        keystone.offer(url)
        keystone.people |= {"root": ("pw", "admin"), "eve": ("pw", "member")}
        root = connected(keystone.url, "root", system_scope="all").baremetal
        for name, owner in (("own", "p1"), ("foreign", "p2")):
            root.create_node(driver="fake-hardware", name=name, owner=owner)
        eve = connected(keystone.url, "eve", project_name="p1", project_domain_id="default").baremetal
        assert [node.name for node in eve.nodes()] == ["own"]
        assert [node.name for node in root.nodes()] == ["own", "foreign"]
        assert eve.find_node("foreign") is None
        eve.set_node_maintenance("own", "broken")
        with pytest.raises(ForbiddenException):
            eve.delete_node("own")
        keystone.tokens.clear()
        assert [node.name for node in eve.nodes()] == ["own"]  # with a new token, since the old one got 401
