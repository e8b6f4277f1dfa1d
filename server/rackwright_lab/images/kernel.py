# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Debian's cloud kernel: virtio only, half the size of the generic one. Never installed."""

import re
from dataclasses import dataclass
from pathlib import Path

from rackwright_lab.commands import run
from rackwright_lab.errors import LabError

_META_PACKAGE = "linux-image-cloud-amd64"


@dataclass(frozen=True)
class Kernel:
    """A kernel package, unpacked in a folder."""

    root: Path
    version: str

    @property
    def image(self) -> Path:
        """The file to boot."""
        return self.root / "boot" / f"vmlinuz-{self.version}"

    def list_modules(self, *names: str) -> list[Path]:
        """Return the files of modules and of those that they depend on, in loading order."""
        files: dict[Path, None] = {}
        for name in names:
            for line in run(
                "modprobe", "--dirname", self.root, "--set-version", self.version, "--show-depends", name
            ).split("\n"):
                kind, _, file = line.strip().partition(" ")
                if kind == "insmod":
                    files[Path(file.strip())] = None
        return list(files)


def find_package() -> str:
    """Return name and version of the newest kernel's package, as apt-get takes them.

    Raises:
        LabError: apt knows none.
    """
    description = run("apt-cache", "show", "--no-all-versions", _META_PACKAGE)
    found = re.search(r"^Depends:.*?(linux-image-[^ ,]+) \(= ([^)]+)\)", description, re.MULTILINE)
    if found is None:
        raise LabError(f"Could not find a kernel: apt says nothing useful of {_META_PACKAGE}. Run apt-get update.")
    return "=".join(found.groups())


def fetch(package: str, root: Path) -> Kernel:
    """Download a kernel's package and unpack it in a new folder."""
    root.mkdir()
    run("apt-get", "download", package, directory=root)
    for file in root.glob("*.deb"):
        run("dpkg", "--extract", file, root)
    (modules,) = (root / "lib" / "modules").iterdir()
    run("depmod", "--basedir", root, modules.name)
    return Kernel(root, modules.name)
