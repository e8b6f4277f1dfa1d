# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The images of the lab, built from Debian's packages and PyPI alone.

A deploy kernel and ramdisk with the real ironic-python-agent, a boot loader for discs, and a
small system to deploy.
"""
