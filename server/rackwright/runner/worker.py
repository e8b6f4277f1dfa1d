# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The far end of a run elsewhere: ansible-runner's worker, in a folder that goes with it, ended with its connection.

Two processes look after each other. The outer one passes the run on to the inner one, which is the worker, and kills
it and all that it started when the connection ends, or is silent for too long. When the outer one dies, the inner one
is told by the kernel and ends what it started. Whoever is left removes the folder; were both killed, the next worker
does.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import importlib.metadata
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NoReturn

from ansible_runner import streaming

from rackwright import __version__
from rackwright.runner.ansible import RunnerUnusable, environment_of, forget_environment, scrub_environment

LOST = 69
"""Exit status of a worker whose connection has ended before its run."""

_PREFIX = "rackwright-"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_END = b'{"eof": true}'
_CHUNK = 65536
_FORKS = 20


def work(door: Path, *, patience: float, roots: tuple[Path, ...], variables: Collection[str] = ()) -> int:
    """Carry out the run that comes on standard input, tell its events on standard output; return its exit status.

    ``door`` is the socket that leads to the conductor, ``patience`` the silence, seconds, after which the connection
    counts as broken, ``variables`` what playbooks get of the environment besides. Raises RunnerUnusable when a package
    is missing.
    """
    versions = _versions()
    scrub_environment(variables)
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda *_: sys.exit(LOST))
    with _folder(door) as folder:
        reader, writer = os.pipe()
        outer = os.getpid()
        inner = os.fork()
        if inner == 0:
            os.close(writer)
            _become_inner(folder, reader, outer=outer, roots=roots)
        os.close(reader)
        greeting = {"rackwright": __version__, "door": str(folder / "door.sock"), **versions}
        os.write(1, json.dumps(greeting).encode() + b"\n")
        return _attend(inner, os.fdopen(writer, "wb", buffering=0), patience)


def _versions() -> dict[str, str]:
    """Return the versions of what runs playbooks."""
    try:
        return {name: importlib.metadata.version(name) for name in ("ansible-core", "ansible-runner")}
    except importlib.metadata.PackageNotFoundError as error:
        raise RunnerUnusable(reason=f"package {error.name} is missing; install it beside rackwright") from error


@contextlib.contextmanager
def _folder(door: Path) -> Iterator[Path]:
    """Make a folder in memory where there is such a place; kill what is left and remove it at the end."""
    base = next(filter(_is_ours, _places()))
    _sweep(base)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)  # it stays open as long as one of us lives
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():  # another worker has not taken it for one that was left
            break
    (folder / "door.sock").symlink_to(door)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield folder
    finally:
        _remove(folder)


def _places() -> Iterator[Path]:
    yield Path(os.environ.get("XDG_RUNTIME_DIR") or "/dev/shm")
    yield Path("/dev/shm")
    yield Path(tempfile.gettempdir())


def _is_ours(place: Path) -> bool:
    return place.is_dir() and os.access(place, os.W_OK | os.X_OK)


def _sweep(base: Path) -> None:
    """Remove the folders of workers that were killed together with those who looked after them."""
    for folder in base.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove_files(folder)
            finally:
                os.close(handle)


def _remove(folder: Path) -> None:
    _end_children()
    _remove_files(folder)


def _remove_files(folder: Path) -> None:
    with contextlib.suppress(OSError):
        (folder / "door.sock").readlink().unlink()  # sshd leaves it
    shutil.rmtree(folder, ignore_errors=True)


def _end_children() -> None:
    """Kill all below this process; who loses its parent becomes our child, whatever session it has."""
    with contextlib.suppress(ChildProcessError):
        while True:
            for task in Path("/proc/self/task").glob("*/children"):
                for pid in task.read_text().split():
                    os.kill(int(pid), signal.SIGKILL)
            os.waitpid(-1, 0)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value)


def _attend(inner: int, sink: IO[bytes], patience: float) -> int:
    """Pass the run on, then listen for signs of life until the worker has ended; return its exit status."""
    handle = os.pidfd_open(inner)
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.register(handle, select.POLLIN)
    tail: bytes | None = b""
    while ready := poll.poll(patience * 1000):
        if any(fd == handle for fd, _ in ready):
            return _status(os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1]))
        heard = os.read(0, _CHUNK)
        if not heard:
            return LOST
        if tail is not None and (heard := heard if tail else heard.lstrip(b"\n")):
            _pass_on(sink, heard)
            tail = (tail + heard).rstrip(b"\n")[-len(_END) :]
            if tail == _END:
                _pass_on(sink, b"\n")  # its own may still be under way
                tail = None
    return LOST


def _pass_on(sink: IO[bytes], heard: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):  # it has ended, which the next look tells
        sink.write(heard)


def _status(code: int) -> int:
    """Return an exit status for a code that is negative for a signal."""
    return code if code >= 0 else 128 - code


def _become_inner(folder: Path, source: int, *, outer: int, roots: tuple[Path, ...]) -> NoReturn:
    status = LOST
    try:
        status = _inner(folder, source, outer=outer, roots=roots)
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(status)


def _inner(folder: Path, source: int, *, outer: int, roots: tuple[Path, ...]) -> int:
    """Be the worker; return the exit status of the playbook."""
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_DFL)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    if os.getppid() != outer:
        return LOST
    tempfile.tempdir = str(folder)
    home, data = folder / "home", folder / "data"
    for each in (home, data):
        each.mkdir(mode=0o700)
    variables = {**environment_of(home, roots, _FORKS), "ANSIBLE_REMOTE_TMP": str(home / "tmp"), "TMPDIR": str(folder)}
    worker = _Worker(
        _input=os.fdopen(source, "rb"), _output=sys.stdout.buffer, private_data_dir=str(data), envvars=variables
    )
    try:
        _, rc = streaming.Worker.run(worker)
    except OSError:  # nobody reads any more
        rc = LOST
    if os.getppid() != outer:
        _remove(folder)
    return LOST if rc is None else _status(int(rc))


class _Worker(streaming.Worker):
    """Sends events, no files, and nothing of its environment."""

    def status_handler(self, status_data: Mapping[str, Any], runner_config: Any) -> None:
        """Tell how far the run is."""
        forget_environment(status_data, runner_config)
        told = {name: value for name, value in status_data.items() if name != "env"}
        streaming.Worker.status_handler(self, told, runner_config)

    def artifacts_handler(self, artifact_dir: str) -> None:
        """Keep the files of the run here; they go with the folder."""
