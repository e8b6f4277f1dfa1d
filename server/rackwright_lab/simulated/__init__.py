# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The broken rack: thousands of machines in one process, over real sockets, with faults on demand.

Each machine has a BMC that speaks Redfish and, while it runs what its virtual disc or the network gave it, an agent
that speaks the protocol of ironic-python-agent. What happened to a machine is kept in order; ``history.check`` judges.
"""
