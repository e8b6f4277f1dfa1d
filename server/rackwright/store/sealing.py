# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Secrets in JSON: sealed before they reach a row, masked in answers, opened only where a machine needs them.

A string whose key speaks of a secret is kept as ``{"$sealed": text}``. The words are those of the contract
(node-fields.md, "Masking").
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet, InvalidToken

from rackwright.domain.errors import OperationFailed

MASK = "******"
SEALED = "$sealed"
"""The key of an object that stands for a sealed secret."""
_WORDS = re.compile(
    "password|adminpass|admin_pass|auth_token|token|new_pass|secret|sys_pswd|configdrive|chappassword|chapsecret"
    "|encrypted_key|private_key|fernetkey|sslkey|passphrase|snmp_auth_key|snmp_priv_key",
    re.IGNORECASE,
)
_ALWAYS = ("configdrive", "image_url")
"""Keys of the first level whose value is a secret whatever its type."""


def read_key(path: Path) -> bytes:
    """Return the key of the file, made with mode 0600 when it is missing; two processes may come at once."""
    if not path.exists():
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(handle, "wb") as file:
            file.write(Fernet.generate_key())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)  # whole or not at all, and never over the key of somebody who was faster
        Path(draft).unlink()
    return path.read_bytes()


def is_secret(name: str) -> bool:
    """Return whether a value under this key is a secret."""
    return _WORDS.search(name) is not None


def is_sealed(value: object) -> bool:
    """Return whether the value is a sealed one."""
    return isinstance(value, dict) and SEALED in value


def holds_seal(value: object) -> bool:
    """Return whether a sealed value stands anywhere in it; what a client sends must not hold one."""
    if isinstance(value, dict):
        return SEALED in value or any(holds_seal(each) for each in value.values())
    return isinstance(value, list) and any(holds_seal(each) for each in value)


class Sealer:
    """Seals, opens and masks the secrets of JSON objects with one key."""

    def __init__(self, key: bytes) -> None:
        """Take a Fernet key; raise ValueError when it is none."""
        self._fernet = Fernet(key)

    def seal(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the object with its secrets sealed; what is sealed already stays as it is."""
        return _mapped(data, secret=self._close, sealed=lambda value: value)

    def unseal(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the object with its secrets in clear; raise OperationFailed when the key does not fit."""
        return {name: self._opened(value) for name, value in data.items()}

    def mask(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the object with every secret shown as ``******``; nothing is opened."""
        return _mapped(data, secret=lambda _: MASK, sealed=lambda _: MASK)

    def _close(self, value: Any) -> dict[str, str]:
        return {SEALED: self._fernet.encrypt(json.dumps(value).encode()).decode()}

    def _opened(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._open(value) if SEALED in value else {name: self._opened(each) for name, each in value.items()}
        return [self._opened(each) for each in value] if isinstance(value, list) else value

    def _open(self, value: Any) -> Any:
        try:
            return json.loads(self._fernet.decrypt(value[SEALED]))
        except (InvalidToken, TypeError, ValueError) as error:
            raise OperationFailed(
                attempted="Opening a secret of the database",
                cause="it was sealed with another key",
                action="Put the secret.key of that time back, or set the secrets again.",
            ) from error


def _mapped(data: dict[str, Any], *, secret: Callable[[Any], Any], sealed: Callable[[Any], Any]) -> dict[str, Any]:
    def value_of(value: Any, hidden: bool) -> Any:
        if is_sealed(value):
            return sealed(value)
        if isinstance(value, dict):
            return {name: value_of(each, is_secret(name)) for name, each in value.items()}
        if isinstance(value, list):
            return [value_of(each, hidden) for each in value]
        return secret(value) if hidden and isinstance(value, str) else value

    return {
        name: secret(value)
        if name in _ALWAYS and value is not None and not is_sealed(value)
        else value_of(value, is_secret(name))
        for name, value in data.items()
    }
