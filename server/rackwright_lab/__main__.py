# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The command line: ``python -m rackwright_lab``.

What only one command needs is imported there: a rack that an older version started must be stopped by this one, in an
environment that has no packages of this one.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rackwright_lab.commands import SYSTEM_PATH
from rackwright_lab.errors import LabError
from rackwright_lab.options import RackOptions
from rackwright_lab.simulated.arguments import add_simulated, simulated_options
from rackwright_lab.supervisor import ensure_rack, run_rack, stop_rack


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status.

    Commands that may find nothing to do print one line of JSON, whose ``changed`` says whether
    they did something.
    """
    parsed = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], None] = parsed.command
    try:
        command(parsed)
    except LabError as error:
        print(f"rackwright_lab: {error}", file=sys.stderr)
        return 1
    return 0


def _need_root() -> None:
    if os.geteuid():
        raise LabError("The lab makes network namespaces and devices: run it as root, or a rack with --simulated.")
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}:{SYSTEM_PATH}"


def _rack(parsed: argparse.Namespace) -> None:
    if parsed.simulated:
        from rackwright_lab.simulated.rack import run_simulated

        run_simulated(simulated_options(parsed))
        return
    _need_root()
    if parsed.options:
        options = RackOptions.from_json(parsed.options)
    elif parsed.dir:
        names = ("name", "machines", "memory", "cpus", "disk", "network", "light", "tls", "ipmi", "ipxe")
        options = RackOptions(directory=parsed.dir, **{name: getattr(parsed, name) for name in names})
    else:
        raise LabError("Could not start a rack: give its folder with --dir.")
    if parsed.ensure:
        _report(ensure_rack(options), rack=str(options.description))
    else:
        run_rack(options)


def _stop(parsed: argparse.Namespace) -> None:
    _need_root()
    _report(stop_rack(parsed.dir))


def _images(parsed: argparse.Namespace) -> None:
    from rackwright_lab.images.build import build_images

    _need_root()
    _report(build_images(parsed.out), images=str(parsed.out))


def _check_history(parsed: argparse.Namespace) -> None:
    from rackwright_lab.simulated.history import check

    images = None if parsed.images < 0 else parsed.images
    found = check(parsed.dir, images=images, erased=not parsed.unerased)
    for text in found:
        print(text)
    if found:
        raise LabError(f"The histories in {parsed.dir} are not clean: {len(found)} faults.")


def _report(changed: bool, **facts: str) -> None:
    print(json.dumps({"changed": changed, **facts}))


def _path(text: str) -> Path:
    return Path(text).absolute()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rackwright_lab", description="A virtual rack of bare metal machines.")
    commands = parser.add_subparsers(required=True)
    _add_rack(commands.add_parser("rack", help="run a rack until SIGTERM, then remove it"))
    stop = commands.add_parser("stop", help="stop the rack of a folder")
    stop.add_argument("--dir", type=_path, required=True, help="the rack's folder")
    stop.set_defaults(command=_stop)
    images = commands.add_parser("images", help="build the images that machines boot and get")
    images.add_argument("--out", type=_path, required=True, help="folder for the images")
    images.set_defaults(command=_images)
    judge = commands.add_parser("check-history", help="judge what happened to the machines of a simulated rack")
    judge.add_argument("dir", type=_path, help="the rack's folder")
    judge.add_argument("--images", type=int, default=1, help="images that each machine must have got; -1: any number")
    judge.add_argument("--unerased", action="store_true", help="disks need not be erased before an image")
    judge.set_defaults(command=_check_history)
    return parser


def _add_rack(rack: argparse.ArgumentParser) -> None:
    defaults = RackOptions(directory=Path())
    rack.add_argument("--dir", type=_path, help="folder for disks, consoles, logs and rack.json")
    rack.add_argument("--ensure", action="store_true", help="have it run in the background, and return when ready")
    rack.add_argument("--name", default=defaults.name, help="names the link to this machine")
    for name, meaning in (
        ("machines", "how many machines"),
        ("memory", "MiB of each machine"),
        ("cpus", "processors of each machine"),
        ("disk", "GiB of each machine's disk"),
    ):
        rack.add_argument(f"--{name}", type=int, default=getattr(defaults, name), help=meaning)
    rack.add_argument("--network", default=defaults.network, help=".1 is this machine, .2 the BMCs")
    rack.add_argument("--light", action="store_true", help="processes in place of virtual machines")
    rack.add_argument("--tls", action="store_true", help="serve Redfish over HTTPS")
    rack.add_argument("--no-ipmi", dest="ipmi", action="store_false", help="Redfish only")
    rack.add_argument("--ipxe", metavar="URL", help="serve network boot: the script that iPXE loads")
    rack.add_argument("--options", help=argparse.SUPPRESS)
    add_simulated(rack)
    rack.set_defaults(command=_rack)


if __name__ == "__main__":
    sys.exit(main())
