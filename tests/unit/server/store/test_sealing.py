# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from rackwright.domain.errors import OperationFailed
from rackwright.store.sealing import MASK, Sealer, holds_seal, is_secret, read_key

DATA: dict[str, Any] = {
    "redfish_username": "admin",
    "redfish_password": "geheim",
    "Agent_Secret_Token": "geheim",
    "agent_secret_token_pregenerated": True,
    "deep": {"list": [{"ssl_private_key": "geheim", "plain": 1}], "passwords": ["geheim", {"plain": "open"}]},
    "configdrive": {"user_data": "geheim"},
    "image_url": "http://geheim",
    "nothing_secret": None,
    "token_ttl": 30,
}


@pytest.fixture
def sealer() -> Sealer:
    return Sealer(Fernet.generate_key())


def test_secrets_are_not_readable_once_sealed_and_come_back_unsealed(sealer: Sealer) -> None:
    sealed = sealer.seal(DATA)
    assert "geheim" not in str(sealed)
    assert sealed["redfish_username"] == "admin"
    assert sealer.unseal(sealed) == DATA


def test_sealing_twice_is_sealing_once(sealer: Sealer) -> None:
    sealed = sealer.seal(DATA)
    assert sealer.seal(sealed) == sealed


@pytest.mark.parametrize("form", ["plain", "sealed"])
def test_a_mask_shows_stars_for_every_secret(sealer: Sealer, form: str) -> None:
    masked = sealer.mask(DATA if form == "plain" else sealer.seal(DATA))
    assert masked == {
        "redfish_username": "admin",
        "redfish_password": MASK,
        "Agent_Secret_Token": MASK,
        "agent_secret_token_pregenerated": True,
        "deep": {"list": [{"ssl_private_key": MASK, "plain": 1}], "passwords": [MASK, {"plain": "open"}]},
        "configdrive": MASK,
        "image_url": MASK,
        "nothing_secret": None,
        "token_ttl": 30,
    }


def test_a_mask_opens_nothing(sealer: Sealer) -> None:
    assert Sealer(Fernet.generate_key()).mask(sealer.seal(DATA)) == sealer.mask(DATA)


@pytest.mark.parametrize("forged", [{"$sealed": "x"}, {"$sealed": 5}, {"$sealed": None}, {"$sealed": ["x"]}])
def test_a_secret_that_cannot_be_opened_tells_what_to_do(sealer: Sealer, forged: Any) -> None:
    with pytest.raises(OperationFailed, match=r"secret\.key"):
        sealer.unseal({"password": forged})


def test_another_key_opens_nothing(sealer: Sealer) -> None:
    with pytest.raises(OperationFailed):
        Sealer(Fernet.generate_key()).unseal(sealer.seal({"password": "geheim"}))


WORDS = (
    *("password", "adminpass", "admin_pass", "admin_password", "auth_password", "auth_token", "token"),
    *("new_pass", "secret", "secret_uuid", "sys_pswd", "configdrive", "chappassword", "chapsecret"),
    *("encrypted_key", "private_key", "fernetkey", "sslkey", "passphrase", "snmp_auth_key", "snmp_priv_key"),
)


@pytest.mark.parametrize("word", WORDS)
def test_every_word_of_the_contract_marks_a_secret(word: str) -> None:
    assert is_secret(f"my_{word.upper()}_2")


@pytest.mark.parametrize(
    "name",
    [
        *("pass", "bmc_pass", "passwd", "root_pwd", "api_key", "apikey", "credentials", "snmp_community"),
        *("ssh_key", "ipmi_hex_kg_key", "Authorization", "Cookie"),
    ],
)
def test_words_that_people_use_for_secrets_mark_one(sealer: Sealer, name: str) -> None:
    sealed = sealer.seal({"deep": [{name: "geheim"}]})
    assert "geheim" not in str(sealed)
    assert sealer.mask(sealed) == sealer.mask({"deep": [{name: "geheim"}]}) == {"deep": [{name: MASK}]}
    assert sealer.unseal(sealed) == {"deep": [{name: "geheim"}]}


@pytest.mark.parametrize("name", ["username", "address", "image_source", "key", "bypass", "passive", "keyboard"])
def test_other_words_mark_none(name: str) -> None:
    assert not is_secret(name)


def test_what_a_role_declares_as_secret_is_sealed_and_masked() -> None:
    sealer = Sealer(Fernet.generate_key(), ["acme_pin"])
    sealed = sealer.seal({"acme_pin": "1234", "acme_pins": "open"})
    assert "1234" not in str(sealed)
    assert sealer.mask(sealed) == {"acme_pin": MASK, "acme_pins": "open"}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://admin:geheim@bmc/redfish", f"https://admin:{MASK}@bmc/redfish"),
        ("https://admin:ge@heim@bmc/redfish", f"https://admin:{MASK}@bmc/redfish"),
        ("http://:geheim@proxy:3128", f"http://:{MASK}@proxy:3128"),
        ("see http://a:b@c and http://d:e@f", f"see http://a:{MASK}@c and http://d:{MASK}@f"),
        ("https://bmc:8443/a@b", "https://bmc:8443/a@b"),
        ("https://bmc?mail=a:b@c", "https://bmc?mail=a:b@c"),
        ("admin@bmc", "admin@bmc"),
    ],
)
def test_a_password_in_a_url_is_masked_and_the_rest_is_shown(sealer: Sealer, url: str, shown: str) -> None:
    assert sealer.mask({"address": url, "deep": [{"proxies": [url]}]}) == {
        "address": shown,
        "deep": [{"proxies": [shown]}],
    }


def test_urls_of_images_come_back_as_clients_sent_them(sealer: Sealer) -> None:
    info = {"image_source": "http://a:b@c/x", "image_checksum": "http://a:b@c/y", "boot_iso": "http://a:b@c/z"}
    assert sealer.mask(sealer.seal(info)) == info


def test_a_seal_is_found_however_deep() -> None:
    assert holds_seal({"a": [{"b": {"$sealed": 1}}]})
    assert not holds_seal({"a": ["$sealed", {"b": "$sealed"}]})


def test_the_key_file_is_made_once_and_private(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: read_key(path), range(8)))
    assert len(keys) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["secret.key"]
    Sealer(keys.pop())
