# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the ISO image with which a machine boots the agent's ramdisk from virtual media, in UEFI mode.

The image holds ``vmlinuz``, ``initrd`` and ``EFI/BOOT/grub.cfg``; its El Torito entry for EFI is the bootloader, an
image of an EFI system partition whose GRUB goes on with that grub.cfg.
"""

from __future__ import annotations

import filecmp
import hashlib
import io
import re
import shlex
import shutil
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ansible.module_utils.basic import missing_required_lib

from ansible_collections.rackwright.metal.plugins.module_utils._cache import fetch
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError

try:
    from pycdlib import PyCdlib
except ImportError:
    PYCDLIB_MISSING: str | None = traceback.format_exc()
else:
    PYCDLIB_MISSING = None

ARGUMENTS: dict[str, dict[str, Any]] = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "file": {"type": "path", "required": True},
    "cache": {"type": "path"},
    "kernel": {"type": "str"},
    "ramdisk": {"type": "str"},
    "bootloader": {"type": "str"},
    "iso": {"type": "str"},
    "parameters": {"type": "dict", "default": {}},
    "append": {"type": "str"},
    "mode": {"type": "str", "choices": ["uefi", "bios"], "default": "uefi"},
    "allowed_paths": {"type": "list", "elements": "path"},
}
RULES: dict[str, Any] = {"required_if": [("state", "present", ("cache",))]}
PARTS = ("kernel", "ramdisk", "bootloader")
LABEL = "VMEDIA_BOOT_ISO"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f'\"\\]")
_SECTOR = 512
_MOST_SECTORS = 0xFFFF
_MARK_AT = 16 * 2048 + 574  # application identifier of the primary volume descriptor, ECMA-119 section 8.4


def make(params: Mapping[str, Any], *, check: bool) -> bool:
    """Make the image be there, or not be there; return whether that changes something. Raise OperationError."""
    file = Path(params["file"])
    if params["state"] == "absent":
        exists = file.exists()
        if exists and not check:
            file.unlink()
        return exists
    changes, fill = _copying(params, file) if params["iso"] else _building(params, file)
    if changes and not check:
        with _replaced(file) as target:
            fill(target)
    return changes


def kernel_words(parameters: Mapping[str, Any], append: str | None) -> list[str]:
    """Return the kernel's command line as words; raise OperationError for what cannot be passed on it.

    Neither the kernel nor GRUB could be told a quote, a backslash or a control character in a way that both understand.
    """
    try:
        words = [f"{name}={value}" for name, value in parameters.items()] + shlex.split(append or "")
    except ValueError as error:
        raise _unpassable("kernel_append_params", str(error)) from error
    for name in parameters:
        if not _NAME.fullmatch(name):
            raise _unpassable(repr(name), "it is no name of a parameter")
    for word in words:
        if _UNSAFE.search(word):
            raise _unpassable(word.partition("=")[0], "it holds a quote, a backslash or a control character")
    return words


def grub_config(words: list[str]) -> str:
    """Return a grub.cfg that boots at once; in single quotes GRUB takes every character as it is."""
    line = " ".join(f"'{word}'" for word in words)
    return (
        f"set default=0\nset timeout=0\nmenuentry 'Boot the agent' {{\n  linux /vmlinuz {line}\n  initrd /initrd\n}}\n"
    )


def _unpassable(what: str, reason: str) -> OperationError:
    return OperationError(f"pass {what} to the kernel", f"That is not possible: {reason}.", "Correct it.")


def _check_parts(params: Mapping[str, Any]) -> None:
    missing = [part for part in PARTS if not params[part]]
    if missing:
        raise OperationError(
            "build the boot image",
            f"It is not known where to find: {', '.join(missing)}.",
            "Set deploy_kernel, deploy_ramdisk and bootloader, or deploy_iso, in driver_info or in the settings.",
        )
    if params["mode"] != "uefi":
        raise OperationError(
            "build the boot image",
            "The machine boots in BIOS mode, and an image that is built here boots in UEFI mode only.",
            "Set the capability boot_mode:uefi, or give a deploy_iso.",
        )


def _copying(params: Mapping[str, Any], file: Path) -> tuple[bool, Callable[[BinaryIO], None]]:
    """Return whether an image that was given has to be copied, and how."""
    source = _fetch(params, "iso")

    def fill(target: BinaryIO) -> None:
        with source.open("rb") as content:
            shutil.copyfileobj(content, target, 1 << 20)

    return not (file.is_file() and filecmp.cmp(source, file, shallow=False)), fill


def _building(params: Mapping[str, Any], file: Path) -> tuple[bool, Callable[[BinaryIO], None]]:
    """Return whether an image has to be built, and how; it tells by a mark what it was built of."""
    if PYCDLIB_MISSING:
        raise OperationError("build the boot image", missing_required_lib("pycdlib"), "Install it for this Python.")
    _check_parts(params)
    config = grub_config(kernel_words(params["parameters"], params["append"])).encode()
    parts = [_fetch(params, part) for part in PARTS]
    mark = _mark(config, parts)
    return _read_mark(file) != mark, lambda target: _build(target, config, parts, mark)


def _mark(config: bytes, parts: list[Path]) -> bytes:
    known = [f"{part} {part.stat().st_size} {part.stat().st_mtime_ns}".encode() for part in parts]
    return hashlib.sha256(b"\n".join([config, *known])).hexdigest().encode()


def _read_mark(file: Path) -> bytes:
    if not file.is_file():
        return b""
    with file.open("rb") as image:
        image.seek(_MARK_AT)
        return image.read(64)


def _build(target: BinaryIO, config: bytes, parts: list[Path], mark: bytes) -> None:
    with ExitStack() as stack:
        kernel, ramdisk, bootloader = (stack.enter_context(part.open("rb")) for part in parts)
        iso = PyCdlib()
        iso.new(interchange_level=3, rock_ridge="1.09", vol_ident=LABEL, app_ident_str=mark.decode())
        stack.callback(iso.close)
        for path, name in (("/EFI", "EFI"), ("/EFI/BOOT", "BOOT"), ("/BOOT", "boot"), ("/BOOT/GRUB", "grub")):
            iso.add_directory(path, rr_name=name)
        _add(iso, kernel, "/VMLINUZ.;1", "vmlinuz")
        _add(iso, ramdisk, "/INITRD.;1", "initrd")
        _add(iso, io.BytesIO(config), "/EFI/BOOT/GRUB.CFG;1", "grub.cfg")
        size = _add(iso, bootloader, "/BOOT/GRUB/EFIBOOT.IMG;1", "efiboot.img")
        sectors = -(-size // _SECTOR)
        iso.add_eltorito(
            "/BOOT/GRUB/EFIBOOT.IMG;1",
            bootcatfile="/BOOT.CAT;1",
            rr_bootcatname="boot.cat",
            platform_id=0xEF,
            efi=True,
            boot_load_size=sectors if sectors <= _MOST_SECTORS else 1,  # firmware takes 1 for "to the end"
        )
        iso.write_fp(target)


def _add(iso: PyCdlib, source: BinaryIO, path: str, name: str) -> int:
    size = source.seek(0, io.SEEK_END)
    source.seek(0)
    iso.add_fp(source, size, path, rr_name=name)
    return size


def _fetch(params: Mapping[str, Any], part: str) -> Path:
    return fetch(params[part], Path(params["cache"]), allowed=params["allowed_paths"])


@contextmanager
def _replaced(file: Path) -> Iterator[BinaryIO]:
    """Give a file to write; it takes the place of ``file`` only when all went well."""
    part = file.with_name(f"{file.name}.part")
    try:
        with part.open("w+b") as target:
            yield target
        part.chmod(0o640)
        part.rename(file)
    except OSError as error:
        cause = f"{error.strerror or error} ({error.filename or part})."
        raise OperationError("build the boot image", cause, "Check the disk space and the folder's owner.") from error
    finally:
        part.unlink(missing_ok=True)
