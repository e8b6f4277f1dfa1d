# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Run real clients, unmodified, against our daemon or against a real Ironic, and tell what passed."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from tests.conformance import cli, metal3, nova, nova_lab, openstack_cloud, report, sdk, tempest
from tests.conformance.checks import Check, Peer, Verdict, judge
from tests.conformance.rack import CannotServeError
from tests.conformance.servers import RACKS, Kind, serving

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / ".nox/conformance"
PEERS = {
    "cli": Peer("python-ironicclient 6.3.0, the baremetal command", cli.run),
    "sdk": Peer("openstacksdk 4.22.0, its functional tests", sdk.run),
    "metal3": Peer("Metal3's call sequence at 1.89, 1.95 and 1.109", metal3.run),
    "openstack_cloud": Peer("openstack.cloud 2.5.0, its modules for bare metal", openstack_cloud.run),
    "nova": Peer("Nova 34.0.0, its driver for bare metal", nova.run),
    "nova_lab": Peer("Nova 34.0.0, its driver on a machine of the virtual rack", nova_lab.run, "light rack"),
    "tempest": Peer("ironic-tempest-plugin 3.2.0, its API tests", tempest.run, "keystone"),
}


def run(name: str, peer: Peer, kind: Kind) -> Verdict:
    """Run one client against a fresh server; what both leave behind stays in a folder of their own."""
    folder = RESULTS / kind / name
    folder.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    verdict = judge(name, found(peer, kind, folder))
    tell(verdict, time.monotonic() - begin)
    return verdict


def found(peer: Peer, kind: Kind, folder: Path) -> list[Check]:
    """Return what a client found, or why there is no server for it."""
    try:
        with serving(kind, folder, peer.place) as server:
            return list(peer.run(server))
    except CannotServeError as error:
        return [Check("a server", "failed", str(error))]


def placed(peer: Peer, qemu: bool) -> Peer:
    """Return a client, on a rack with virtual machines when it is on a rack and that is wanted."""
    return replace(peer, place="virtual rack") if qemu and peer.place in RACKS else peer


def tell(verdict: Verdict, seconds: float) -> None:
    """Print what a client found."""
    for check in verdict.wrong:
        print(f"  {check.outcome.upper()} {check.name}: {check.text}")
    for check in verdict.better:
        print(f"  passes, though it does not on Ironic 39: {check.name}")
    if verdict.missing:
        print(f"  MISSING {verdict.missing} checks")
    figures = f"{len(verdict.passed) + len(verdict.better)} passed, {len(verdict.wrong)} failed"
    print(f"{verdict.peer}: {figures}, {len(verdict.known)} as on Ironic 39, {seconds:.0f} s", flush=True)


def main() -> int:
    """Run the clients that were named, or all; return 0 when all that passes on Ironic 39 has passed."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("peers", nargs="*", metavar="CLIENT", help=f"one of {', '.join(PEERS)}; default: all")
    parser.add_argument("--server", choices=("rackwright", "ironic"), default="rackwright")
    parser.add_argument("--qemu", action="store_true", help="have virtual machines on the rack, not processes")
    parser.add_argument("--write", action="store_true", help="write the table of results into the documentation")
    options = parser.parse_args()
    if unknown := set(options.peers) - set(PEERS):
        parser.error(f"there is no client {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    fitting = {name: placed(peer, options.qemu) for name, peer in PEERS.items() if peer.is_for(options.server)}
    if unfit := set(options.peers) - set(fitting):
        parser.error(f"{', '.join(sorted(unfit))} runs on the virtual rack, which a real Ironic is not set up for")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is stopped then, as after Ctrl-C
    verdicts = {name: run(name, fitting[name], options.server) for name in options.peers or fitting}
    if options.write:
        report.write((PEERS[name].title, verdict) for name, verdict in verdicts.items())
    return 0 if all(verdict.is_good for verdict in verdicts.values()) else 1


if __name__ == "__main__":
    try:
        status: int | str = main()
    except KeyboardInterrupt:
        status = "Interrupted; what was started is stopped."
    sys.exit(status)
