# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A server of images that can stop in the middle of one, and knows who fetched what."""

from __future__ import annotations

import hashlib
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.integration.server.lab.light_rack import lab

LAB_IMAGES = Path("/var/tmp/rackwright-lab/images")  # where the role lab keeps them too
BOOTED = {"kernel": "deploy.kernel", "ramdisk": "deploy.initramfs", "esp": "esp.img"}
_CHUNK = 1 << 18
_LONGEST_STOP = 100  # seconds


@dataclass
class Fetch:
    """One request: who, what, from which byte on, and how many bytes went out."""

    client: str
    path: str
    whole: bool
    sent: int = 0


class ImageServer(ThreadingHTTPServer):
    """Serves the files of a folder; ``stop_at`` bytes of a whole file it stops until ``gate`` is set."""

    daemon_threads = True

    def __init__(self, host: str, folder: Path) -> None:
        super().__init__((host, 0), _Handler)
        self.folder = folder
        self.url = f"http://{host}:{self.server_address[1]}"
        self.fetches: list[Fetch] = []
        self.stop_at: int | None = None
        self.gate = threading.Event()
        self.stopped = threading.Event()

    def stop_in_the_middle(self, size: int = 4 << 20) -> None:
        """Let the next fetch of a whole file stop."""
        self.stop_at = size
        self.gate.clear()
        self.stopped.clear()

    def go_on(self) -> None:
        """Let what stopped go on, and nothing stop any more."""
        self.stop_at = None
        self.gate.set()

    def whole(self, client: str) -> list[Fetch]:
        """Return the fetches of whole files by an address."""
        return [fetch for fetch in self.fetches if fetch.whole and fetch.client == client]

    def image(self, name: str) -> dict[str, str]:
        """Return the instance_info by which a file of the folder is deployed."""
        digest = hashlib.sha256((self.folder / name).read_bytes()).hexdigest()
        return {
            "image_source": f"{self.url}/{name}",
            "image_os_hash_algo": "sha256",
            "image_os_hash_value": digest,
            "image_disk_format": Path(name).suffix[1:],
        }


class _Handler(BaseHTTPRequestHandler):
    server: ImageServer

    def do_GET(self) -> None:
        path = self.server.folder / Path(self.path).name
        part = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
        fetch = Fetch(self.client_address[0], self.path, part is None)
        self.server.fetches.append(fetch)
        if not path.is_file():
            self.send_error(404)
            return
        size = path.stat().st_size
        first, last = (int(part[1]), min(int(part[2]), size - 1)) if part else (0, size - 1)
        self.send_response(206 if part else 200)
        if part:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        self._send(path, first, last + 1, fetch)

    def _send(self, path: Path, first: int, end: int, fetch: Fetch) -> None:
        with path.open("rb") as file:
            file.seek(first)
            while first + fetch.sent < end:
                self._perhaps_stop(fetch)
                chunk = file.read(min(_CHUNK, end - first - fetch.sent))
                self.wfile.write(chunk)
                fetch.sent += len(chunk)

    def _perhaps_stop(self, fetch: Fetch) -> None:
        server = self.server
        if fetch.whole and server.stop_at is not None and fetch.sent >= server.stop_at:
            server.stopped.set()
            server.gate.wait(_LONGEST_STOP)

    def log_message(self, *_: object) -> None:
        """Say nothing: the fetches are kept."""

    def handle(self) -> None:
        """Serve; a client that leaves early, as one that was switched off, is none of our errors."""
        try:
            super().handle()
        except ConnectionError:
            return


def lay_out(folder: Path, *, light: bool = True) -> None:
    """Put a disk image in two formats, built if need be, and a ramdisk into a folder; a light rack reads no ramdisk."""
    lab("images", "--out", LAB_IMAGES)
    for name in ("lab-os.raw", "lab-os.qcow2", "CHECKSUMS"):
        shutil.copy(LAB_IMAGES / name, folder)
    for name, whole in BOOTED.items():
        if light:
            (folder / name).write_bytes(bytes(8192))
        else:
            shutil.copy(LAB_IMAGES / whole, folder / name)


@contextmanager
def serve_images(host: str, folder: Path) -> Iterator[ImageServer]:
    """Serve from a thread while the context lasts."""
    with ImageServer(host, folder) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        try:
            yield made
        finally:
            made.go_on()
            made.shutdown()
