# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hashlib
import os
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.plugins.module_utils._image import (
    Place,
    check_fits,
    image_info,
    prepare,
    withdraw,
)
from ansible_collections.rackwright.metal.tests.unit.plugins.image_server import ImageServer

MIB = 1 << 20


def raw(size: int = MIB) -> bytes:
    """Return a disk with one partition entry, which is what real raw images look like."""
    entry = (
        bytes([0x00, 0x00, 0x02, 0x00, 0x83, 0xFF, 0xFF, 0xFF])
        + (1).to_bytes(4, "little")
        + (2047).to_bytes(4, "little")
    )
    return bytes(446) + entry + bytes(48) + b"\x55\xaa" + bytes(size - 512)


def qcow2(virtual_size: int = 10 << 30, backing: str = "") -> bytes:
    """Return the start of a qcow2 image, version 2, field by field."""
    numbers = [(2, 4), (72 if backing else 0, 8), (len(backing), 4), (16, 4), (virtual_size, 8), (0, 4), (0, 4), (0, 8)]
    header = b"QFI\xfb" + b"".join(number.to_bytes(width, "big") for number, width in numbers) + bytes(24)
    return (header[:72].ljust(72, b"\0") + backing.encode()).ljust(65536, b"\0")


def info(source: str, content: bytes, **more: Any) -> dict[str, Any]:
    return {"image_source": source, "image_checksum": hashlib.sha256(content).hexdigest(), **more}


@pytest.fixture
def images() -> Iterator[ImageServer]:
    with ImageServer().running() as server:
        yield server


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "allowed").mkdir()
    (tmp_path / "served").mkdir()
    return Place(tmp_path / "served/op-1", "http://files/images/op-1", [str(tmp_path / "allowed")])


def test_a_raw_image_is_passed_on_as_raw(images: ImageServer) -> None:
    images.files["/os.img"] = raw()
    image = prepare(info(f"{images.url}/os.img", raw()), Place())
    assert (image.id, image.disk_format, image.virtual_size, image.local) == ("os.img", "raw", MIB, False)


def test_a_qcow2_image_tells_the_size_of_its_disk(images: ImageServer) -> None:
    images.files["/os.img"] = qcow2()
    image = prepare(info(f"{images.url}/os.img", qcow2(), image_disk_format="qcow2"), Place())
    assert (image.disk_format, image.size, image.virtual_size) == ("qcow2", 65536, 10 << 30)


@pytest.mark.parametrize(("kind", "expected"), [("qcow2", "qcow2"), ("raw", "raw")])
def test_images_of_qemu_img_are_recognised(images: ImageServer, tmp_path: Path, kind: str, expected: str) -> None:
    file = tmp_path / "os.img"
    subprocess.run(["qemu-img", "create", "-q", "-f", kind, str(file), "32M"], check=True)
    images.files["/os.img"] = file.read_bytes()
    image = prepare(info(f"{images.url}/os.img", file.read_bytes()), Place())
    assert (image.disk_format, image.virtual_size) == (expected, 32 * MIB)


def test_a_disc_that_boots_from_a_stick_too_is_a_disc(images: ImageServer) -> None:
    content = bytearray(raw(64 << 10))
    content[0x8000:0x8006] = b"\x01CD001"
    images.files["/os.iso"] = bytes(content)
    assert prepare(info(f"{images.url}/os.iso", bytes(content)), Place()).disk_format == "iso"


@pytest.mark.parametrize(
    ("content", "claim", "said"),
    [
        (qcow2(), "raw", "says raw, but its content is qcow2"),
        (raw(), "qcow2", "says qcow2, but its content is raw"),
        (qcow2(), "vmdk", "image_disk_format is 'vmdk'"),
        (b"conectix" + bytes(2048), None, "it is vhd, and the agent writes only raw, qcow2, iso"),
        (qcow2(backing="/etc/shadow"), "qcow2", "what no image may ask for"),
        (b"", None, "it is empty|HTTP 416"),
    ],
)
def test_an_image_that_is_not_what_it_should_be_is_refused(
    images: ImageServer, content: bytes, claim: str | None, said: str
) -> None:
    images.ranges = bool(content)
    images.files["/os.img"] = content
    with pytest.raises(OperationError, match=said):
        prepare(info(f"{images.url}/os.img", content, image_disk_format=claim), Place())


def test_a_missing_image_is_named(images: ImageServer) -> None:
    with pytest.raises(OperationError, match=rf"{images.url}/gone\.img: the server answered HTTP 404"):
        prepare(info(f"{images.url}/gone.img", b""), Place())


def test_an_image_without_checksum_is_refused(images: ImageServer) -> None:
    images.files["/os.img"] = raw()
    with pytest.raises(OperationError, match="has no checksum"):
        prepare({"image_source": f"{images.url}/os.img"}, Place())


@pytest.mark.parametrize(
    ("instance_info", "said"),
    [
        ({}, "has no image_source"),
        ({"image_source": "oci://registry/os:1"}, "oci:// images are not supported"),
        ({"image_source": "3ba9a1b4-4bbb-4c2e-a8a0-8f6f2a6d2a0e"}, r"\(Glance\) are not supported"),
        ({"image_source": "http://host/os", "image_type": "partition"}, "single partition are not supported"),
        ({"image_source": "http://host/os", "kernel": "http://k", "ramdisk": "http://r"}, "single partition"),
    ],
)
def test_kinds_of_images_that_are_not_supported_say_so(instance_info: dict[str, Any], said: str) -> None:
    with pytest.raises(OperationError, match=said):
        prepare(instance_info, Place())


def test_a_file_is_offered_as_a_link_and_withdrawn(place: Place, tmp_path: Path) -> None:
    assert place.path is not None
    good = tmp_path / "allowed/os image.raw"
    good.write_bytes(raw())
    wish = info(f"file://{tmp_path}/allowed/os%20image.raw", raw())
    assert prepare(wish, place, check_mode=True).changed
    assert not place.path.exists()
    image = prepare(wish, place)
    assert (image.id, image.local, image.changed) == ("os image.raw", True, True)
    assert place.path.samefile(good)
    assert not prepare(wish, place).changed
    assert withdraw(place.path)
    assert not withdraw(place.path)
    assert good.read_bytes() == raw()


def test_a_file_is_read_once_for_all_nodes_of_a_wave_until_it_changes(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digested: list[str] = []
    digest = hashlib.file_digest

    def noted(stream: Any, name: str) -> Any:
        digested.append(name)
        return digest(stream, name)

    monkeypatch.setattr(hashlib, "file_digest", noted)
    file = tmp_path / "allowed/os.raw"
    wish = info(f"file://{file}", raw())
    file.write_bytes(raw())
    with ThreadPoolExecutor(4) as pool:
        places = [Place(tmp_path / f"offered-{node}", place.url, place.allowed) for node in range(4)]
        assert all(image.local for image in pool.map(lambda where: prepare(wish, where), places))
    assert len(digested) == 1
    file.write_bytes(raw() + b"more")
    with pytest.raises(OperationError, match="was wanted"):
        prepare(wish, place)


def test_a_file_whose_checksum_is_wrong_is_not_offered(place: Place, tmp_path: Path) -> None:
    assert place.path is not None
    (tmp_path / "allowed/os.raw").write_bytes(raw())
    with pytest.raises(OperationError, match=r"its sha256 is .* but .* was wanted"):
        prepare(info(f"file://{tmp_path}/allowed/os.raw", b"other"), place)
    assert not place.path.exists()


def test_file_url_escapes(place: Place, tmp_path: Path) -> None:
    """Only regular files in allowed folders are opened, quickly, and a refusal tells nothing of what is there."""
    allowed = tmp_path / "allowed"
    (allowed / "os.raw").write_bytes(raw())
    (allowed / "inner").symlink_to("os.raw")
    (allowed / "outer").symlink_to("/etc/shadow")
    os.mkfifo(allowed / "pipe")
    (tmp_path / "secret").write_bytes(raw())
    bad = [
        *("/etc/shadow", "/dev/zero", f"{allowed}/../../etc/shadow", f"{allowed}/%2e%2e/secret", f"{allowed}/outer"),
        *(f"{allowed}/pipe", f"{allowed}/gone", f"{tmp_path}/gone", f"{allowed}", f"{tmp_path}/allowed-not", "/x%00y"),
    ]
    begin, refusals = time.monotonic(), set()
    for path in bad:
        with pytest.raises(OperationError, match="no regular file that can be read") as caught:
            prepare(info(f"file://{path}", raw()), place)
        refusals.add(str(caught.value).replace(f"file://{path}", "it"))
    assert time.monotonic() - begin < 1
    assert len(refusals) == 1
    for path in ("inner", "os.raw"):
        assert prepare(info(f"file://{allowed}/{path}", raw()), place).local
    for url in (f"file://other.host{allowed}/os.raw", f"file:{allowed.name}/os.raw", f"file://{allowed}/os.raw?x"):
        with pytest.raises(OperationError):
            prepare(info(url, raw()), place)


def test_no_allowed_folder_means_no_file(place: Place, tmp_path: Path) -> None:
    (tmp_path / "allowed/os.raw").write_bytes(raw())
    with pytest.raises(OperationError, match="none is set"):
        prepare(info(f"file://{tmp_path}/allowed/os.raw", raw()), Place(place.path, place.url, []))


def test_the_agent_gets_what_the_contract_names() -> None:
    node = {"uuid": "node-1", "driver_info": {"image_http_proxy": "http://proxy:3128", "image_no_proxy": "host"}}
    image = {"id": "os.raw", "disk_format": "raw", "os_hash_algo": "sha256", "os_hash_value": "ab", "virtual_size": 1}
    assert image_info(image, "http://host/os.raw", node) == {
        "id": "os.raw",
        "urls": ["http://host/os.raw"],
        "disk_format": "raw",
        "container_format": "bare",
        "image_type": "whole-disk",
        "stream_raw_images": True,
        "os_hash_algo": "sha256",
        "os_hash_value": "ab",
        "node_uuid": "node-1",
        "proxies": {"http": "http://proxy:3128"},
        "no_proxy": "host",
    }


def test_an_image_larger_than_the_disk_is_refused_with_both_sizes() -> None:
    image = {"id": "os.qcow2", "virtual_size": 11 << 30}
    with pytest.raises(
        OperationError, match=rf"os\.qcow2 to /dev/sda: .*{11 << 30} bytes and the machine's only {10 << 30}"
    ):
        check_fits(image, {"name": "/dev/sda", "size": 10 << 30})
    check_fits(image, {"name": "/dev/sda", "size": 11 << 30})
    check_fits({"id": "stream", "virtual_size": None}, {"name": "/dev/sda", "size": 1})
