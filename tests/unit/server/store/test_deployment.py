# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The key of a database: one for all its processes, and never a new one where secrets are sealed already."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from sqlalchemy import text

from rackwright.store.deployment import KeyMissing, WrongKey, enter
from rackwright.store.sealing import KeyUnusable
from rackwright.store.session import open_engine
from tests.integration.server.daemon_house import free_port

Enter = Callable[[Path], bytes]


@pytest.fixture
def entered(database: str) -> Enter:
    """Let a process of the daemon with this key file enter the database; return its key."""

    def enters(file: Path) -> bytes:
        engine, key = enter(database, file)
        engine.dispose()
        return key

    return enters


def test_the_first_process_makes_the_key_and_the_others_of_its_host_have_it(entered: Enter, tmp_path: Path) -> None:
    file = tmp_path / "secret.key"
    with ThreadPoolExecutor(4) as pool:
        keys = set(pool.map(entered, [file] * 4))
    assert keys == {file.read_bytes()}


def test_a_host_with_another_key_is_refused_and_told_which_file_it_is(entered: Enter, tmp_path: Path) -> None:
    entered(tmp_path / "secret.key")
    other = tmp_path / "other.key"
    other.write_bytes(Fernet.generate_key())
    with pytest.raises(WrongKey, match=f"{other} is not the key .* copy secret.key from another host"):
        entered(other)


def test_a_host_without_a_key_gets_none_where_the_database_has_one(entered: Enter, tmp_path: Path) -> None:
    entered(tmp_path / "secret.key")
    missing = tmp_path / "missing.key"
    with pytest.raises(KeyMissing, match=f"{missing} is missing.* copy secret.key from another host"):
        entered(missing)
    assert not missing.exists()


def test_where_the_key_is_lost_for_good_a_new_one_is_made_once_the_old_one_is_forgotten(
    entered: Enter, database: str, tmp_path: Path
) -> None:
    lost = entered(tmp_path / "secret.key")
    engine = open_engine(database)
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM deployment"))  # as docs/howto/several-conductors.md says
    engine.dispose()
    assert entered(tmp_path / "new.key") != lost


def test_a_copy_of_the_key_with_a_line_end_is_the_same_key(entered: Enter, tmp_path: Path) -> None:
    key = entered(tmp_path / "secret.key")
    copy = tmp_path / "copy.key"
    copy.write_bytes(key + b"\n")
    assert entered(copy) == key


@pytest.mark.parametrize(
    ("content", "reason"), [(b"", "it is empty"), (b"c2hvcnQ=", "it is damaged"), (b"\xff" * 44, "it is damaged")]
)
def test_a_key_that_is_none_is_named_with_what_to_do(
    entered: Enter, tmp_path: Path, content: bytes, reason: str
) -> None:
    file = tmp_path / "secret.key"
    file.write_bytes(content)
    with pytest.raises(KeyUnusable, match=f"{file} cannot be used: {reason}. Put a copy of it back"):
        entered(file)
    assert file.read_bytes() == content


def test_a_key_that_cannot_be_read_is_named_with_what_to_do(entered: Enter, tmp_path: Path) -> None:
    file = tmp_path / "secret.key"
    file.mkdir()
    with pytest.raises(KeyUnusable, match=f"{file} cannot be used: Is a directory. .*user of the daemon"):
        entered(file)


@pytest.mark.parametrize("command", ["serve", "conductor", "api"])
def test_the_daemon_ends_with_the_status_of_bad_settings_and_no_traceback(command: str, tmp_path: Path) -> None:
    (tmp_path / "secret.key").touch()
    done = subprocess.run(
        [sys.executable, "-m", "rackwright.cli", command, "--state-dir", str(tmp_path), "--port", str(free_port())],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 78, done.stderr
    assert f"{tmp_path / 'secret.key'} cannot be used: it is empty." in done.stderr
    assert "Traceback" not in done.stderr
