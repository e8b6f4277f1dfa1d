# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Name and password in every request, checked against a file of bcrypt hashes (contract: engine.md, "Authorization").

The file has a line ``user:hash`` for each user, as ``htpasswd -B`` writes it; it is read again whenever it has changed.
"""

from __future__ import annotations

import base64
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import bcrypt

from rackwright.auth.base import Authenticator, Proof
from rackwright.domain.caller import Caller
from rackwright.domain.errors import Invalid, Unauthenticated, Unavailable
from rackwright.settings import Settings

_log = logging.getLogger(__name__)

_LIFETIME = 3600  # seconds for which a checked password is remembered, unless the user's line changes
_LINE = re.compile(r"(?P<user>[^:\s][^:]*):(?P<hash>\$2[aby]\$\d\d\$[./A-Za-z0-9]{53})")
_LONGEST = 72  # bytes of a password that bcrypt looks at


class UsersInvalid(Invalid):
    """http_basic_auth_user_file {file} cannot be used: {reason}. Correct the file, or name another."""


class HeaderInvalid(Invalid):
    """The header Authorization must be Basic and base64 of user:password."""


class UsersUnavailable(Unavailable):
    """The file of users cannot be read, so that nobody can be let in; the log of the daemon tells why."""


class Users:
    """The lines of the file, as they are now."""

    def __init__(self, file: Path) -> None:
        """Read the file; raise UsersInvalid."""
        self._file = file
        self._lock = threading.Lock()
        self._stamp: tuple[int, ...] = ()
        self._hashes: Mapping[str, bytes] = {}
        self.hashes()

    def hashes(self) -> Mapping[str, bytes]:
        """Return each user's hash; raise UsersInvalid."""
        try:
            found = self._file.stat()
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            with self._lock:
                if stamp != self._stamp:
                    self._hashes, self._stamp = _read(self._file), stamp
                return self._hashes
        except (OSError, UnicodeDecodeError) as error:
            raise UsersInvalid(file=self._file, reason=str(error)) from error


def _read(file: Path) -> dict[str, bytes]:
    found = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            reason = f"line {number} is not user:hash with a bcrypt hash; make it with htpasswd -B"
            raise UsersInvalid(file=file, reason=reason)
        found[match["user"]] = match["hash"].encode()
    if not found:
        raise UsersInvalid(file=file, reason="it names no user; add one with htpasswd -B")
    return found


class Basic(Authenticator):
    """Lets in who knows the password of a user of the file."""

    header = "authorization"
    challenge = 'Basic realm="Baremetal API", charset="UTF-8"'

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        """Read the file of users; raise UsersInvalid."""
        super().__init__(lifetime=_LIFETIME, clock=clock)
        self._users = Users(Path(settings.http_basic_auth_user_file or ""))

    def _verify(self, given: str) -> Proof:
        user, password = _credentials(given)
        hashes = self._hashes()
        # An unknown user takes as long as a known one: some user's hash is computed in any case.
        hashed = hashes.get(user, next(iter(hashes.values())))
        matches = bcrypt.checkpw(password[:_LONGEST], hashed) and len(password) <= _LONGEST
        if not matches or user not in hashes:
            _log.warning("Name or password of a request are wrong", extra={"user": user})
            raise Unauthenticated("Name or password are wrong.")
        return Proof(Caller(user_id=user, user_name=user), self._clock() + _LIFETIME, by=hashed)

    def _still_holds(self, proof: Proof) -> bool:
        return self._hashes().get(proof.caller.user_id or "") == proof.by

    def _hashes(self) -> Mapping[str, bytes]:
        try:
            return self._users.hashes()
        except UsersInvalid as error:
            _log.error("The file of users cannot be read", extra={"reason": error.message})
            raise UsersUnavailable from error


def _credentials(given: str) -> tuple[str, bytes]:
    """Return name and password of a header; raise HeaderInvalid."""
    scheme, _, encoded = given.partition(" ")
    try:
        user, colon, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except ValueError as error:
        raise HeaderInvalid from error
    if scheme.lower() != "basic" or not colon or "\0" in password:
        raise HeaderInvalid
    return user, password.encode()
