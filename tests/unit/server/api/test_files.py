# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""BMCs and agents fetch images while the API has a lot to do."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from httpx import ASGITransport, AsyncClient, Response

from rackwright.store.session import writing
from tests.unit.server.api_house import PUBLIC, House

MANY = 60
"""Requests at once; more than there are threads."""

SIZE = 5_000_000


@pytest.fixture
def image(tmp_path: Path) -> Path:
    found = tmp_path / "http" / "boot" / "node.iso"
    found.parent.mkdir(parents=True, exist_ok=True)
    found.write_bytes(b"i" * SIZE)
    return found


async def _fetch_while_writers_wait(house: House) -> tuple[Response, list[Response]]:
    async with AsyncClient(transport=ASGITransport(house.app), base_url=PUBLIC) as client:
        with writing(house.parts.engine) as session:
            session.connection()  # from now on nobody else can write
            asked = [client.post("/v1/nodes", json={"driver": "fake-hardware"}) for _ in range(MANY)]
            writers = asyncio.gather(*asked)
            await asyncio.sleep(0.5)
            async with asyncio.timeout(10):
                fetched = await client.get("/files/boot/node.iso")
        return fetched, await writers


def test_an_image_is_served_while_more_requests_wait_for_the_database_than_there_are_threads(
    house: House, image: Path
) -> None:
    fetched, written = asyncio.run(_fetch_while_writers_wait(house))
    assert (fetched.status_code, fetched.content) == (200, image.read_bytes())
    assert {answer.status_code for answer in written} == {201}


def test_a_part_of_an_image_is_served(house: House, image: Path) -> None:
    answer = house.client.get("/files/boot/node.iso", headers={"Range": f"bytes={SIZE - 10}-"})
    assert (answer.status_code, answer.content) == (206, image.read_bytes()[-10:])


@pytest.mark.parametrize("path", ["../secret.key", "%2e%2e/secret.key", "boot/../../secret.key", "boot", ""])
def test_nothing_beside_the_images_is_served(house: House, image: Path, path: str) -> None:
    assert image.exists()
    assert house.client.get(f"/files/{path}").status_code == 404
