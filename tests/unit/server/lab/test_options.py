# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What a rack may be made of."""

from pathlib import Path
from typing import Any

import pytest

from rackwright_lab.errors import LabError
from rackwright_lab.options import RackOptions


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"name": "a-name-too-long"}, "10"),
        ({"name": "up; reboot"}, "a-z"),
        ({"machines": 0}, "1 to 99"),
        ({"machines": 100}, "1 to 99"),
        ({"memory": 0}, "at least 1"),
        ({"disk": -1}, "at least 1"),
        ({"network": "172.22.0.1/24"}, "172.22.0.0/24"),
        ({"network": "172.22.0.0/25"}, "too small"),
    ],
)
def test_a_rack_that_cannot_be_is_refused_with_what_is_allowed(values: dict[str, Any], words: str) -> None:
    with pytest.raises(LabError, match=words):
        RackOptions(directory=Path("rack"), **values)


def test_addresses_follow_from_the_network() -> None:
    options = RackOptions(directory=Path("rack"), network="10.9.8.0/24")
    assert (options.host, options.bmc, options.machine_address(3)) == ("10.9.8.1", "10.9.8.2", "10.9.8.103")


def test_options_survive_their_way_to_another_process() -> None:
    options = RackOptions(directory=Path("/srv/rack"), machines=3, light=True, ipxe="http://10.9.8.1/boot.ipxe")
    assert RackOptions.from_json(options.to_json()) == options
