# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs racks: in the foreground until told to stop, or in the background."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

from rackwright_lab import network
from rackwright_lab.errors import AlreadyRunningError, LabError
from rackwright_lab.lock import Owner, RackLock
from rackwright_lab.namespaces import Enclosed
from rackwright_lab.options import RackOptions

_READY_PATIENCE = 120  # seconds
_STOP_PATIENCE = 30  # seconds
_PAUSE = 0.1  # seconds between two looks
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class _Stopped(BaseException):
    """A signal asked to stop."""


def run_rack(options: RackOptions) -> None:
    """Run a rack until SIGTERM or SIGINT, then remove all of it but disks, consoles and logs.

    Raises:
        AlreadyRunningError: a rack runs in this folder.
        LabError: the rack could not be built, or it ended by itself.
    """
    with RackLock(options.directory).take(options) as lock:
        for number in _SIGNALS:
            signal.signal(number, _stop)
        try:
            _supervise(options, lock)
        except _Stopped:
            pass
        finally:
            options.description.unlink(missing_ok=True)
            shutil.rmtree(_media(options), ignore_errors=True)


def _stop(_number: int, _frame: FrameType | None) -> None:
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # once is enough: what follows cleans up
    raise _Stopped


def _media(options: RackOptions) -> Path:
    return options.directory / "media"


def _supervise(options: RackOptions, lock: RackLock) -> None:
    shutil.rmtree(_media(options), ignore_errors=True)
    _media(options).mkdir()
    # The Redfish service keeps the media that it is told to insert in the folder for temporary files.
    env = {"TMPDIR": str(_media(options))}
    rack = Enclosed("rackwright_lab.rack", options.to_json(), keep_open=[lock.descriptor], env=env)
    try:
        network.join(options, rack.process.pid)
        try:
            rack.go()
            status = rack.process.wait()
        finally:
            _end(rack)
            network.wait_until_left(options)
        raise LabError(f"The rack ended by itself with status {status}: see the messages above.")
    finally:
        _end(rack)


def _end(rack: Enclosed) -> None:
    rack.ask_to_stop()
    try:
        rack.process.wait(_STOP_PATIENCE)
    except subprocess.TimeoutExpired:
        rack.kill()
        rack.process.wait()


def ensure_rack(options: RackOptions) -> bool:
    """Have a rack run in the background and return when it is ready; whether this started it.

    A rack that runs in this folder with the same options is left alone. Messages of one that is
    started go to rack.log in the folder.

    Raises:
        AlreadyRunningError: a rack with other options runs in this folder.
        LabError: the rack could not be started.
    """
    lock = RackLock(options.directory)
    owner = lock.owner()
    if owner is None:
        background = _start_in_background(options)
        _wait_until_ready(options, lock, background)
        return True
    if owner.options != options:
        raise AlreadyRunningError(
            f"Could not start the rack: process {owner.pid} runs another one in {options.directory}, with the options "
            f"{owner.options.to_json()}. Stop it first."
        )
    _wait_until_ready(options, lock, None)
    return False


def _start_in_background(options: RackOptions) -> subprocess.Popen[bytes]:
    options.directory.mkdir(parents=True, exist_ok=True)
    with (options.directory / "rack.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "rackwright_lab", "rack", "--options", options.to_json()],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
        )


def _wait_until_ready(options: RackOptions, lock: RackLock, background: subprocess.Popen[bytes] | None) -> None:
    log = options.directory / "rack.log"
    end = time.monotonic() + _READY_PATIENCE
    while not _is_ready(options, owner := lock.owner()):
        has_ended = background is not None and background.poll() is not None
        if has_ended and (owner is None or owner.options != options):  # else another process was faster
            last = log.read_text(errors="replace").strip().rpartition("\n")[2]
            raise LabError(f"Could not start the rack: {last} (All messages are in {log}.)")
        if time.monotonic() > end:
            raise LabError(f"The rack was not ready after {_READY_PATIENCE} s: see {log}.")
        time.sleep(_PAUSE)


def _is_ready(options: RackOptions, owner: Owner | None) -> bool:
    return owner is not None and owner.options == options and options.description.exists()


def stop_rack(directory: Path) -> bool:
    """Stop the rack of a folder and return when nothing of it is left; whether there was one.

    Raises:
        LabError: it does not end.
    """
    lock = RackLock(directory)
    owner = lock.owner()
    if owner is not None:
        os.kill(owner.pid, signal.SIGTERM)
    lock.wait_until_free()
    (directory / "rack.json").unlink(missing_ok=True)
    return owner is not None
