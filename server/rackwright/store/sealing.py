# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Secrets in JSON: sealed before they reach a row, masked in answers, opened only where a machine needs them.

A string whose key speaks of a secret, or is declared as one by a role, is kept as ``{"$sealed": text}``. The words are
those of the contract (node-fields.md, "Masking") and a few more. A password within a URL is masked, not sealed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet, InvalidToken

from rackwright.domain.errors import Invalid, OperationFailed
from rackwright.domain.masking import MASK as MASK
from rackwright.domain.masking import without_passwords

SEALED = "$sealed"
"""The key of an object that stands for a sealed secret."""
_WORDS = re.compile(
    "password|adminpass|admin_pass|auth_token|token|new_pass|secret|sys_pswd|configdrive|chappassword|chapsecret"
    "|encrypted_key|private_key|fernetkey|sslkey|passphrase|snmp_auth_key|snmp_priv_key"
    "|passwd|pwd|credential|api_?key|ssh_?key|kg_key|community|authorization|cookie|(?<![a-z])pass$",
    re.IGNORECASE,
)
_COMPARED = ("image_source", "image_checksum", "boot_iso")
"""Keys whose URLs come back unchanged, because clients compare them with what they sent (contract: clients.md)."""
_ALWAYS = ("configdrive", "image_url")
"""Keys of the first level whose value is a secret whatever its type."""
_OfText = Callable[[str, str], str]


class KeyUnusable(Invalid):
    """The key {file} cannot be used: {reason}. {action}"""


def read_key(path: Path) -> bytes:
    """Return the key of the file, made with mode 0600 when it is missing; two processes may come at once.

    Raise KeyUnusable when there is no key in it, or it cannot be read or made.
    """
    try:
        if not path.exists():
            _make_key(path)
        key = path.read_bytes().strip()
    except OSError as error:
        action = "Give it and its folder to the user of the daemon, and see that the disk is not full."
        raise KeyUnusable(file=path, reason=error.strerror, action=action) from error
    try:
        Fernet(key)
    except ValueError:
        action = "Put a copy of it back, from another host or a backup; where the database is new, remove it."
        raise KeyUnusable(file=path, reason="it is damaged" if key else "it is empty", action=action) from None
    return key


def _make_key(path: Path) -> None:
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(handle, "wb") as file:
        file.write(Fernet.generate_key())
    with contextlib.suppress(FileExistsError):
        os.link(draft, path)  # whole or not at all, and never over the key of somebody who was faster
    Path(draft).unlink()


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


def mask_urls(value: str, name: str = "") -> str:
    """Return a text with stars for each password in a URL, unless clients compare what stands under this key."""
    return value if name in _COMPARED else without_passwords(value)


class Sealer:
    """Seals, opens and masks the secrets of JSON objects with one key."""

    def __init__(self, key: bytes, declared: Iterable[str] = ()) -> None:
        """Take a Fernet key, and the keys that roles declare as secret; raise ValueError when it is no key."""
        self._fernet = Fernet(key)
        self._declared = frozenset(declared)

    def seal(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the object with its secrets sealed; what is sealed already stays as it is."""
        return self._mapped(data, secret=self._close, sealed=_same, plain=_same)

    def unseal(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the object with its secrets in clear; raise OperationFailed when the key does not fit."""
        return {name: self._opened(value) for name, value in data.items()}

    def mask(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the object with every secret shown as ``******``; nothing is opened."""
        return self._mapped(data, secret=lambda _: MASK, sealed=lambda _: MASK, plain=mask_urls)

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
                action="Put the secret.key of that time back into state_dir, or set the secrets again.",
            ) from error

    def _is_secret(self, name: str) -> bool:
        return name in self._declared or is_secret(name)

    def _mapped(
        self, data: dict[str, Any], *, secret: Callable[[Any], Any], sealed: Callable[[Any], Any], plain: _OfText
    ) -> dict[str, Any]:
        def value_of(value: Any, name: str) -> Any:
            if is_sealed(value):
                return sealed(value)
            if isinstance(value, dict):
                return {below: value_of(each, below) for below, each in value.items()}
            if isinstance(value, list):
                return [value_of(each, name) for each in value]
            if isinstance(value, str):
                return secret(value) if self._is_secret(name) else plain(value, name)
            return value

        return {
            name: secret(value)
            if name in _ALWAYS and value is not None and not is_sealed(value)
            else value_of(value, name)
            for name, value in data.items()
        }


def _same(value: Any, _name: str = "") -> Any:
    return value
