# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Run real clients, unmodified, against our daemon or against a real Ironic, and tell what passed."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.conformance import cli, metal3, nova, openstack_cloud, report, sdk, tempest
from tests.conformance.checks import Peer, Verdict, judge
from tests.conformance.servers import Kind, serving

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / ".nox/conformance"
PEERS = {
    "cli": Peer("python-ironicclient 6.3.0, the baremetal command", cli.run),
    "sdk": Peer("openstacksdk 4.22.0, its functional tests", sdk.run),
    "metal3": Peer("Metal3's call sequence at 1.89, 1.95 and 1.109", metal3.run),
    "openstack_cloud": Peer("openstack.cloud 2.5.0, its modules for bare metal", openstack_cloud.run),
    "nova": Peer("Nova 34.0.0, its driver for bare metal", nova.run),
    "tempest": Peer("ironic-tempest-plugin 3.2.0, its API tests", tempest.run, behind_keystone=True),
}


def run(name: str, kind: Kind) -> Verdict:
    """Run one client against a fresh server; what both leave behind stays in a folder of their own."""
    folder = RESULTS / kind / name
    folder.mkdir(parents=True, exist_ok=True)
    peer = PEERS[name]
    begin = time.monotonic()
    with serving(kind, folder, behind_keystone=peer.behind_keystone) as server:
        verdict = judge(name, peer.run(server))
    tell(verdict, time.monotonic() - begin)
    return verdict


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
    parser.add_argument("--write", action="store_true", help="write the table of results into the documentation")
    options = parser.parse_args()
    if unknown := set(options.peers) - set(PEERS):
        parser.error(f"there is no client {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    verdicts = {name: run(name, options.server) for name in options.peers or PEERS}
    if options.write:
        report.write((PEERS[name].title, verdict) for name, verdict in verdicts.items())
    return 0 if all(verdict.is_good for verdict in verdicts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
