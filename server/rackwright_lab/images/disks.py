# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Disk images: the boot loader of discs, and a small system to deploy."""

import shutil
from pathlib import Path

from rackwright_lab.commands import run
from rackwright_lab.images.kernel import Kernel
from rackwright_lab.images.tree import Tree

# GRUB goes on with the configuration of the disc that it came from.
_GRUB_CONFIG = """\
search --no-floppy --set=root --file /EFI/BOOT/grub.cfg
configfile /EFI/BOOT/grub.cfg
"""
_GRUB_MODULES = "iso9660 fat part_gpt normal configfile linux search search_fs_file"
_BOOT_LOADER_SIZE = 1440  # KiB: the size of a floppy, which El Torito knows
_STUB = Path("/usr/lib/systemd/boot/efi/linuxx64.efi.stub")
_COMMAND_LINE = "console=ttyS0 quiet no_timer_check"  # of the deployed system
_ADDRESSES = {".cmdline": 0x30000, ".linux": 0x2000000, ".initrd": 0x4000000}
_FIRST_SECTOR = 2048
_SECTORS_PER_KIB = 2
_TAIL = 1024  # KiB behind the partition, for the second partition table


def build_boot_loader(work: Path) -> None:
    """Write esp.img in a folder: a file system with GRUB, the El Torito image of a disc."""
    config, grub = work / "grub-early.cfg", work / "grub.efi"
    config.write_text(_GRUB_CONFIG)
    run("grub-mkimage", "-O", "x86_64-efi", "-o", grub, "-c", config, "-p", "/EFI/BOOT", *_GRUB_MODULES.split())
    _make_esp(work / "esp.img", grub, _BOOT_LOADER_SIZE)


def build_system(work: Path, kernel: Kernel) -> None:
    """Write lab-os.raw and lab-os.qcow2 in a folder: the whole disk of a system.

    Its one partition has one file, a kernel joined with its initramfs, whose init reads the
    config drive and says on the serial port who it is.
    """
    tree = Tree(work / "os", kernel)
    tree.add_programs("blkid")
    tree.add_script("os", "/init")
    tree.pack(work / "os.initramfs")
    program = work / "os.efi"
    _join(program, kernel.image, work / "os.initramfs")

    size = program.stat().st_size // 1024 + 1024  # KiB
    partition, disk = work / "os.esp", work / "lab-os.raw"
    _make_esp(partition, program, size)
    start = _FIRST_SECTOR // _SECTORS_PER_KIB  # KiB
    with disk.open("wb") as file:
        file.truncate((start + size + _TAIL) * 1024)
    last = _FIRST_SECTOR + size * _SECTORS_PER_KIB - 1
    run("sgdisk", f"--new=1:{_FIRST_SECTOR}:{last}", "--typecode=1:ef00", "--change-name=1:ESP", disk)
    with partition.open("rb") as source, disk.open("r+b") as file:
        file.seek(start * 1024)
        shutil.copyfileobj(source, file)
    run("qemu-img", "convert", "-c", "-O", "qcow2", disk, work / "lab-os.qcow2")


def _join(program: Path, kernel: Path, initramfs: Path) -> None:
    command_line = program.with_suffix(".cmdline")
    command_line.write_text(_COMMAND_LINE)
    files = {".cmdline": command_line, ".linux": kernel, ".initrd": initramfs}
    sections = [
        word
        for name, file in files.items()
        for word in ("--add-section", f"{name}={file}", "--change-section-vma", f"{name}={_ADDRESSES[name]:#x}")
    ]
    run("objcopy", *sections, _STUB, program)


def _make_esp(image: Path, program: Path, size: int) -> None:
    """Write a FAT file system of some KiB whose boot program is the one given."""
    run("mkfs.vfat", "-C", "-n", "ESP", image, str(size))
    run("mmd", "-i", image, "::/EFI", "::/EFI/BOOT")
    run("mcopy", "-i", image, program, "::/EFI/BOOT/BOOTX64.EFI")
