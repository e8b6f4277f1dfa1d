# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that all modules share which talk to the daemon's API."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation of API_OPTIONS in module_utils/_client.py."""

    DOCUMENTATION = r"""
options:
  api_url:
    description:
      - Where the daemon's API is; any server of OpenStack Ironic's v1 API will do.
    type: str
    default: http://127.0.0.1:6385
  api_username:
    description:
      - User name for an API with HTTP basic authentication.
    type: str
  api_password:
    description:
      - Password for an API with HTTP basic authentication.
    type: str
  api_ca:
    description:
      - File of the certificate authority that signed the API's certificate.
    type: path
  api_validate_certs:
    description:
      - Whether the API's certificate is checked.
    type: bool
    default: true
  api_timeout:
    description:
      - Seconds to wait for each answer of the API.
    type: int
    default: 60
"""
