# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Starts playbooks, tells what they report, ends them: the only door between the daemon and Ansible."""
