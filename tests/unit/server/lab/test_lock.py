# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""One rack in a folder at a time, and a new one after a killed one."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rackwright_lab.errors import AlreadyRunningError
from rackwright_lab.lock import RackLock
from rackwright_lab.options import RackOptions

HOLDER = """
import sys, time
from rackwright_lab.lock import RackLock
from rackwright_lab.options import RackOptions
options = RackOptions.from_json(sys.argv[1])
with RackLock(options.directory).take(options):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def options(tmp_path: Path) -> RackOptions:
    return RackOptions(directory=tmp_path, machines=3)


@pytest.fixture
def holder(options: RackOptions) -> Iterator[subprocess.Popen[str]]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", HOLDER, options.to_json()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_rack_in_a_folder_is_refused_with_the_process_of_the_first(
    options: RackOptions, holder: subprocess.Popen[str]
) -> None:
    with pytest.raises(AlreadyRunningError, match=str(holder.pid)):
        RackLock(options.directory).take(options)


def test_everyone_sees_who_runs_which_rack(options: RackOptions, holder: subprocess.Popen[str]) -> None:
    owner = RackLock(options.directory).owner()
    assert owner is not None
    assert (owner.pid, owner.options) == (holder.pid, options)


def test_a_killed_rack_gives_way_to_a_new_one(options: RackOptions, holder: subprocess.Popen[str]) -> None:
    options.description.write_text("of the killed rack")
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with RackLock(options.directory).take(options):
        assert not options.description.exists()


def test_nobody_runs_a_rack_where_none_was_or_it_was_stopped(options: RackOptions) -> None:
    lock = RackLock(options.directory)
    assert lock.owner() is None
    with RackLock(options.directory).take(options):
        pass
    assert lock.owner() is None
    assert lock.is_free()
