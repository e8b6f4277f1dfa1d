# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import gzip
import io
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pycdlib
import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._config_drive import (
    LIMIT,
    build,
    described,
    encode,
    ready,
)
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.tests.unit.plugins.image_server import ImageServer

NODE = {"uuid": "node-1", "name": "rack1-u4"}
FULL: dict[str, Any] = {
    "meta_data": {"hostname": "web-1", "public_keys": {"a": "ssh-ed25519 AAAA"}},
    "user_data": "#cloud-config\n# Grüße 🚀\n",
    "network_data": {"links": [{"id": "eth0", "mtu": None}, {"id": "eth1", "mtu": 9000}], "networks": []},
    "vendor_data": {"cloud-init": "#cloud-config"},
}


def contents(drive: bytes, facet: str) -> dict[str, bytes]:
    iso = pycdlib.PyCdlib()
    iso.open_fp(io.BytesIO(drive))
    found = {}
    for folder, _folders, files in iso.walk(**{f"{facet}_path": "/"}):
        for name in files:
            content = io.BytesIO()
            path = f"{folder.rstrip('/')}/{name}"
            iso.get_file_from_iso_fp(content, **{f"{facet}_path": path})
            found[path] = content.getvalue()
    label = iso.pvd.volume_identifier.decode().strip()
    iso.close()
    assert label == "config-2"
    return found


@pytest.mark.parametrize("facet", ["rr", "joliet"])
def test_an_object_becomes_a_drive_that_readers_understand(facet: str) -> None:
    found = contents(build(FULL, NODE), facet)
    folders = ("/openstack/latest", "/openstack/2012-08-10")
    names = ("meta_data.json", "user_data", "network_data.json", "vendor_data2.json")
    assert sorted(found) == sorted(f"{folder}/{name}" for folder in folders for name in names)
    for folder in folders:
        assert json.loads(found[f"{folder}/meta_data.json"]) == {**NODE, **FULL["meta_data"]}
        assert found[f"{folder}/user_data"] == FULL["user_data"].encode()
        assert json.loads(found[f"{folder}/vendor_data2.json"]) == FULL["vendor_data"]


def test_the_drive_reads_as_one_made_by_other_tools(tmp_path: Path) -> None:
    file = tmp_path / "drive.iso"
    file.write_bytes(build(FULL, NODE))
    command = ["isoinfo", "-R", "-i", str(file), "-x", "/openstack/latest/meta_data.json"]
    assert json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["hostname"] == "web-1"


def test_configdrive_shapes_and_size() -> None:
    """Text arrives byte for byte up to the limit, null MTUs are dropped, what can't work is refused with its cause."""
    for size in (63 << 10, 5 << 20):
        text = base64.b64encode(gzip.compress(os.urandom(size), 1)).decode()
        assert ready(text, NODE) == text
    too_large = base64.b64encode(gzip.compress(bytes(70 << 20), 1)).decode()
    with pytest.raises(OperationError, match="larger than 64 MiB"):
        ready(too_large, NODE)
    found = contents(build(FULL, NODE), "rr")
    links = json.loads(found["/openstack/latest/network_data.json"])["links"]
    assert links == [{"id": "eth0"}, {"id": "eth1", "mtu": 9000}]
    with pytest.raises(OperationError, match="broken JSON"):
        ready("{broken", NODE)
    with ImageServer().running() as server:
        server.files["/drive"] = b"content"
        assert ready(f"{server.url}/drive", NODE) == f"{server.url}/drive"
        with pytest.raises(OperationError, match="HTTP 404"):
            ready(f"{server.url}/gone", NODE)


def test_an_object_as_text_is_the_same_as_an_object() -> None:
    text = ready(json.dumps({"user_data": {"a": 1}}), NODE)
    assert text is not None
    found = contents(gzip.decompress(base64.b64decode(text)), "rr")
    assert json.loads(found["/openstack/latest/user_data"]) == {"a": 1}
    assert json.loads(found["/openstack/latest/meta_data.json"]) == NODE
    assert "/openstack/latest/network_data.json" not in found


def test_base64_text_with_line_breaks_is_not_touched() -> None:
    text = base64.encodebytes(gzip.compress(b"drive")).decode()
    assert ready(text, NODE) == text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("no base64!", "nor base64 text"),
        (base64.b64encode(b"plain").decode(), "holds no gzip data"),
        (base64.b64encode(gzip.compress(os.urandom(4096))[:2000]).decode(), "ends too early"),
        ({"metadata": {}}, "unknown parts: metadata"),
        ({"meta_data": ["a"]}, "meta_data is no object"),
        ({"network_data": "{"}, "broken JSON"),
        ({"user_data": "x" * (LIMIT // 2 + 1)}, "larger than 64 MiB"),
    ],
)
def test_what_cannot_be_a_config_drive_is_refused(given: Any, said: str) -> None:
    with pytest.raises(OperationError, match=said):
        ready(given, NODE)


@pytest.mark.parametrize("given", [None, "", {}])
def test_no_config_drive_is_fine(given: Any) -> None:
    assert ready(given, NODE) is None
    assert described(given) == "none"


def test_a_description_holds_nothing_of_the_content() -> None:
    assert described({"user_data": "canary"}) == "object"
    assert described("https://u:canary@host/drive?token=canary") == "https://host/drive"
    assert described("canary") == "text"


def test_the_same_bytes_give_the_same_text() -> None:
    assert encode(b"drive") == encode(b"drive")
    assert gzip.decompress(base64.b64decode(encode(b"drive"))) == b"drive"
