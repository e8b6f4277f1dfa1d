# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import io
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from pycdlib import PyCdlib

from ansible_collections.rackwright.metal.plugins.module_utils._boot_iso import grub_config, kernel_words
from ansible_collections.rackwright.metal.plugins.module_utils._cache import fetch
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.tests.unit.plugins.image_server import ImageServer

Data = dict[str, Any]
PARTS = {"kernel": b"kernel" * 1000, "ramdisk": b"ramdisk" * 5000, "bootloader": b"esp" * 1000}


@pytest.fixture
def options(tmp_path: Path, images: ImageServer) -> Data:
    images.files |= {f"/{name}": content for name, content in PARTS.items()}
    urls = {name: f"{images.url}/{name}" for name in PARTS}
    return {"file": str(tmp_path / "boot.iso"), "cache": str(tmp_path / "cache"), **urls}


def content(file: str, path: str) -> bytes:
    iso, found = PyCdlib(), io.BytesIO()
    iso.open(file)
    iso.get_file_from_iso_fp(found, rr_path=path)
    iso.close()
    return found.getvalue()


def test_the_image_holds_what_a_machine_boots(options: Data, module: Any) -> None:
    parameters = {"ipa-api-url": "http://192.0.2.1:6385", "ipa-agent-token": "canary$token"}
    assert module("boot_iso", **options, parameters=parameters, append="console=ttyS0 quiet")["changed"] is True
    assert content(options["file"], "/vmlinuz") == PARTS["kernel"]
    assert content(options["file"], "/initrd") == PARTS["ramdisk"]
    assert content(options["file"], "/boot/grub/efiboot.img") == PARTS["bootloader"]
    config = content(options["file"], "/EFI/BOOT/grub.cfg").decode()
    line = "linux /vmlinuz 'ipa-api-url=http://192.0.2.1:6385' 'ipa-agent-token=canary$token' 'console=ttyS0' 'quiet'"
    assert line in config
    assert "set timeout=0" in config
    image = Path(options["file"]).read_bytes()
    assert image[16 * 2048 + 40 : 16 * 2048 + 55] == b"VMEDIA_BOOT_ISO"
    assert Path(options["file"]).stat().st_mode & 0o007 == 0


def test_the_firmware_finds_the_bootloader(options: Data, module: Any) -> None:
    module("boot_iso", **options)
    image = Path(options["file"]).read_bytes()
    catalog = 2048 * int.from_bytes(image[17 * 2048 + 71 : 17 * 2048 + 75], "little")
    validation, entry = image[catalog : catalog + 32], image[catalog + 32 : catalog + 64]
    assert (validation[0], validation[1]) == (1, 0xEF)
    assert (entry[0], entry[1]) == (0x88, 0)
    sectors, start = int.from_bytes(entry[6:8], "little"), 2048 * int.from_bytes(entry[8:12], "little")
    size = len(PARTS["bootloader"])
    assert image[start : start + size] == PARTS["bootloader"]
    assert sectors == -(-size // 512)


def test_an_image_of_the_same_parts_is_not_built_again(options: Data, module: Any) -> None:
    assert module("boot_iso", **options, append="a=1")["changed"] is True
    assert module("boot_iso", **options, append="a=1")["changed"] is False
    assert module("boot_iso", **options, append="a=2", _ansible_check_mode=True)["changed"] is True
    assert b"a=1" in content(options["file"], "/EFI/BOOT/grub.cfg")
    assert module("boot_iso", **options, append="a=2")["changed"] is True


def test_an_image_is_removed_once(options: Data, module: Any) -> None:
    module("boot_iso", **options)
    assert module("boot_iso", file=options["file"], state="absent")["changed"] is True
    assert not Path(options["file"]).exists()
    assert module("boot_iso", file=options["file"], state="absent")["changed"] is False


def test_a_ready_image_is_taken_as_it_is(options: Data, images: ImageServer, module: Any) -> None:
    images.files["/ready.iso"] = b"ready"
    ready = {"iso": f"{images.url}/ready.iso"}
    assert module("boot_iso", **options, **ready)["changed"] is True
    assert Path(options["file"]).read_bytes() == b"ready"
    assert module("boot_iso", **options, **ready)["changed"] is False


def test_a_failed_download_leaves_no_image(options: Data, images: ImageServer, module: Any) -> None:
    del images.files["/ramdisk"]
    assert "HTTP 404" in module("boot_iso", **options)["msg"]
    assert list(Path(options["file"]).parent.glob("boot.iso*")) == []


def test_what_is_missing_is_named(options: Data, module: Any) -> None:
    del options["bootloader"]
    assert "It is not known where to find: bootloader." in module("boot_iso", **options)["msg"]


def test_a_machine_in_bios_mode_needs_a_ready_image(options: Data, module: Any) -> None:
    assert "boots in UEFI mode only" in module("boot_iso", **options, mode="bios")["msg"]


@pytest.mark.parametrize("value", ["a'b", 'a"b', "a\\b", "a\nb", "a\x00b"])
def test_a_value_that_grub_could_misread_is_refused(value: str) -> None:
    with pytest.raises(OperationError, match="pass ipa-api-url to the kernel"):
        kernel_words({"ipa-api-url": value}, None)


@pytest.mark.parametrize("name", ["a b", "$(x)", "", "a;b", "'"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(OperationError, match="it is no name of a parameter"):
        kernel_words({name: "1"}, None)


def test_signs_of_the_shell_are_kept_as_they_are() -> None:
    words = kernel_words({"a": "$(x); `y` {z} & |"}, 'sshkey="ssh-rsa AAAA me"')
    assert "  linux /vmlinuz 'a=$(x); `y` {z} & |' 'sshkey=ssh-rsa AAAA me'\n" in grub_config(words)


def test_a_changed_file_is_downloaded_again_and_an_unchanged_one_is_not(tmp_path: Path, images: ImageServer) -> None:
    images.files["/k"], images.etags = b"one", {"/k": '"1"'}
    first = fetch(f"{images.url}/k", tmp_path)
    stamp = first.stat().st_mtime_ns
    assert fetch(f"{images.url}/k", tmp_path) == first
    assert first.stat().st_mtime_ns == stamp
    images.files["/k"], images.etags = b"two", {"/k": '"2"'}
    assert fetch(f"{images.url}/k", tmp_path).read_bytes() == b"two"
    assert len([file for file in tmp_path.iterdir() if "-" in file.name]) == 1


def test_each_use_of_a_kept_file_is_to_be_seen_at_its_lock_so_that_it_stays(
    tmp_path: Path, images: ImageServer
) -> None:
    images.files["/k"], images.etags = b"one", {"/k": '"1"'}
    fetch(f"{images.url}/k", tmp_path)
    (lock,) = tmp_path.glob("*.lock")
    os.utime(lock, (0, 0))
    fetch(f"{images.url}/k", tmp_path)
    assert lock.stat().st_mtime > 0


def test_many_at_once_get_the_same_file(tmp_path: Path, images: ImageServer) -> None:
    images.files["/k"], images.etags = b"x" * 100_000, {"/k": '"1"'}
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: found.append(fetch(f"{images.url}/k", tmp_path).read_bytes()))
        for _thread in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [b"x" * 100_000] * 8


def test_a_file_url_must_lie_in_an_allowed_folder(tmp_path: Path) -> None:
    inside, outside = tmp_path / "images", tmp_path / "secret"
    inside.mkdir()
    outside.write_text("secret")
    (inside / "kernel").write_text("kernel")
    (inside / "link").symlink_to(outside)
    allowed = [str(inside)]
    assert fetch(f"file://{inside}/kernel", tmp_path, allowed=allowed).read_text() == "kernel"
    for path in (outside, inside / "../secret", inside / "link"):
        with pytest.raises(OperationError, match="does not lie in a folder"):
            fetch(f"file://{path}", tmp_path, allowed=allowed)
