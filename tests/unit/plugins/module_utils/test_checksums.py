# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._checksums import Checksum, choose, file_name, wanted
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.tests.unit.plugins.image_server import ImageServer

SHA256 = hashlib.sha256(b"x").hexdigest()
SHA512 = hashlib.sha512(b"x").hexdigest()
OTHER = hashlib.sha256(b"y").hexdigest()


@pytest.mark.parametrize(
    "instance_info",
    [
        {"image_os_hash_algo": "sha256", "image_os_hash_value": SHA256},
        {"image_os_hash_algo": "SHA-256", "image_os_hash_value": SHA256.upper()},
        {"image_os_hash_value": SHA256},
        {"image_checksum": SHA256},
    ],
)
def test_a_checksum_is_taken_from_any_of_its_fields(instance_info: dict[str, str]) -> None:
    assert wanted(instance_info, "os.raw") == Checksum("sha256", SHA256)


@pytest.mark.parametrize(
    ("instance_info", "said"),
    [
        ({}, "has no checksum"),
        ({"image_checksum": hashlib.md5(b"x").hexdigest()}, "is md5, which proves nothing"),
        ({"image_checksum": hashlib.sha1(b"x").hexdigest()}, "is sha1, which proves nothing"),
        (
            {"image_os_hash_algo": "sha512", "image_os_hash_value": SHA256},
            "sha512, but the value has the length of sha256",
        ),
        ({"image_checksum": "zz"}, "neither a URL nor a hexadecimal value"),
        ({"image_checksum": SHA256[:40] + "zz"}, "neither a URL nor a hexadecimal value"),
    ],
)
def test_a_checksum_that_cannot_be_used_is_an_error(instance_info: dict[str, str], said: str) -> None:
    with pytest.raises(OperationError, match=said):
        wanted(instance_info, "os.raw")


@pytest.mark.parametrize("options", [(), ("--tag",)], ids=["gnu", "bsd"])
def test_the_files_of_real_tools_are_understood(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "os.raw").write_bytes(b"x")
    (tmp_path / "os.raw.gz").write_bytes(b"y")
    command = [shutil.which("sha256sum") or "", *options, "./os.raw.gz", "./os.raw"]
    listed = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert choose(listed, "os.raw") == Checksum("sha256", SHA256)


def test_a_signed_file_with_several_algorithms_gives_the_strongest() -> None:
    listed = f"""-----BEGIN PGP SIGNED MESSAGE-----
Hash: SHA256

# os.raw: 1234 bytes
SHA256 (os.raw) = {SHA256}
SHA512 (os.raw) = {SHA512}
SHA256 (other.raw) = {OTHER}
"""
    assert choose(listed, "os.raw") == Checksum("sha512", SHA512)
    assert choose(listed, "os.raw", algorithm="sha256") == Checksum("sha256", SHA256)


def test_a_file_with_a_value_alone_belongs_to_the_image() -> None:
    assert choose(f"{SHA256}\n", "os.raw") == Checksum("sha256", SHA256)


def test_a_file_about_other_images_is_an_error_that_names_them() -> None:
    with pytest.raises(OperationError, match=r"no checksum line for os\.raw; it names a\.raw, b\.raw"):
        choose(f"{SHA256}  a.raw\n{OTHER} *b.raw\n", "os.raw")


def test_a_checksum_is_read_from_its_url() -> None:
    with ImageServer().running() as server:
        server.files["/SHA256SUMS"] = f"{OTHER}  a.raw\n{SHA256}  os.raw\n".encode()
        server.files["/huge"] = bytes(2 << 20)
        assert wanted({"image_checksum": f"{server.url}/SHA256SUMS"}, "os.raw") == Checksum("sha256", SHA256)
        with pytest.raises(OperationError, match="HTTP 404"):
            wanted({"image_checksum": f"{server.url}/gone"}, "os.raw")
        with pytest.raises(OperationError, match="larger than"):
            wanted({"image_checksum": f"{server.url}/huge"}, "os.raw")


def test_the_file_name_of_a_url_is_decoded() -> None:
    assert file_name("https://host/dir/os%20image.raw?x=/y") == "os image.raw"


def test_a_checksum_file_of_this_host_is_read_below_the_allowed_folders_only(tmp_path: Path) -> None:
    (tmp_path / "CHECKSUMS").write_text(f"{SHA256}  os.raw\n")
    source = {"image_checksum": (tmp_path / "CHECKSUMS").as_uri()}
    assert wanted(source, "os.raw", [str(tmp_path)]) == Checksum("sha256", SHA256)
    with pytest.raises(OperationError, match="allowed folder"):
        wanted(source, "os.raw", [str(tmp_path / "other")])
