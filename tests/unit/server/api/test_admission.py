# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Who is let in, asked over HTTP (contract: api.yaml, auth)."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import bcrypt
import pytest

from rackwright.app import create_app
from rackwright.auth.basic import UsersInvalid
from rackwright.services.policy import PolicyInvalid
from rackwright.settings import Settings
from rackwright_lab.certificate import make_certificate
from tests.unit.server.api_house import House
from tests.unit.server.keystone_house import GuardedHouse, Keystone, settings


def basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "htpasswd"
    file.write_text(f"alice:{bcrypt.hashpw(b'wonderland', bcrypt.gensalt(4)).decode()}\n")
    return file


class BasicHouse(House):
    def call(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        more["headers"] = basic("alice", "wonderland") | more.get("headers", {})
        return super().call(method, path, body, **more)


@pytest.fixture
def users(file: Path, tmp_path: Path) -> BasicHouse:
    return BasicHouse(tmp_path, auth_strategy="http_basic", http_basic_auth_user_file=file)


@pytest.mark.parametrize("headers", [{"Authorization": ""}, basic("alice", "wrong"), basic("mallory", "wonderland")])
def test_without_the_right_password_the_answer_asks_for_it(users: BasicHouse, headers: dict[str, str]) -> None:
    answer = users.call("GET", "/nodes", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == 'Basic realm="Baremetal API", charset="UTF-8"'
    assert answer.json()["error"]["code"] == 401
    assert answer.json()["error"]["message"]
    assert answer.headers["openstack-request-id"].startswith("req-")
    assert "x-openstack-ironic-api-maximum-version" in answer.headers


def test_a_header_that_cannot_be_read_is_a_bad_request(users: BasicHouse) -> None:
    answer = users.call("GET", "/nodes", headers={"Authorization": "Basic ???"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, 400)
    assert "www-authenticate" not in answer.headers


def test_who_knows_the_password_may_do_everything_and_is_named_in_operations(users: BasicHouse) -> None:
    node = users.node(provision_state="manageable", owner="somebody")
    wish = {"target": "clean", "clean_steps": [{"interface": "bios", "step": "factory_reset"}]}
    assert users.call("PUT", f"/nodes/{node}/states/provision", wish).status_code == 202
    (operation,) = users.call("GET", f"//rackwright/v1/nodes/{node}/operations").json()["operations"]
    assert operation["user"] == "alice"


def test_a_file_of_users_that_is_broken_while_the_daemon_runs_makes_it_unavailable(
    users: BasicHouse, file: Path
) -> None:
    assert users.call("GET", "/nodes").status_code == 200
    file.write_text("broken")
    answer = users.call("GET", "/nodes")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, 503)


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/lookup?node_uuid=99999999-9999-4999-8999-999999999999"])
def test_public_paths_need_no_password(users: BasicHouse, path: str) -> None:
    answer = users.client.get(path, headers={"X-OpenStack-Ironic-API-Version": "1.115"})
    assert answer.status_code in (200, 404)


@pytest.mark.parametrize("token", [None, "", "unknown"])
def test_without_a_good_token_the_answer_tells_where_to_get_one(
    keystone: Keystone, tmp_path: Path, token: str | None
) -> None:
    house = GuardedHouse(tmp_path, keystone)
    answer = house.client.get("/v1/nodes", headers={} if token is None else {"X-Auth-Token": token})
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, 401)
    assert answer.headers["WWW-Authenticate"] == f'Keystone uri="{keystone.url}"'


def test_a_token_is_asked_about_once_for_many_requests(keystone: Keystone, tmp_path: Path) -> None:
    house = GuardedHouse(tmp_path, keystone)
    for _ in range(5):
        assert house.call("GET", "/nodes").status_code == 200
    assert keystone.asked.count(house.token("admin@system")) == 1


def test_a_keystone_that_does_not_answer_is_no_fault_of_the_client(keystone: Keystone, tmp_path: Path) -> None:
    house = GuardedHouse(tmp_path, keystone)
    keystone.broken = True
    try:
        answer = house.call("GET", "/nodes")
    finally:
        keystone.broken = False
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, 503)
    assert house.call("GET", "/nodes").status_code == 200


def test_authorities_that_were_removed_later_are_no_fault_of_the_client(keystone: Keystone, tmp_path: Path) -> None:
    file, _key = make_certificate(tmp_path, "127.0.0.1")
    house = GuardedHouse(tmp_path, keystone, keystone_cafile=file, keystone_auth_url="https://127.0.0.1:9")
    file.unlink()
    answer = house.call("GET", "/nodes")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, 503)
    assert "identity service" in answer.json()["error"]["message"]


def test_a_body_of_somebody_unknown_is_not_looked_at(keystone: Keystone, tmp_path: Path) -> None:
    house = GuardedHouse(tmp_path, keystone)
    for body, known in ((b"[" * 100, 400), (b"x" * 2_000_000, 413)):
        statuses = {
            token: house.client.post("/v1/nodes", content=body, headers={"X-Auth-Token": token}).status_code
            for token in ("unknown", house.token("admin@system"))
        }
        assert [*statuses.values()] == [401, known]


def test_a_daemon_that_is_open_to_others_says_so_at_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    House(tmp_path / "loopback")
    assert "may do anything" not in caplog.text
    House(tmp_path / "open", host_ip="0.0.0.0", trust_network=True)
    assert "may do anything" in caplog.text


def test_what_a_strategy_lacks_is_told_at_start(keystone: Keystone, tmp_path: Path) -> None:
    with pytest.raises(UsersInvalid, match=re.escape(str(tmp_path / "none"))):
        create_app(
            Settings(state_dir=tmp_path, auth_strategy="http_basic", http_basic_auth_user_file=tmp_path / "none"),
        )
    with pytest.raises(PolicyInvalid, match=re.escape(str(tmp_path / "none"))):
        create_app(Settings(state_dir=tmp_path, policy_file=tmp_path / "none", **settings(keystone)))


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        (None, "No such file"),
        ("baremetal:node:gte: '@'", "there is no rule baremetal:node:gte"),
        ("baremetal:node:get: 'role admin'", "baremetal:node:get"),
    ],
)
@pytest.mark.parametrize("strategy", ["noauth", "http_basic"])
def test_rules_that_cannot_be_used_are_told_at_start_whoever_may_ask(
    strategy: str, rules: str | None, reason: str, file: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    if rules is not None:
        policy.write_text(rules)
    given: dict[str, Any] = {"auth_strategy": strategy, "http_basic_auth_user_file": file}
    with pytest.raises(PolicyInvalid, match=re.escape(str(policy))) as caught:
        create_app(Settings(state_dir=tmp_path, policy_file=policy, **given))
    assert reason in caught.value.message


def test_rules_take_no_part_where_nobody_has_roles(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("baremetal:node:list: '!'")
    assert House(tmp_path, policy_file=policy).call("GET", "/nodes").status_code == 200
