# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rackwright.auth.keystone import Keystone as Strategy
from rackwright.auth.keystone import KeystoneUnavailable
from rackwright.domain.errors import Unauthenticated
from rackwright.settings import Settings
from rackwright_lab.certificate import make_certificate
from tests.unit.server import keystone_house
from tests.unit.server.keystone_house import Keystone, identity_service


@pytest.fixture
def keystone() -> Iterator[Keystone]:
    with identity_service() as found:
        yield found


class Clock:
    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


def strategy(keystone: Keystone, clock: Clock | None = None, **more: Any) -> Strategy:
    return Strategy(Settings(**{**keystone_house.settings(keystone), **more}), clock=clock or Clock())


def test_a_token_tells_user_project_and_roles(keystone: Keystone) -> None:
    found = strategy(keystone).check(keystone.token("member", project="p1"))
    assert (found.user_id, found.user_name, found.project_id, found.project_name) == (
        "p1-member",
        "p1-member",
        "p1",
        "p1",
    )
    assert found.roles == frozenset({"reader", "member"})
    assert (found.system_scope, found.project_domain_id) == (None, "default")


def test_a_token_of_the_whole_deployment_has_no_project(keystone: Keystone) -> None:
    found = strategy(keystone).check(keystone.token("reader", system=True))
    assert (found.system_scope, found.project_id) == ("all", None)


def test_the_url_of_the_service_may_end_in_its_version(keystone: Keystone) -> None:
    found = strategy(keystone, keystone_auth_url=f"{keystone.url}/v3/").check(keystone.token("reader", project="p1"))
    assert found.project_id == "p1"


def test_a_token_is_asked_about_once(keystone: Keystone) -> None:
    auth, token = strategy(keystone), keystone.token("member", project="p1")
    assert auth.remembered(token) is None
    assert auth.check(token) == auth.remembered(token)
    assert keystone.asked == [token]


def test_a_token_is_asked_about_again_after_the_time_of_the_setting(keystone: Keystone) -> None:
    clock = Clock()
    auth, token = strategy(keystone, clock, token_cache_time=20), keystone.token("member", project="p1")
    auth.check(token)
    clock.now += 19
    assert auth.remembered(token) is not None
    clock.now += 2
    assert auth.remembered(token) is None


def test_a_token_is_never_believed_beyond_its_end(keystone: Keystone) -> None:
    clock = Clock()
    auth, token = strategy(keystone, clock), keystone.token("member", project="p1", seconds=10)
    auth.check(token)
    clock.now += 11
    assert auth.remembered(token) is None
    with pytest.raises(Unauthenticated, match="expired"):
        auth.check(token)


def test_the_memory_of_tokens_is_bounded(keystone: Keystone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rackwright.auth.base._SIZE", 3)
    auth = strategy(keystone)
    tokens = [keystone.token("member", project=f"p{number}") for number in range(5)]
    for token in tokens:
        auth.check(token)
    assert [auth.remembered(token) is not None for token in tokens] == [False, False, True, True, True]


@pytest.mark.parametrize("token", ["unknown", "with space", "ümlaut", "x" * 9000])
def test_a_wrong_token_is_refused_and_not_remembered(keystone: Keystone, token: str) -> None:
    auth = strategy(keystone)
    with pytest.raises(Unauthenticated):
        auth.check(token)
    assert auth.remembered(token) is None


def test_a_wrong_account_or_a_broken_service_is_not_the_fault_of_the_client(keystone: Keystone) -> None:
    token = keystone.token("member", project="p1")
    with pytest.raises(KeystoneUnavailable):
        strategy(keystone, keystone_password="wrong").check(token)
    auth = strategy(keystone)
    keystone.broken = True
    with pytest.raises(KeystoneUnavailable):
        auth.check(token)
    keystone.broken = False
    assert auth.check(token).project_id == "p1"


def test_authorities_that_were_removed_later_are_not_the_fault_of_the_client(
    keystone: Keystone, tmp_path: Path
) -> None:
    file, _key = make_certificate(tmp_path, "127.0.0.1")
    auth = strategy(keystone, keystone_cafile=file, keystone_auth_url="https://127.0.0.1:9")
    file.unlink()
    with pytest.raises(KeystoneUnavailable, match="log of the daemon"):
        auth.check("token")


@pytest.mark.parametrize("lost", ["expires_at", "roles"])
def test_an_answer_that_is_no_token_is_not_the_fault_of_the_client(keystone: Keystone, lost: str) -> None:
    token = keystone.token("member", project="p1")
    auth = strategy(keystone)
    keystone.tokens[token][lost] = [None]
    with pytest.raises(KeystoneUnavailable):
        auth.check(token)


def test_a_service_that_nobody_runs_is_unavailable(keystone: Keystone) -> None:
    with pytest.raises(KeystoneUnavailable):
        strategy(keystone, keystone_auth_url="http://127.0.0.1:9").check("token")


def test_an_account_whose_own_token_was_revoked_gets_another(keystone: Keystone) -> None:
    auth = strategy(keystone)
    auth.check(keystone.token("member", project="p1"))
    keystone.tokens.clear()
    assert auth.check(keystone.token("member", project="p2")).project_id == "p2"


def test_the_challenge_names_the_service_that_clients_reach(keystone: Keystone) -> None:
    assert strategy(keystone).challenge == f'Keystone uri="{keystone.url}"'
    shown = strategy(keystone, www_authenticate_uri="https://keystone.example").challenge
    assert shown == 'Keystone uri="https://keystone.example"'


def test_an_expired_token_counts_while_a_service_vouches_for_it(keystone: Keystone) -> None:
    auth = strategy(keystone)
    expired, service = keystone.token("member", project="p1", seconds=-5), keystone.token("service", project="service")
    with pytest.raises(Unauthenticated):
        auth.check(expired)
    assert auth.check_vouched(expired, service).project_id == "p1"
    assert auth.remembered(expired) is None, "without the service's token it counts no more"
    with pytest.raises(Unauthenticated):
        auth.check(expired)


def test_a_good_token_beside_a_service_token_is_asked_about_once(keystone: Keystone) -> None:
    auth = strategy(keystone)
    token, service = keystone.token("member", project="p1"), keystone.token("service", project="service")
    for _ in range(2):
        assert auth.check_vouched(token, service).user_id == "p1-member"
    assert sorted(keystone.asked) == sorted([token, service])


@pytest.mark.parametrize("roles", [("Service",), ("other", "service")])
def test_the_roles_that_vouch_are_a_setting_in_any_case(keystone: Keystone, roles: tuple[str, ...]) -> None:
    auth = strategy(keystone, service_token_roles=roles)
    expired = keystone.token("member", project="p1", seconds=-5)
    assert auth.check_vouched(expired, keystone.token("SERVICE", project="service")).project_id == "p1"


def test_who_has_no_such_role_or_no_good_token_vouches_for_nobody(keystone: Keystone) -> None:
    auth = strategy(keystone)
    good, admin = keystone.token("member", project="p1"), keystone.token("admin", system=True)
    with pytest.raises(Unauthenticated, match="x-service-token needs one of these roles in its scope: service"):
        auth.check_vouched(good, admin)
    for wrong in ("unknown", keystone.token("service", project="service", seconds=-5)):
        with pytest.raises(Unauthenticated, match="x-service-token does not count"):
            auth.check_vouched(good, wrong)


def test_a_token_that_keystone_does_not_know_is_refused_whoever_vouches(keystone: Keystone) -> None:
    with pytest.raises(Unauthenticated, match="unknown or no longer valid"):
        strategy(keystone).check_vouched("unknown", keystone.token("service", project="service"))
