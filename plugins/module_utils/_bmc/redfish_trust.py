# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whom a connection to a BMC trusts, read once.

requests reads the certificates of all authorities for each connection anew, and a BMC gets a connection for each
request: with those that a Linux system trusts, that is 40 times the work of the request itself.
"""

from __future__ import annotations

import ssl
import threading
from functools import cache
from pathlib import Path
from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError

try:
    from requests.adapters import DEFAULT_CA_BUNDLE_PATH, HTTPAdapter
    from urllib3.util.ssl_ import create_urllib3_context
except ImportError:  # whoever needs them says so
    HTTPAdapter = object  # type: ignore[assignment,misc]  # nothing is made of it then


_READING = threading.Lock()


class Trusting(HTTPAdapter):
    """Opens connections that check certificates with one context."""

    def build_connection_pool_key_attributes(self, request: Any, verify: Any, cert: Any = None) -> Any:
        """Let connections use the context; raise OperationError when it cannot be made."""
        host, _tls = super().build_connection_pool_key_attributes(request, verify, cert)
        return host, {"ssl_context": trust(verify)}

    def cert_verify(self, *args: Any, **kwargs: Any) -> None:
        """Give a connection no files to read: the context has read them."""


def trust(authorities: bool | str | None) -> ssl.SSLContext:
    """Return what checks certificates against a file or folder, those that requests trusts (True), or not at all.

    Raise OperationError when they cannot be read.
    """
    with _READING:  # else all threads of a wave would read them
        return _read(authorities)


@cache
def _read(authorities: bool | str | None) -> ssl.SSLContext:
    context: ssl.SSLContext = create_urllib3_context()
    if not authorities:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context
    place = DEFAULT_CA_BUNDLE_PATH if authorities is True else str(authorities)
    try:
        context.load_verify_locations(**{"capath" if Path(place).is_dir() else "cafile": place})
    except OSError as error:
        raise OperationError(
            "check the certificate of the BMC",
            f"The authorities cannot be read from {place}: {error.strerror or error}.",
            "Set verify_ca to a readable file or folder of certificates (PEM).",
        ) from error
    return context
