# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read from http and https what users point at: bounded in size, time and redirects.

All kinds of redirects are followed, relative ones too; a redirect from https to http, a loop and a long chain are
refused. Credentials in a URL go to the host that they were written for and to no other. Nothing here names a URL's
credentials or query in an error.
"""

from __future__ import annotations

import base64
import http.client
import re
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError

REDIRECTS = 5
TIMEOUT = 30.0
_REDIRECTING = (301, 302, 303, 307, 308)


@dataclass(frozen=True)
class Head:
    """The first bytes behind a URL, and how many bytes there are in all (None when the server does not say)."""

    content: bytes
    size: int | None


def head(url: str, length: int) -> Head:
    """Return the first ``length`` bytes; raise OperationError.

    One ranged GET is all that is asked: servers that refuse HEAD are no special case.
    """
    with closing(_follow(url, {"Range": f"bytes=0-{length - 1}"})) as answer:
        return Head(_read(answer, length, url), _size(answer))


def body(url: str, limit: int) -> bytes:
    """Return everything behind a URL; raise OperationError when that is more than ``limit`` bytes."""
    with closing(_follow(url, {})) as answer:
        content = _read(answer, limit + 1, url)
    if len(content) > limit:
        raise OperationError(
            f"read {shown(url)}", f"it is larger than {limit} bytes", "Check that the URL names the right file."
        )
    return content


def opened(url: str) -> Any:
    """Return the answer of the server, to be read and closed by the caller; raise OperationError."""
    return _follow(url, {})


def shown(url: str) -> str:
    """Return a URL as it may be shown: without user, password, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class _NoRedirect(HTTPRedirectHandler):
    """Leave redirects to us."""

    def redirect_request(self, *args: Any) -> None:
        """Follow nothing."""


def _follow(url: str, headers: Mapping[str, str]) -> Any:
    """Return the open answer at the end of the chain of redirects."""
    chain, login = [url], _login(url)
    while True:
        credentials = login if _origin(chain[-1]) == _origin(url) else {}
        answer = _open(chain, {"Accept-Encoding": "identity", **headers, **credentials})
        if answer.status not in _REDIRECTING:
            return answer
        with closing(answer):
            target = urljoin(chain[-1], answer.headers.get("Location") or "")
        reason = _refusal(chain, target)
        chain.append(target)
        if reason:
            raise _failure(chain, reason)


def _refusal(chain: list[str], target: str) -> str:
    if urlsplit(target).scheme not in ("http", "https"):
        return "a redirect leads to something that is neither http nor https"
    if urlsplit(chain[-1]).scheme == "https" and urlsplit(target).scheme == "http":
        return "a redirect leads from https to http"
    if target in chain:
        return "the redirects lead in a circle"
    return f"there are more than {REDIRECTS} redirects" if len(chain) > REDIRECTS else ""


def _open(chain: list[str], headers: Mapping[str, str]) -> Any:
    parts = urlsplit(chain[-1])
    plain = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, parts.query, ""))
    try:
        return build_opener(_NoRedirect).open(Request(plain, headers=dict(headers)), timeout=TIMEOUT)
    except HTTPError as error:
        if error.code in _REDIRECTING:
            return error
        with closing(error):
            raise _failure(chain, f"the server answered HTTP {error.code} {error.reason}") from error
    except (URLError, OSError, http.client.HTTPException, ValueError) as error:
        raise _failure(chain, f"no answer came ({getattr(error, 'reason', error)})") from error


def _failure(chain: list[str], reason: str) -> OperationError:
    way = " -> ".join(shown(url) for url in chain)
    return OperationError(f"read {way}", reason, "Check the URL, and that this host may reach it.")


def _read(answer: IO[bytes], length: int, url: str) -> bytes:
    try:
        content = b""
        while len(content) < length and (chunk := answer.read(min(length - len(content), 1 << 20))):
            content += chunk
    except (OSError, http.client.HTTPException) as error:
        raise OperationError(f"read {shown(url)}", f"the transfer broke off ({error})", "Try again.") from error
    return content


def _size(answer: Any) -> int | None:
    total = re.fullmatch(r"bytes \d+-\d+/(\d+)", answer.headers.get("Content-Range") or "")
    text = total[1] if total else (answer.headers.get("Content-Length") or "" if answer.status == 200 else "")
    return int(text) if text.isdecimal() else None


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.rpartition("@")[2]


def _login(url: str) -> dict[str, str]:
    user, found, _host = urlsplit(url).netloc.rpartition("@")
    if not found:
        return {}
    return {"Authorization": "Basic " + base64.b64encode(unquote(user).encode()).decode()}
