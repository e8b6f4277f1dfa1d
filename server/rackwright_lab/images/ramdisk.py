# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The deploy ramdisk: a small system that runs the real ironic-python-agent."""

import json
import shutil
import subprocess
from pathlib import Path

from rackwright_lab.commands import run
from rackwright_lab.images.kernel import Kernel
from rackwright_lab.images.tree import Tree

AGENT = "ironic-python-agent==13.0.0"

_PYTHON = "/usr/bin/python3"
# What the agent runs, as far as busybox's own lack the options that it uses.
_PROGRAMS = (
    "lsblk blkid blockdev blkdiscard wipefs partx mount umount findmnt sgdisk parted partprobe mdadm mkfs.vfat"
    " efibootmgr hdparm qemu-img dd shred lshw lscpu file fuser udevadm ldconfig"
)
_UDEV = Path("/usr/lib/udev")
_UDEV_FILES = (
    "scsi_id ata_id cdrom_id rules.d/50-udev-default.rules rules.d/60-block.rules rules.d/60-cdrom_id.rules"
    " rules.d/60-persistent-storage.rules"
)
_GROUPS = {
    "root": 0, "tty": 5, "disk": 6, "lp": 7, "kmem": 15, "dialout": 20, "cdrom": 24, "tape": 26, "audio": 29,
    "video": 44, "input": 103, "kvm": 104, "render": 105, "sgx": 106,
}  # fmt: skip  # udev's rules name them
# Parts of Python and of its packages that the agent never imports.
_UNUSED_STANDARD = (
    "__pycache__ test _test* idlelib tkinter lib2to3 ensurepip pydoc_data config-3* _codecs_* *sqlite3* *curses*"
    " dist-packages"
)
_UNUSED_PACKAGES = "__pycache__ tests pip pip-* setuptools* *distutils* pkg_resources oui.txt"
_LAUNCHER = f"#!{_PYTHON}\nfrom ironic_python_agent.cmd.agent import run\nrun()\n"
# Loaded by name while the agent runs, so no file says that it needs them.
_LOADED_LIBRARIES = ("libgcc_s.so.1", "libudev.so.1", "libnss_dns.so.2")
_IMPORTS = """
import pyudev
from ironic_python_agent.cmd import agent
from ironic_python_agent.extensions import base
pyudev.Context()
base.init_ext_manager(None)
"""


def build(work: Path, kernel: Kernel) -> None:
    """Write deploy.initramfs in a folder.

    Raises:
        LabError: a program failed, or the agent can't be imported in what was built.
    """
    tree = Tree(work / "ramdisk", kernel)
    tree.add_modules("sr_mod", "efivarfs", "loop")
    tree.add_programs(*_PROGRAMS.split())
    tree.add_files(*(_UDEV / name for name in _UDEV_FILES.split()))
    (tree.root / "usr/sbin/systemd-udevd").symlink_to("/usr/bin/udevadm")
    _add_python(tree, work)
    _add_settings(tree.root)
    tree.add_script("ramdisk", "/init")
    tree.pack(work / "deploy.initramfs")
    _prove(tree.root)


def _add_python(tree: Tree, work: Path) -> None:
    question = "import json, sys, sysconfig; print(json.dumps([sys.version_info[:2], sysconfig.get_path('stdlib')]))"
    (major, minor), standard = json.loads(run(_PYTHON, "-c", question))
    program = f"python{major}.{minor}"
    tree.add_files(Path("/usr/bin", program))
    (tree.root / "usr/bin/python3").symlink_to(program)
    standard_copy = tree.root / str(standard).lstrip("/")
    shutil.copytree(standard, standard_copy, ignore=shutil.ignore_patterns(*_UNUSED_STANDARD.split()))

    venv = work / "agent"
    run(_PYTHON, "-m", "venv", venv)
    # Isolated: what PYTHONPATH shows is not in the ramdisk.
    pip = (venv / "bin/python", "-I", "-m", "pip")
    run(*pip, "install", "--quiet", "--no-compile", "--disable-pip-version-check", AGENT)
    packages = tree.root / "usr/lib/python3/dist-packages"
    shutil.copytree(
        venv / "lib" / program / "site-packages", packages, ignore=shutil.ignore_patterns(*_UNUSED_PACKAGES.split())
    )
    launcher = tree.root / "usr/bin/ironic-python-agent"
    launcher.write_text(_LAUNCHER)
    launcher.chmod(0o755)
    _compile(tree.root, standard_copy, packages)
    extensions = [path for folder in (standard_copy, packages) for path in folder.rglob("*.so*")]
    _add_libraries(tree, extensions)


def _compile(root: Path, *folders: Path) -> None:
    """Put byte code in the place of the sources: smaller, and imported faster."""
    command = [_PYTHON, "-m", "compileall", "-q", "-b", "-s", str(root), "--invalidation-mode", "unchecked-hash"]
    # A few files are templates, not Python: it fails for them, and they stay.
    subprocess.run([*command, *folders], check=False, capture_output=True)
    for folder in folders:
        for source in folder.rglob("*.py"):
            if source.with_suffix(".pyc").exists():
                source.unlink()


def _add_libraries(tree: Tree, extensions: list[Path]) -> None:
    cache = run("ldconfig", "--print-cache").split("\n")
    known = {line.split()[0]: Path(line.split()[-1]) for line in reversed(cache) if "x86-64" in line and "=>" in line}
    tree.add_files(*(known[name] for name in _LOADED_LIBRARIES))
    tree.add_libraries_of(*extensions)


def _add_settings(root: Path) -> None:
    shutil.copy("/etc/ld.so.conf", root / "etc")
    shutil.copytree("/etc/ld.so.conf.d", root / "etc/ld.so.conf.d")
    run("ldconfig", "-r", root)
    (root / "etc/ipa-rescue-config").mkdir()  # where the agent writes the password of a rescue
    (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    (root / "etc/group").write_text("".join(f"{name}:x:{number}:\n" for name, number in _GROUPS.items()))
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n")


def _prove(root: Path) -> None:
    """Import all that the agent imports, inside the tree."""
    run("unshare", "--fork", "--pid", "--mount-proc", f"--root={root}", _PYTHON, "-c", _IMPORTS)
