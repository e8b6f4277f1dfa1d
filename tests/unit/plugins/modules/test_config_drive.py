# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path
from typing import Any

PARTS = {"meta_data": {"hostname": "web-1"}, "user_data": "#cloud-config\n", "uuid": "node-1"}


def test_a_drive_is_written_once_for_the_owner(module: Any, tmp_path: Path) -> None:
    dest = tmp_path / "drive"
    assert module("config_drive", **PARTS, dest=str(dest), _ansible_check_mode=True)["changed"]
    assert not dest.exists()
    answer = module("config_drive", **PARTS, dest=str(dest))
    assert (answer["changed"], answer["size"]) == (True, dest.stat().st_size)
    assert dest.stat().st_mode & 0o777 == 0o600
    assert not module("config_drive", **PARTS, dest=str(dest))["changed"]
    assert module("config_drive", **{**PARTS, "user_data": "other"}, dest=str(dest))["changed"]


def test_a_file_that_is_no_drive_is_replaced(module: Any, tmp_path: Path) -> None:
    (tmp_path / "drive").write_bytes(b"\xff")
    assert module("config_drive", **PARTS, dest=str(tmp_path / "drive"))["changed"]


def test_a_folder_that_is_missing_is_an_error(module: Any, tmp_path: Path) -> None:
    answer = module("config_drive", **PARTS, dest=str(tmp_path / "gone/drive"))
    assert "Give a dest in a folder that exists" in answer["msg"]
