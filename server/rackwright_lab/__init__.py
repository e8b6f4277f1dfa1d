# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A virtual rack: machines, their BMCs and the images that they boot.

The package stands alone. It knows wire protocols (Redfish, IPMI, DHCP) and the programs
that speak them, and nothing of the daemon that drives the machines.
"""
