# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.image_server import ImageServer

CONTENT = b"\1" * 4096
SUM = hashlib.sha256(CONTENT).hexdigest()


def test_an_image_behind_http_is_checked(images: ImageServer, module: Any) -> None:
    images.files["/os.raw"] = CONTENT
    answer = module("image", source=f"{images.url}/os.raw", checksum=SUM)
    assert answer["image"]["virtual_size"] == 4096
    assert answer["url"] == f"{images.url}/os.raw"
    assert not answer["changed"]


def test_a_file_is_offered_once_and_removed(module: Any, tmp_path: Path) -> None:
    (tmp_path / "os.raw").write_bytes(CONTENT)
    dest = tmp_path / "offered"
    offer = {"source": f"file://{tmp_path}/os.raw", "checksum": SUM, "allowed_paths": [str(tmp_path)]}
    place = {"dest": str(dest), "dest_url": "http://host/offered"}
    assert module("image", **offer, **place, _ansible_check_mode=True)["changed"]
    assert not dest.exists()
    answer = module("image", **offer, **place)
    assert (answer["changed"], answer["url"]) == (True, "http://host/offered")
    assert not module("image", **offer, **place)["changed"]
    assert module("image", state="absent", dest=str(dest), _ansible_check_mode=True)["changed"]
    assert dest.read_bytes() == CONTENT
    assert module("image", state="absent", dest=str(dest))["changed"]
    assert not module("image", state="absent", dest=str(dest))["changed"]


def test_an_image_that_is_missing_is_an_error(images: ImageServer, module: Any) -> None:
    assert "HTTP 404" in module("image", source=f"{images.url}/os.raw", checksum=SUM)["msg"]
