# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import Any

import pytest

from rackwright.domain.errors import Invalid, NotAcceptableVersion
from rackwright.services.config_drive import check


@pytest.mark.parametrize(
    "drive",
    [
        "QUJD",
        "QUJD\nQUJD\n",
        "http://example/drive",
        "https://example/drive",
        {},
        {"meta_data": {"uuid": "x"}, "network_data": {}, "vendor_data": {}, "user_data": "#cloud-config"},
        {"network_data": {"links": [{"id": "eth0"}], "networks": []}},
        {"user_data": {"a": 1}},
        {"user_data": ["a"]},
        {"user_data": None},
    ],
)
def test_the_known_forms_are_taken(drive: Any) -> None:
    check(drive, 115)


@pytest.mark.parametrize(
    "drive",
    [
        "{broken",
        "QUJ",
        "Q*JD",
        "füße",
        "ftp://example/drive",
        "http://example/\ndrive",
        5,
        True,
        ["QUJD"],
        {"colour": {}},
        {"meta_data": "text"},
        {"meta_data": None},
        {"network_data": []},
        {"network_data": {"links": "x"}},
        {"network_data": {"links": [], "networks": {}}},
        {"network_data": {"services": ["192.0.2.1"]}},
        {"network_data": {"links": None}},
        {"user_data": 5},
    ],
)
def test_other_forms_are_refused(drive: Any) -> None:
    with pytest.raises(Invalid):
        check(drive, 115)


@pytest.mark.parametrize(("drive", "since"), [({"meta_data": {}}, 56), ({"vendor_data": {}}, 59)])
def test_objects_and_vendor_data_have_their_first_versions(drive: Any, since: int) -> None:
    check(drive, since)
    with pytest.raises(NotAcceptableVersion):
        check(drive, since - 1)
