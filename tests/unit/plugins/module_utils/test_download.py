# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._download import Head, body, head, shown
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.tests.unit.plugins.image_server import ImageServer


@pytest.fixture
def images() -> Iterator[ImageServer]:
    with ImageServer().running() as server:
        server.files["/os.raw"] = b"x" * 1000
        yield server


def test_image_url_redirects(images: ImageServer) -> None:
    """302 to 307 to a relative location to 200, on a server that refuses HEAD: works, and the size is known."""
    images.redirects |= {"/a": (302, "/b"), "/b": (307, "c?x=1"), "/c": (308, "os.raw")}
    assert head(f"{images.url}/a", 100) == Head(b"x" * 100, 1000)
    assert images.asked() == [("GET", path) for path in ("/a", "/b", "/c", "/os.raw")]


def test_a_loop_of_redirects_is_refused_with_the_chain_shown(images: ImageServer) -> None:
    images.redirects |= {"/a": (302, "/b"), "/b": (301, "/a")}
    with pytest.raises(OperationError, match=rf"{images.url}/a -> {images.url}/b -> {images.url}/a.*circle"):
        head(f"{images.url}/a", 1)


def test_a_chain_of_twenty_redirects_is_refused(images: ImageServer) -> None:
    images.redirects |= {f"/{number}": (302, f"/{number + 1}") for number in range(20)}
    with pytest.raises(OperationError, match="more than 5 redirects"):
        head(f"{images.url}/0", 1)
    assert len(images.headers) == 6


def test_a_redirect_from_https_to_http_is_refused(
    images: ImageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ImageServer(tmp_path).running() as secure:
        authority = tmp_path / "ca.pem"
        authority.write_text(secure.ca)
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        secure.redirects["/os.raw"] = (302, f"{images.url}/os.raw")
        with pytest.raises(OperationError, match="leads from https to http"):
            head(f"{secure.url}/os.raw", 1)
    assert images.headers == []


def test_a_redirect_to_a_file_is_refused(images: ImageServer) -> None:
    images.redirects["/a"] = (302, "file:///etc/passwd")
    with pytest.raises(OperationError, match="neither http nor https"):
        head(f"{images.url}/a", 1)


def test_credentials_go_to_their_own_host_only(images: ImageServer) -> None:
    with ImageServer().running() as mirror:
        mirror.files["/os.raw"] = b"y"
        images.redirects["/a"] = (302, f"{mirror.url}/os.raw")
        assert head(f"http://user:canary@{images.host}/a", 1).content == b"y"
        assert images.headers[0][2]["Authorization"] == "Basic dXNlcjpjYW5hcnk="
        assert "Authorization" not in mirror.headers[0][2]


def test_errors_show_neither_credentials_nor_query(images: ImageServer) -> None:
    with pytest.raises(OperationError, match=rf"read http://{images.host}/gone: .*HTTP 404") as caught:
        head(f"http://user:canary@{images.host}/gone?signature=canary", 1)
    assert "canary" not in str(caught.value)
    assert shown("https://u:p@host/a/b?c=d#e") == "https://host/a/b"


def test_a_server_without_ranges_is_read_no_further_than_needed(images: ImageServer) -> None:
    images.ranges = False
    images.files["/big"] = bytes(50 << 20)
    begin = time.monotonic()
    assert head(f"{images.url}/big", 10) == Head(bytes(10), 50 << 20)
    assert time.monotonic() - begin < 5


def test_a_body_larger_than_the_limit_is_refused(images: ImageServer) -> None:
    assert body(f"{images.url}/os.raw", 1000) == b"x" * 1000
    with pytest.raises(OperationError, match="larger than 999 bytes"):
        body(f"{images.url}/os.raw", 999)


def test_a_host_that_does_not_answer_is_named() -> None:
    with pytest.raises(OperationError, match=r"read http://127\.0\.0\.1:1/os\.raw: no answer came"):
        head("http://127.0.0.1:1/os.raw", 1)
