# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What every strategy has in common: credentials that were found good lately are not checked again."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from cachetools import TLRUCache

from rackwright.domain.caller import Caller

_SIZE = 4096  # credentials that are remembered at most


@dataclass(frozen=True, slots=True)
class Proof:
    """Credentials that were found good: whose they are, and until when (seconds since the epoch) at most."""

    caller: Caller
    until: float
    by: object = None
    """What they were checked against."""


class Authenticator(ABC):
    """Finds out who sends a request, from one of its headers."""

    header: ClassVar[str]
    """The header with the credentials, in lower case."""

    voucher: ClassVar[str | None] = None
    """The header, in lower case, with the credentials of a service that vouches for who sends the request; or None."""

    challenge: str
    """What the header WWW-Authenticate of a refusal says."""

    def __init__(self, *, lifetime: int, clock: Callable[[], float] = time.time) -> None:
        """Take for how many seconds good credentials are remembered."""
        self._clock = clock
        self._salt = os.urandom(32)
        self._lock = threading.Lock()
        self._proofs: TLRUCache[bytes, Proof] = TLRUCache(
            _SIZE, ttu=lambda _key, proof, now: min(proof.until, now + lifetime), timer=clock
        )

    def remembered(self, given: str) -> Caller | None:
        """Return whose credentials these are when they were found good lately; this takes no time."""
        with self._lock:
            proof = self._proofs.get(self._digest(given))
        return proof.caller if proof is not None and self._still_holds(proof) else None

    def check(self, given: str) -> Caller:
        """Return whose credentials these are; this may take long.

        Raise Unauthenticated for wrong ones, Invalid for a header that cannot be read, Unavailable when nobody knows.
        """
        return self._keep(given, self._verify(given))

    def check_vouched(self, given: str, voucher: str) -> Caller:
        """Return whose credentials these are, for which a service vouches; raise as ``check`` does."""
        del voucher
        return self.remembered(given) or self.check(given)

    def _keep(self, given: str, proof: Proof) -> Caller:
        """Remember credentials, unless they are beyond their end; return whose they are."""
        with self._lock:
            self._proofs[self._digest(given)] = proof
        return proof.caller

    def _digest(self, given: str) -> bytes:
        """Return the key of credentials, which tells nothing about them."""
        return hashlib.blake2b(given.encode(), key=self._salt, digest_size=32).digest()

    @abstractmethod
    def _verify(self, given: str) -> Proof:
        """Check credentials; raise as ``check`` does."""

    def _still_holds(self, proof: Proof) -> bool:
        """Return whether what the credentials were checked against is still the same."""
        del proof
        return True
