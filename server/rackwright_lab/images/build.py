# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Builds the images once for each set of inputs."""

import fcntl
import hashlib
import json
import shutil
import sys
import tempfile
from importlib import resources
from pathlib import Path

from rackwright_lab.commands import run
from rackwright_lab.images import disks, kernel, ramdisk

IMAGES = ("deploy.kernel", "deploy.initramfs", "esp.img", "lab-os.raw", "lab-os.qcow2")
_MARKER = ".inputs.json"  # written last: with it the images are whole
_CHUNK = 1 << 20  # bytes


def build_images(out: Path) -> bool:
    """Have the images of now in a folder, with their checksums; return whether they were built.

    They are built beside the old ones and then take their place. ``CHECKSUMS`` is what
    ``sha256sum --check`` reads; ``NAME.sha256`` has the line of one image.

    Raises:
        LabError: a program or package is missing, or one of them failed.
    """
    out.mkdir(parents=True, exist_ok=True)
    with (out / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        inputs = find_inputs()
        if is_current(out, inputs):
            return False
        for leftover in out.glob(".build-*"):
            shutil.rmtree(leftover)
        with tempfile.TemporaryDirectory(dir=out, prefix=".build-") as work:
            _build(Path(work), str(inputs["kernel"]))
            publish(Path(work), out, inputs)
    return True


def find_inputs() -> dict[str, object]:
    """Return all that the images are made of, by version or digest.

    Raises:
        LabError: one of the Debian packages is not installed, or apt knows no kernel.
    """
    package = resources.files("rackwright_lab")
    names = [line for line in package.joinpath("packages.txt").read_text().split("\n") if line and line[0] != "#"]
    versions = run("dpkg-query", "--show", "--showformat=${Package} ${Version}\n", "python3", *names)
    return {
        "agent": ramdisk.AGENT,
        "kernel": kernel.find_package(),
        "packages": sorted(versions.split("\n")),
        "sources": _digest_sources(),
        "python": sys.implementation.cache_tag,
    }


def _digest_sources() -> str:
    digest = hashlib.sha256()
    folder = Path(str(resources.files("rackwright_lab.images")))
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def is_current(out: Path, inputs: dict[str, object]) -> bool:
    """Whether a folder has whole images made of these inputs."""
    marker = out / _MARKER
    is_whole = marker.exists() and all((out / name).exists() for name in (*IMAGES, "CHECKSUMS"))
    return is_whole and json.loads(marker.read_text()) == inputs


def _build(work: Path, kernel_package: str) -> None:
    unpacked = kernel.fetch(kernel_package, work / "kernel")
    shutil.copyfile(unpacked.image, work / "deploy.kernel")
    ramdisk.build(work, unpacked)
    disks.build_boot_loader(work)
    disks.build_system(work, unpacked)


def publish(work: Path, out: Path, inputs: dict[str, object]) -> None:
    """Move the images from one folder to another of the same file system, with their checksums."""
    lines = {name: f"{_digest(work / name)}  {name}\n" for name in IMAGES}
    texts = {f"{name}.sha256": line for name, line in lines.items()}
    texts["CHECKSUMS"] = "".join(lines.values())
    texts[_MARKER] = json.dumps(inputs, indent=2) + "\n"
    for name, text in texts.items():
        (work / name).write_text(text)
    (out / _MARKER).unlink(missing_ok=True)
    for name in (*IMAGES, *texts):  # the marker is the last of them
        (work / name).replace(out / name)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
