# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the errors of a Redfish connection mean to an operator: the cause, and what to do next."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from typing import Any

try:
    import requests
    from sushy import exceptions
except ImportError:  # redfish_service says so
    pass

ATTEMPTS = 5
"""How often a request is sent that the BMC is too busy for."""

BUSY = (409, 429, 502, 503, 504)
NOT_OFFERED = (405, 501)
NOT_REDFISH = (
    "What answers there does not speak Redfish.",
    "Check the BMC's address, and that Redfish is enabled.",
)
_SILENT = "it does not answer in time"


def explain(error: Exception) -> tuple[str, str]:
    """Return the cause, and what to do about it."""
    match error:
        case json.JSONDecodeError():
            return NOT_REDFISH
        case exceptions.AccessError(status_code=403):
            return (
                f"The BMC refuses it to this user: {detail(error)}.",
                "Give the user the rights of an operator.",
            )
        case exceptions.AccessError() | exceptions.MissingXAuthToken():
            return "The BMC refuses user name and password (HTTP 401).", "Correct user name and password of the BMC."
        case exceptions.ResourceNotFoundError():
            return f"The BMC has no such resource: {detail(error)}.", "Check the system id and the BMC's firmware."
        case exceptions.HTTPError(status_code=status) if status in BUSY:
            cause = f"The BMC is busy or out of order (HTTP {status}: {detail(error)}), {ATTEMPTS} attempts in a row."
            return cause, "Repeat when it has recovered; reset the BMC when it does not."
        case exceptions.HTTPError():
            cause = f"The BMC refuses it with HTTP {error.status_code}: {detail(error)}."
            return cause, "Check the BMC's log and firmware."
        case exceptions.ConnectionError():
            return _explain_connection(error)
        case _:
            return f"The BMC does not offer what is needed: {error}.", "Update its firmware, or use another interface."


_KINDS = {401: "credentials", 403: "rights", 404: "missing", **dict.fromkeys(NOT_OFFERED, "not offered")}
_KINDS |= dict.fromkeys(BUSY, "busy")


def kind_of(error: Exception) -> str:
    """Return in a word what kind of error it is, for counting."""
    match error:
        case exceptions.ConnectionError():
            roots = list(_chain(error))
            if any(isinstance(root, requests.exceptions.SSLError) for root in roots):
                return "tls"
            return "silent" if _reason(roots) == _SILENT else "unreachable"
        case exceptions.HTTPError(status_code=status):
            return _KINDS.get(status or 0, "refused")
        case exceptions.MissingXAuthToken():
            return "credentials"
        case _:
            return "malformed"


def _explain_connection(error: Exception) -> tuple[str, str]:
    roots = list(_chain(error))
    for root in roots:
        if isinstance(root, requests.exceptions.SSLError):
            return _explain_tls(_reason(roots), any(isinstance(one, ssl.SSLCertVerificationError) for one in roots))
        if isinstance(root, requests.exceptions.InvalidURL):
            return f"The BMC's answer cannot be followed: {root}.", "Set the BMC's address to where it redirects."
    return f"The BMC cannot be reached: {_reason(roots)}.", "Check its address, the network, and that it has power."


def _explain_tls(reason: str, is_about_certificate: bool) -> tuple[str, str]:
    if is_about_certificate:
        action = "Set verify_ca to the file of the authority that signed it, or to false to trust it unseen."
        return f"Its certificate is not trusted: {reason}.", action
    return f"No TLS connection comes about: {reason}.", "Check that the BMC speaks https at this address, and how."


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and all that it came from; requests and urllib3 keep some in attributes."""
    while error is not None:
        yield error
        inner = [part for part in (*error.args, getattr(error, "reason", None)) if isinstance(part, BaseException)]
        error = error.__cause__ or error.__context__ or (inner[0] if inner else None)


def _reason(chain: list[BaseException]) -> str:
    for error in reversed(chain):
        if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
            return _SILENT
        if isinstance(error, OSError) and error.strerror:
            return getattr(error, "verify_message", None) or error.strerror
    return str(chain[-1])


def detail(error: Any) -> str:
    """Return what the BMC says about the refusal of a request."""
    return str(getattr(error, "detail", None) or getattr(error, "code", None) or "no reason given").rstrip(".")
