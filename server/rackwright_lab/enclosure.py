# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The first process of a light machine: leaves it one disk, few tools and one network card.

What keeps the disks of the real machine safe: the agent sees a /dev with no other disk
in it, lists no other disk, and finds no other tools than those named here.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import NoReturn

from rackwright_lab.commands import find_program, run
from rackwright_lab.errors import LabError
from rackwright_lab.light import REBOOT_STATUS
from rackwright_lab.namespaces import enter, wait_for_stop

TOOLS = (
    "lsblk blkid blockdev wipefs partx partprobe sgdisk parted mount umount findmnt findfs dd cat test sync ip lscpu"
    " qemu-img mkfs.vfat hexdump readlink file fuser sh mknod rm busybox isoinfo"
)

# Tools that would reach the real machine: what they do here. LOOP and NAME are set in each.
STAND_INS = {
    "efibootmgr": 'echo "BootCurrent: 0000"',
    "hwclock": ":",
    "lshw": """echo '{"id": "machine", "vendor": "Rackwright", "product": "Lab light", "serial": "'$NAME'"}'""",
    "poweroff": "kill -TERM 1",
    "reboot": "kill -USR1 1",
    # What the kernel does in a real /dev: nodes for the disk's partitions.
    "udevadm": """rm -f /dev/"$LOOP"p*
for part in /sys/block/"$LOOP"/"$LOOP"p*/dev; do
    [ -e "$part" ] || continue
    read -r numbers < "$part"
    node=${part%/dev}
    mknod /dev/"${node##*/}" b "${numbers%:*}" "${numbers#*:}"
done""",
}
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


def main() -> None:
    """Be the machine until it is switched off or resets itself."""
    message = json.loads(enter())
    threading.Thread(target=_end_when_power_is_cut, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGUSR1, lambda *_: os._exit(REBOOT_STATUS))
    scratch, loop, disc = Path(message["scratch"]), Path(message["loop"]), message["disc"]
    parameters = _kernel_parameters(disc) if disc else ""
    _leave_tools(scratch, {"LOOP": loop.name, "NAME": message["name"]})
    _leave_devices(loop)
    _leave_settings(scratch / "etc")
    _replace_files(scratch, {"/proc/cmdline": parameters, "/proc/sysrq-trigger": "", "/etc/resolv.conf": ""})
    _bring_up(loop, scratch / "on-lease")
    if disc:
        subprocess.run([sys.executable, "-P", "-m", "rackwright_lab.agent", loop.name], check=False)
        _say("The agent ended.")
    else:
        _say(_deployed_system(loop))
    while True:
        signal.pause()


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _end_when_power_is_cut() -> NoReturn:
    wait_for_stop()
    os._exit(0)


def _kernel_parameters(disc: str) -> str:
    config = run("isoinfo", "-R", "-i", disc, "-x", "/EFI/BOOT/grub.cfg")
    found = re.search(r"^\s*linux\S*\s+\S+\s+(.*)$", config, re.MULTILINE)
    if found is None:
        raise LabError("Could not boot the disc: its EFI/BOOT/grub.cfg has no line that loads a kernel.")
    # GRUB takes quotes as a shell does; the kernel knows double quotes only.
    return " ".join(f'"{word}"' if " " in word else word for word in shlex.split(found[1]))


def _leave_tools(scratch: Path, variables: dict[str, str]) -> None:
    tools = scratch / "tools"
    tools.mkdir()
    for name in TOOLS.split():
        (tools / name).symlink_to(find_program(name))
    settings = "".join(f"{name}={value}\n" for name, value in variables.items())
    for name, script in STAND_INS.items():
        (tools / name).write_text(f"#!/bin/sh\n{settings}{script}\n")
        (tools / name).chmod(0o755)
    os.environ.update(PATH=str(tools), TMPDIR=str(scratch))


def _leave_devices(loop: Path) -> None:
    run("mount", "-t", "sysfs", "sysfs", "/sys")
    nodes = [(path, path.stat()) for path in (*(Path("/dev", name) for name in _DEVICES), loop)]
    run("mount", "-t", "tmpfs", "tmpfs", "/dev")
    for path, status in nodes:
        os.mknod(path, status.st_mode, status.st_rdev)
    Path("/dev/shm").mkdir()
    run("mount", "-t", "tmpfs", "tmpfs", "/run")  # where each agent keeps its own certificate


def _leave_settings(copy: Path) -> None:
    """Give the machine an /etc of its own, with the folder that a rescued one needs."""
    shutil.copytree("/etc", copy, symlinks=True)
    (copy / "ipa-rescue-config").mkdir(exist_ok=True)
    run("mount", "--bind", copy, "/etc")


def _replace_files(scratch: Path, texts: dict[str, str]) -> None:
    for path, text in texts.items():
        if Path(path).exists():
            replacement = scratch / path.replace("/", "_")
            replacement.write_text(text + "\n")
            run("mount", "--bind", replacement, path)


def _bring_up(loop: Path, lease: Path) -> None:
    # Also where the kernel knows no GPT; it fails on a disk without partitions.
    subprocess.run(["partx", "--update", loop], capture_output=True, check=False)
    run("udevadm", "settle")
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "set", "eth0", "up")
    run("busybox", "udhcpc", "-i", "eth0", "-s", lease, "-q", "-n", "-t", "30", "-T", "1")


def _deployed_system(loop: Path) -> str:
    """Return what the system of the lab's disk image says, from the disk's config drive."""
    partitions = [str(path) for path in Path("/dev").glob(f"{loop.name}p*")]
    if not partitions:
        return "No bootable device: the disk has no partition."
    data = {}
    for partition in partitions:
        if run("blkid", "-p", "-o", "value", "-s", "LABEL", partition) == "config-2":
            data = json.loads(run("isoinfo", "-R", "-i", partition, "-x", "/openstack/latest/meta_data.json"))
    address = run("ip", "-o", "-4", "addr", "show", "dev", "eth0").split()[3].split("/")[0]
    return f"LAB-OS READY hostname={data.get('hostname', '')} instance={data.get('uuid', '')} address={address}"


if __name__ == "__main__":
    try:
        main()
    except LabError as error:
        sys.exit(str(error))
