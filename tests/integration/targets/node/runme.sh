#!/usr/bin/env bash
# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# A script, since the collection has a role of this target's name, which Ansible would take in its place.
set -eux
export ANSIBLE_ROLES_PATH=..
ansible-playbook -i "$INVENTORY_PATH" -e "output_dir=$OUTPUT_DIR" play.yml "$@"
