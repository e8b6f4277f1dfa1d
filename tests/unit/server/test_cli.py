# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rackwright.cli import CannotStart, claimed, main, prepare
from rackwright.settings import Settings


def settings(folder: Path, **more: Any) -> Settings:
    made = Settings(state_dir=folder, **more)
    prepare(made)
    return made


def test_a_second_daemon_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    with (
        claimed(settings(tmp_path)),
        pytest.raises(CannotStart, match="name another folder"),
        claimed(settings(tmp_path)),
    ):
        pass
    with claimed(settings(tmp_path)):
        pass


def test_a_second_daemon_on_the_same_file_of_sqlite_is_refused_and_told_what_to_do(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'rackwright.sqlite'}"
    one, two = (settings(tmp_path / name, database_url=url) for name in ("one", "two"))
    with claimed(one), pytest.raises(CannotStart, match="PostgreSQL or MariaDB"), claimed(two):
        pass


def test_a_file_of_sqlite_whose_folder_is_missing_is_told_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "nowhere" / "rackwright.sqlite"
    found = settings(tmp_path, database_url=f"sqlite:///{file}")
    with pytest.raises(CannotStart, match=f"{file}.*folder"), claimed(found):
        pass


def test_daemons_with_folders_of_their_own_may_share_a_server(tmp_path: Path) -> None:
    one, two = (settings(tmp_path / name, database_url="postgresql://db.example/r") for name in ("one", "two"))
    with claimed(one), claimed(two):
        assert one.database_file is None


@pytest.mark.parametrize(("command", "speaks"), [("conductor", True), ("worker", False), ("db upgrade", False)])
def test_only_what_has_to_do_with_the_api_takes_its_address_and_says_what_for(
    command: str, speaks: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert ("--host ADDRESS" in told) is speaks
    assert ("setting conductor_host" in told) is speaks
