# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A daemon that is killed at the worst moments goes on where it was, and nothing is done twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.server.lab.lives import Lives


@pytest.mark.parametrize(
    "life",
    [
        pytest.param("killed_daemon", id="the daemon while the machine boots, and in the image"),
        pytest.param("killed_conductor", id="the conductor while disks are erased, and in the image"),
    ],
)
def test_a_node_goes_on_after_the_death_of(lives: Lives, images: Path, life: str) -> None:
    seen = getattr(lives, life).result()
    assert (seen.cleaned["provision_state"], seen.cleaned["last_error"]) == ("available", None)
    assert (seen.boots, seen.erased) == (1, 1)
    assert (seen.is_on, seen.medium) == (False, None)
    assert (seen.deployed["provision_state"], seen.deployed["last_error"]) == ("active", None)
    assert seen.fetched == [(images / "lab-os.raw").stat().st_size]
    assert seen.written == 1
    assert f"instance={seen.uuid}" in seen.ready
    assert seen.left == []
