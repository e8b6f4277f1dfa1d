# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The certificate of BMCs that serve HTTPS."""

import socket
import ssl
import threading
from pathlib import Path

from rackwright_lab.certificate import make_certificate


def test_a_client_that_knows_the_certificate_trusts_its_address(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path, "127.0.0.1")
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(certificate, key)
    client = ssl.create_default_context(cafile=str(certificate))
    ours, theirs = socket.socketpair()
    answer = threading.Thread(target=lambda: server.wrap_socket(theirs, server_side=True).close())
    answer.start()
    with client.wrap_socket(ours, server_hostname="127.0.0.1") as connection:
        assert connection.version() is not None
    answer.join()


def test_only_its_owner_reads_the_key(tmp_path: Path) -> None:
    _, key = make_certificate(tmp_path, "127.0.0.1")
    assert key.stat().st_mode & 0o777 == 0o600
