# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program that has loaded Ansible and our plugins, and forks a child for each playbook that it is asked to run.

The conductor starts it, as ``python -P _fork_server.py CONDUCTOR IDLE``: its own process id, and the seconds without a
playbook after which the program ends. Standard input is the listening unix socket, the environment is that of a run,
since Ansible reads its settings when it is imported.

A client sends eight bytes, the length of its request, and with them its three standard streams and its folder. The
request is the number of arguments of ansible-playbook, the arguments, and the variables of the environment, with NULs
between them. The answer is ``+`` when the playbook is about to start, and its exit status, in digits, when it is over.

Nothing outlives what it works for: this process ends with the conductor; a child ends with this process, or when its
client goes away; whatever Ansible forks from a child ends with the child.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import io
import os
import secrets
import select
import shutil
import signal
import socket
import sys
import tempfile
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, cast

from ansible import constants
from ansible.cli.playbook import PlaybookCLI
from ansible.plugins import loader
from ansible.utils import vars as unique

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)
_SETTINGS: Any = constants  # its names are made when it is imported
_PREFIX, _RANDOM = "ansible-local-", 8
"""How the temporary folder of a playbook is called: this, the process, and so many characters."""
_TRUST = "ansible_collections.rackwright.metal.plugins.module_utils._bmc.redfish_trust"


@dataclass(frozen=True)
class Child:
    """A playbook that goes on."""

    pid: int
    process: int
    """File descriptor of the process: readable when it has ended."""
    client: socket.socket


class ForkServer:
    """Waits for clients, for the ends of their playbooks and for the end of the conductor, on one thread."""

    def __init__(self, listener: socket.socket, conductor: int, idle: float) -> None:
        """Take the socket, the conductor's file descriptor, and the seconds without a playbook that it may last."""
        self._listener = listener
        self._conductor = conductor
        self._idle = idle
        self._playing: dict[int, Child] = {}
        """By file descriptor of the process."""
        self._awaited: dict[int, Child] = {}
        """By file descriptor of the client: those that somebody waits for."""
        self._poll = select.poll()
        for fd in (listener.fileno(), conductor):
            self._poll.register(fd, select.POLLIN)

    def serve(self) -> None:
        """Serve until nobody needs it any more."""
        while ready := {fd for fd, _events in self._poll.poll(None if self._playing else self._idle * 1000)}:
            if self._conductor in ready:
                return
            for fd in ready & self._playing.keys():
                self._tell_end(self._playing.pop(fd))
            for fd in ready & self._awaited.keys():
                self._kill(self._awaited.pop(fd))
            if self._listener.fileno() in ready:  # last, since what it opens takes the numbers of what was closed
                self._start()

    def _start(self) -> None:
        client, _address = self._listener.accept()
        server = os.getpid()
        try:
            client.sendall(b"+")
            pid = os.fork()
        except OSError:  # the client did not wait, or there is no room for another process
            client.close()
            return
        if not pid:
            self._let_go()
            if os.getppid() == server:  # it lived when the kernel was told to end us with it
                play(client)
            os._exit(1)
        child = Child(pid, os.pidfd_open(pid), client)
        self._playing[child.process] = self._awaited[client.fileno()] = child
        self._poll.register(child.process, select.POLLIN)
        self._poll.register(client, 0)  # the request is the child's to read: only the end of the client is news

    def _tell_end(self, child: Child) -> None:
        self._poll.unregister(child.process)
        os.close(child.process)
        _pid, status = os.waitpid(child.pid, 0)
        if os.WIFSIGNALED(status):
            sweep()
        if self._awaited.pop(child.client.fileno(), None):
            self._poll.unregister(child.client)
            with child.client, contextlib.suppress(OSError):
                child.client.sendall(b"%d" % os.waitstatus_to_exitcode(status))

    def _kill(self, child: Child) -> None:
        """Kill a playbook whose client is gone."""
        self._poll.unregister(child.client)
        child.client.close()
        signal.pidfd_send_signal(child.process, signal.SIGKILL)

    def _let_go(self) -> None:
        """Close in a child what belongs to the server and to the other children."""
        self._listener.close()
        os.close(self._conductor)
        for child in self._playing.values():
            os.close(child.process)
            child.client.close()


def play(client: socket.socket) -> NoReturn:
    """Be the ansible-playbook that the client asks for."""
    status: Any = 1
    try:
        os.setsid()
        arguments = take_over(client)
        unique.random_int = secrets.token_hex(4)  # else every child would give its tasks the same identifiers
        with tempfile.TemporaryDirectory(
            prefix=f"{_PREFIX}{os.getpid()}", dir=Path(_SETTINGS.DEFAULT_LOCAL_TMP).parent
        ) as _SETTINGS.DEFAULT_LOCAL_TMP:
            PlaybookCLI.cli_executor(arguments)
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)  # what is to be done at exit is the server's to do: it would remove the folder of all


def take_over(client: socket.socket) -> list[str]:
    """Read the request, make the client's streams, folder and environment ours, and return the arguments."""
    head, (*streams, folder), _flags, _address = socket.recv_fds(client, 8, 4)
    with client, client.makefile("rb") as request:
        count, *words = request.read(int.from_bytes(head, "big")).split(b"\0")
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
        os.close(fd)
    for output in (sys.stdout, sys.stderr):  # Ansible has tied these objects to its lock, so they must stay
        cast(io.TextIOWrapper, output).reconfigure(line_buffering=output.isatty())
    os.fchdir(folder)
    os.close(folder)
    arguments, variables = words[: int(count)], words[int(count) :]
    os.environb.clear()
    os.environb.update(dict(word.split(b"=", 1) for word in variables))
    sys.argv = [os.fsdecode(word) for word in arguments]
    return sys.argv


def sweep() -> None:
    """Remove the folders of playbooks that were killed, as this process may have been before."""
    for folder in Path(_SETTINGS.DEFAULT_LOCAL_TMP).parent.glob(f"{_PREFIX}*"):
        if not _lives(folder.name.removeprefix(_PREFIX)[:-_RANDOM]):
            shutil.rmtree(folder, ignore_errors=True)


def _lives(pid: str) -> bool:
    """Tell whether a process goes on; one that has ended and whose end nobody has noticed yet has no command line."""
    with contextlib.suppress(OSError):
        return bool(Path("/proc", pid, "cmdline").read_bytes())
    return False


def load() -> None:
    """Load what runs need: Ansible's plugins, and ours with the libraries that they use."""
    warnings.filterwarnings("ignore", "AnsibleCollectionFinder has already been configured")
    loader.init_plugin_loader()
    for kind in ("connection", "shell", "become", "inventory", "vars", "cache", "strategy", "action"):
        list(getattr(loader, f"{kind}_loader").all(class_only=True))
    for name in ("default", "junit", "minimal"):  # not ansible-runner's: it reads the run's environment on import
        loader.callback_loader.get(name, class_only=True)
    list(loader.filter_loader.all())
    list(loader.test_loader.all())
    for file in Path(__file__).parents[1].glob("action/*.py"):
        loader.action_loader.get(f"rackwright.metal.{file.stem}", class_only=True)
    loader.inventory_loader.get("rackwright.metal.wave", class_only=True)
    importlib.import_module(_TRUST).trust(True)


def main(conductor: int, idle: float) -> None:
    """Load everything, then serve the socket that is standard input while the conductor lives."""
    lifeline = os.pidfd_open(conductor)
    if os.getppid() != conductor:
        return
    os.register_at_fork(after_in_child=lambda: _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL))
    load()
    Path(_SETTINGS.DEFAULT_LOCAL_TMP).rmdir()  # each child makes its own
    sweep()
    ForkServer(socket.socket(fileno=os.dup(0)), lifeline, idle).serve()


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
