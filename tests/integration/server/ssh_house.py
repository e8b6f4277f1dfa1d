# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A real server of OpenSSH on a free port of this machine, and what a client needs to reach it."""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.integration.server.daemon_house import free_port, until

COMMAND = shlex.join([sys.executable, "-m", "rackwright.cli", "worker"])
"""The worker of this tree, as the shell of an execution host starts it."""

HOST = "elsewhere"
"""The name that ``config`` gives the server."""

NOBODY = "nobody"
"""A name behind which nobody answers."""

SECRET = "canary-of-the-execution-host"
"""What is secret in the environment there."""

_SERVER = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
SetEnv XDG_RUNTIME_DIR={folder}/run OS_PASSWORD={secret}
"""
_CLIENT = """\
Host {nobody}
  HostName 127.0.0.1
  Port {free}
Host {host}
  HostName 127.0.0.1
  HostKeyAlias {host}
  Port {port}
  User {user}
  IdentityFile {folder}/user_key
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known_hosts
  StrictHostKeyChecking yes
"""


class Sshd:
    """The server; it ends with ``stop`` and all its connections with it."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.port = folder / "ssh", free_port()
        self.runtime = self._folder / "run"
        self.runtime.mkdir(mode=0o700, parents=True)
        for name in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self._folder / name], check=True)
        key = (self._folder / "host_key.pub").read_text()
        (self._folder / "known_hosts").write_text(f"{HOST} {key}")
        user = (self._folder / "user_key.pub").read_text()
        (self._folder / "authorized_keys").write_text(f"restrict,port-forwarding {user}")
        known = {
            "folder": self._folder,
            "port": self.port,
            "host": HOST,
            "nobody": NOBODY,
            "free": free_port(),
            "secret": SECRET,
            "user": getpass.getuser(),
        }
        self._server, self.config = self._folder / "sshd_config", self._folder / "ssh_config"
        self._server.write_text(_SERVER.format(**known))
        self.config.write_text(_CLIENT.format(**known))
        self.log = self._folder / "log"
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
        assert program, "the program sshd is missing; install openssh-server"
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # it wants that of root
        words = [program, "-D", "-e", "-f", str(self._server)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(words, stderr=log)
        until(self._answers, 10, f"an answer of sshd (see {self.log})")

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False

    def sessions(self) -> list[int]:
        """Return the processes that serve connections, without what they started for them."""
        found, parents = list[int](), {self.process.pid}
        while parents:
            parents = {child for parent in parents for child in _children(parent) if _is_sshd(child)}
            found += sorted(parents)
        return found

    def workers(self) -> dict[int, str]:
        """Return the processes that connections have started, wherever they belong to now, and their words."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if f"XDG_RUNTIME_DIR={self.runtime}".encode() in (folder / "environ").read_bytes():
                    found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
        return found

    def folders(self) -> list[Path]:
        """Return the folders of workers."""
        return list(self.runtime.iterdir())

    def cut(self) -> None:
        """Cut every connection in the middle."""
        for pid in self.sessions():
            os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        """End it, with its connections."""
        self.process.terminate()
        self.process.wait(10)


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _is_sshd(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip().startswith("sshd")
    except OSError:
        return False
