# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The `baremetal` command as somebody at a terminal uses it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from tests.conformance.servers import Server
from tests.peers.environments import environment

SHELL = Path(__file__).with_name("shell.py")
PATIENCE = 90.0


class Refused(Exception):
    """The command ended with an error, which it told."""


class Cli:
    """Runs commands and remembers which; use it as a context manager."""

    def __init__(self, server: Server) -> None:
        self.walked: set[str] = set()
        variables = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
        self._process = subprocess.Popen(
            [str(environment("cli") / "python"), str(SHELL)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=server.folder,
            env=variables | {"OS_ENDPOINT": server.url, "OS_AUTH_TYPE": "none"},
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=30)

    def say(self, command: str, *arguments: str) -> str:
        """Run a command and return what it prints; raise Refused when it fails."""
        self.walked.add(command)
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps([*command.split(), *arguments]) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if answer["status"]:
            raise Refused(f"baremetal {command} {' '.join(arguments)}: {answer['err'].strip()[-600:]}")
        return str(answer["out"])

    def read(self, command: str, *arguments: str) -> Any:
        """Run a command that shows something and return it."""
        return json.loads(self.say(command, *arguments, "-f", "json"))

    def refuses(self, word: str, command: str, *arguments: str) -> None:
        """Run a command that must fail with a text that has a certain word in it."""
        try:
            self.say(command, *arguments)
        except Refused as error:
            assert word in str(error), f"expected {word!r} in: {error}"
            return
        raise AssertionError(f"baremetal {command} {' '.join(arguments)} was not refused")

    def node(self, ident: str) -> dict[str, Any]:
        """Return a node."""
        shown: dict[str, Any] = self.read("node show", ident)
        return shown

    def until(self, ident: str, what: str, true: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until something is true of a node and return the node."""
        end = time.monotonic() + PATIENCE
        while not true(node := self.node(ident)):
            told = {key: node[key] for key in ("provision_state", "power_state", "last_error")}
            assert time.monotonic() < end, f"{what} did not happen: {told}"
            time.sleep(0.2)
        return node


def walk_resource(cli: Cli, kind: str, create: list[str], change: list[str], changed: dict[str, Any]) -> str:
    """Create a thing, show it, find it in the list, change it; return its UUID."""
    uuid = str(cli.read(f"{kind} create", *create)["uuid"])
    assert cli.read(f"{kind} show", uuid)["uuid"] == uuid
    assert uuid in {next(iter(row.values())) for row in cli.read(f"{kind} list")}
    cli.say(f"{kind} set", uuid, *change)
    expect(cli.read(f"{kind} show", uuid), changed)
    return uuid


def expect(shown: dict[str, Any], values: dict[str, Any]) -> None:
    """Assert that something shows certain values."""
    seen = {key: shown.get(key) for key in values}
    assert seen == values, f"{seen} instead of {values}"


def gone(cli: Cli, kind: str, uuid: str) -> None:
    """Delete a thing and see that it is not there any more."""
    cli.say(f"{kind} delete", uuid)
    cli.refuses(uuid, f"{kind} show", uuid)
