# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Nova is told of power changes, at a small cloud; nothing that it does hurts who tells."""

from __future__ import annotations

import builtins
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rackwright import nova
from rackwright.nova import Nova, NovaLibraryMissing, open_nova
from rackwright.settings import Settings
from tests.unit.server.nova_house import PASSWORD, Cloud, cloud

__all__ = ["cloud"]

ON, OFF = "power on", "power off"


@pytest.fixture
def teller(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nova]:
    monkeypatch.setattr(nova, "PAUSE", 0.01)
    opened = open_nova(Settings(**cloud.settings))
    assert opened is not None
    yield opened
    opened.close()


def test_a_power_change_reaches_nova_with_the_version_that_knows_the_event(cloud: Cloud, teller: Nova) -> None:
    teller.tell([("server-1", ON), ("server-2", OFF)])
    assert cloud.wait(2) == [
        {"name": "power-update", "server_uuid": "server-1", "tag": "POWER_ON"},
        {"name": "power-update", "server_uuid": "server-2", "tag": "POWER_OFF"},
    ]
    assert cloud.versions == {"compute 2.76"}


def test_many_changes_go_together(cloud: Cloud, teller: Nova) -> None:
    teller.tell([(f"server-{number}", ON) for number in range(250)])
    cloud.wait(250)
    assert cloud.requests == 3


def test_an_answer_that_is_no_success_is_followed_by_another_attempt(cloud: Cloud, teller: Nova) -> None:
    cloud.broken = [503, 500]
    teller.tell([("server-1", ON)])
    assert len(cloud.wait(1)) == 1
    assert cloud.requests == 3


def test_news_that_is_overtaken_is_not_told() -> None:
    release, asked = threading.Event(), list[Any]()

    def post(*_: Any, **given: Any) -> Any:
        asked.append(given["json"]["events"])
        assert release.wait(10)
        raise ConnectionError

    teller = Nova(post, pause=0.01)
    teller.tell([("server-1", ON)])
    while not asked:
        time.sleep(0.005)
    teller.tell([("server-1", OFF)])
    release.set()
    while len(asked) < 2:
        time.sleep(0.005)
    assert [event["tag"] for event in asked[1]] == ["POWER_OFF"]
    teller.close()


def test_a_nova_that_stays_away_is_given_up_and_told_again_of_what_comes_later(
    cloud: Cloud, teller: Nova, caplog: pytest.LogCaptureFixture
) -> None:
    cloud.broken = [503] * nova.ATTEMPTS
    with caplog.at_level(logging.ERROR):
        teller.tell([("server-1", ON)])
        while cloud.broken or not caplog.records:
            time.sleep(0.005)
    assert "Nova cannot be told" in caplog.text
    assert PASSWORD not in caplog.text
    teller.tell([("server-2", OFF)])
    assert [event["server_uuid"] for event in cloud.wait(1)] == ["server-2"]


def test_news_that_comes_while_a_nova_is_given_up_has_its_own_attempts(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[Any] = []

    def post(*_: Any, **given: Any) -> Any:
        asked.append(given["json"]["events"])
        raise ConnectionError

    teller = Nova(post, pause=0.2)
    teller.tell([("server-1", ON)])
    while len(asked) < nova.ATTEMPTS:
        time.sleep(0.005)
    while not caplog.records:
        time.sleep(0.005)
    teller.tell([("server-2", ON)])  # in the pause after the last attempt
    while len(caplog.records) < 2:
        time.sleep(0.005)
    assert len(asked) == 2 * nova.ATTEMPTS
    teller.close()


def test_a_host_without_a_thread_to_spare_hurts_nobody_and_the_next_news_takes_the_other_along(
    cloud: Cloud, teller: Nova, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", full)
        teller.tell([("server-1", ON)])
    teller.tell([("server-2", OFF)])
    assert [event["server_uuid"] for event in cloud.wait(2)] == ["server-1", "server-2"]


def test_an_instance_that_nova_does_not_know_is_named_in_the_log(
    cloud: Cloud, teller: Nova, caplog: pytest.LogCaptureFixture
) -> None:
    cloud.unknown = {"server-1"}
    teller.tell([("server-1", ON), ("server-2", ON)])
    cloud.wait(2)
    while not caplog.records:
        time.sleep(0.005)
    assert [record.__dict__["instance"] for record in caplog.records] == ["server-1"]
    assert cloud.requests == 1


def test_what_waits_is_bounded() -> None:
    release = threading.Event()
    teller = Nova(lambda *_, **__: release.wait(10), pause=0.01)
    teller.tell([(f"server-{number}", ON) for number in range(nova.MOST + 500)])
    assert len(teller._waiting) <= nova.MOST
    teller.close()
    release.set()


def test_a_power_state_that_is_neither_on_nor_off_is_no_news() -> None:
    teller = Nova(lambda *_, **__: pytest.fail("told"))
    teller.tell([("server-1", "error")])
    assert not teller._waiting


@pytest.mark.parametrize("given", [{}, {"send_power_notifications": False}])
def test_nobody_is_told_where_it_is_not_configured(cloud: Cloud, given: dict[str, Any]) -> None:
    assert open_nova(Settings(**({**cloud.settings, **given} if given else {}))) is None


def test_an_account_without_a_password_is_refused_at_start(cloud: Cloud) -> None:
    with pytest.raises(ValueError, match="nova_auth_url needs nova_password"):
        Settings(nova_auth_url=cloud.url)


def test_without_its_library_the_start_is_refused(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name.startswith("keystoneauth1"):
            raise ImportError(name)
        return found(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(NovaLibraryMissing, match=r"rackwright\[nova\]"):
        open_nova(Settings(**cloud.settings, state_dir=tmp_path))
