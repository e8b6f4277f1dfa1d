# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The tree of a small system that boots from memory, put together from this machine's packages."""

import os
import shutil
import stat
import subprocess
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from rackwright_lab.commands import find_program, run
from rackwright_lab.errors import LabError
from rackwright_lab.images.kernel import Kernel

_FOLDERS = (
    "dev etc/acpi/PWRF mnt proc root run sys tmp usr/bin usr/sbin usr/lib/modules usr/lib64 var/lib var/log var/tmp"
)
_MODULES = "virtio_pci virtio_net virtio_blk virtio_scsi virtio_rng sd_mod isofs vfat nls_ascii nls_cp437 button evdev"


class Tree:
    """A tree in Debian's layout, with busybox and the start that all inits share."""

    def __init__(self, root: Path, kernel: Kernel) -> None:
        """Make the tree in a new folder."""
        self.root = root
        self._kernel = kernel
        root.mkdir()
        for name in ("bin", "sbin", "lib", "lib64"):
            (root / name).symlink_to(f"usr/{name}")
        for folder in _FOLDERS.split():
            self._target(Path("/", folder)).mkdir(parents=True, exist_ok=True)
        os.mknod(root / "dev/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.mknod(root / "dev/console", stat.S_IFCHR | 0o600, os.makedev(5, 1))
        self.add_programs("busybox")
        self.add_script("common", "/etc/init-common")
        self.add_script("on-lease", "/etc/on-lease")
        for name in ("poweroff", "reboot"):
            self.add_script(name, f"/usr/sbin/{name}")
        (root / "etc/acpi/PWRF/00000080").symlink_to("/usr/sbin/poweroff")  # the power button
        self.add_modules(*_MODULES.split())

    def add_files(self, *paths: Path) -> None:
        """Add files at the same path, with the libraries that they need."""
        self._copy(paths)
        self.add_libraries_of(*paths)

    def add_libraries_of(self, *paths: Path) -> None:
        """Add the libraries that files need."""
        self._copy(_libraries(paths))

    def add_programs(self, *names: str) -> None:
        """Add programs by name, with the libraries that they need."""
        self.add_files(*(find_program(name) for name in names))

    def add_script(self, name: str, target: str) -> None:
        """Add one of the scripts in the folder ``boot``."""
        path = self._target(Path(target))
        path.write_text(resources.files("rackwright_lab.images").joinpath("boot", name).read_text())
        path.chmod(0o755)

    def add_modules(self, *names: str) -> None:
        """Add kernel modules; ``/modules`` lists them in loading order, so boot needs no modprobe."""
        with (self.root / "modules").open("a") as listing:
            for file in self._kernel.list_modules(*names):
                target = self.root / "lib/modules" / file.name
                if not target.exists():
                    shutil.copy(file, target)
                    listing.write(f"/lib/modules/{file.name}\n")

    def pack(self, out: Path) -> None:
        """Write the tree as an initramfs, with busybox for each command that it lacks.

        It is compressed with lz4, which unpacks fastest where the processor is emulated.
        """
        for applet in run("busybox", "--list").split():
            if not any((self.root / "usr" / folder / applet).exists() for folder in ("bin", "sbin")):
                (self.root / "usr/bin" / applet).symlink_to("busybox")
        names = sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*"))
        cpio = ["cpio", "--null", "--create", "--format=newc", "--owner=0:0", "--quiet"]
        lz4 = ["lz4", "-l", "-9", "-q", "-f", "-", str(out)]
        with (
            subprocess.Popen(cpio, cwd=self.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as archive,
            subprocess.Popen(lz4, stdin=archive.stdout) as packed,
        ):
            assert archive.stdin is not None
            archive.stdin.write(b"\0".join(os.fsencode(name) for name in names) + b"\0")
            archive.stdin.close()
        if archive.returncode or packed.returncode:
            raise LabError(f"Could not pack {out.name}: cpio or lz4 failed. See the messages above.")

    def _copy(self, paths: Iterable[Path]) -> None:
        for path in paths:
            target = self._target(path)
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)

    def _target(self, path: Path) -> Path:
        return self.root / path.relative_to("/")


def _libraries(paths: Iterable[Path]) -> set[Path]:
    files = [str(path) for path in paths]
    if not files:
        return set()
    # It fails for files that need none, and says for each of the others what it needs.
    listing = subprocess.run(["ldd", *files], check=False, capture_output=True, text=True).stdout
    found = set()
    for line in listing.split("\n"):
        words = line.split()
        if "=>" in words and words[words.index("=>") + 1].startswith("/"):
            found.add(Path(words[words.index("=>") + 1]))
        elif len(words) == 2 and words[0].startswith("/"):
            found.add(Path(words[0]))  # the loader
    return found
