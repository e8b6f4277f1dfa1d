# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._bmc import connect
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import certificate
from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import BmcServer


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    """Return the file of the certificate that the BMC has, which signs itself."""
    file = tmp_path / "authority.pem"
    file.write_text(certificate(datetime.now(UTC), tmp_path)[0])
    return file


@pytest.fixture
def secure(authority: Path, tmp_path: Path) -> Iterator[BmcServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    (both,) = (path for path in tmp_path.iterdir() if path != authority)
    context.load_cert_chain(both)
    with BmcServer().running(context) as server:
        yield server


def test_a_certificate_is_checked_against_a_file_or_folder_that_is_read_once(
    secure: BmcServer, authority: Path
) -> None:
    with connect(secure.context(verify_ca=str(authority))) as bmc:
        authority.unlink()
        bmc.set_power_state("on", 5)
        assert bmc.power_state() == "on"


def test_a_certificate_that_nobody_has_signed_is_refused_unless_none_is_checked(secure: BmcServer) -> None:
    with pytest.raises(OperationError, match="Its certificate is not trusted"), connect(secure.context()):
        pass
    with connect(secure.context(verify_ca=False)) as bmc:
        assert bmc.power_state() == "off"


def test_authorities_that_cannot_be_read_are_named(secure: BmcServer, tmp_path: Path) -> None:
    options = secure.context(verify_ca=str(tmp_path / "missing.pem"))
    with pytest.raises(OperationError, match=r"cannot be read from .*missing\.pem: No such file") as caught:
        connect(options).__enter__()
    assert "verify_ca" in caught.value.action
