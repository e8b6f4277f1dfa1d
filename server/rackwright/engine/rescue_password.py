# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The password of a rescue as it is stored and sent: only its hash, in the form of /etc/shadow.

Source: ``contract/engine.md`` section 6.
"""

from __future__ import annotations

from threading import Lock
from typing import Final

from oslo_utils import secretutils

_METHODS: Final = {"sha256": "SHA-256", "sha512": "SHA-512"}
_ONE_AT_A_TIME = Lock()  # crypt(3) answers in a buffer that the whole process shares


def hashed(password: str, algorithm: str) -> str:
    """Return the hash of a password with a new salt; ``algorithm`` is sha256 or sha512. Raises RuntimeError
    where the system has no libcrypt.
    """
    salt = secretutils.crypt_mksalt(_METHODS[algorithm])
    with _ONE_AT_A_TIME:
        return str(secretutils.crypt_password(password, salt))
