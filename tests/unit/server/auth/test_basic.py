# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import base64
import os
from functools import partial
from pathlib import Path
from time import perf_counter

import bcrypt
import pytest

from rackwright.auth.basic import Basic, HeaderInvalid, UsersInvalid, UsersUnavailable
from rackwright.domain.errors import Unauthenticated
from rackwright.settings import Settings


def line(user: str, password: str, rounds: int = 4) -> str:
    return f"{user}:{bcrypt.hashpw(password.encode(), bcrypt.gensalt(rounds)).decode()}"


def header(user: str, password: str, scheme: str = "Basic") -> str:
    return f"{scheme} {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "htpasswd"
    file.write_text(f"# users\n\n{line('alice', 'wonder:land')}\n{line('bob', 'builder')}\n")
    return file


def strategy(file: Path) -> Basic:
    return Basic(Settings(auth_strategy="http_basic", http_basic_auth_user_file=file))


def replace(file: Path, text: str) -> None:
    """Write a new file in the place of the old one, with another time."""
    before = file.stat().st_mtime_ns if file.exists() else 0
    file.write_text(text)
    os.utime(file, ns=(before + 1_000_000, before + 1_000_000))


@pytest.mark.parametrize("scheme", ["Basic", "basic"])
def test_who_knows_the_password_is_let_in(file: Path, scheme: str) -> None:
    found = strategy(file).check(header("alice", "wonder:land", scheme))
    assert (found.user_id, found.user_name, found.project_id) == ("alice", "alice", None)


def test_hashes_as_htpasswd_writes_them_are_read(file: Path) -> None:
    replace(file, line("carol", "swordfish").replace("$2b$", "$2y$"))
    assert strategy(file).check(header("carol", "swordfish")).user_id == "carol"


@pytest.mark.parametrize(
    ("user", "password"),
    [("alice", "builder"), ("mallory", "builder"), ("", ""), ("alice", ""), ("alice", "wonder:land" + "x" * 80)],
)
def test_wrong_names_and_passwords_are_refused_alike(file: Path, user: str, password: str) -> None:
    with pytest.raises(Unauthenticated) as caught:
        strategy(file).check(header(user, password))
    assert caught.value.message == "Name or password are wrong."


@pytest.mark.parametrize(
    "given",
    ["Basic", "Basic !!!", "Bearer YTpi", "YTpi", header("a", "b").replace("Basic ", "Basic %"), "Basic YQ==",
     "Basic gIA=", header("alice", "pass\0word")],
)  # fmt: skip
def test_a_header_that_is_none_of_basic_authentication_is_a_bad_request(file: Path, given: str) -> None:
    with pytest.raises(HeaderInvalid):
        strategy(file).check(given)


def test_an_unknown_user_takes_as_long_as_a_known_one(file: Path) -> None:
    replace(file, line("alice", "wonderland", rounds=10))
    auth = strategy(file)

    def seconds(user: str) -> float:
        start = perf_counter()
        with pytest.raises(Unauthenticated):
            auth.check(header(user, "wrong"))
        return perf_counter() - start

    known, unknown = min(seconds("alice") for _ in range(3)), min(seconds("mallory") for _ in range(3))
    assert known / 3 < unknown < known * 3


def test_a_password_is_hashed_once(file: Path) -> None:
    replace(file, line("alice", "wonderland", rounds=10))
    auth, given = strategy(file), header("alice", "wonderland")
    assert auth.remembered(given) is None
    start = perf_counter()
    auth.check(given)
    hashed, start = perf_counter() - start, perf_counter()
    assert all(auth.remembered(given) is not None for _ in range(100))
    assert (perf_counter() - start) / 100 < hashed / 20


def test_a_removed_user_and_a_changed_password_are_out_at_once(file: Path) -> None:
    auth, alice, bob = strategy(file), header("alice", "wonder:land"), header("bob", "builder")
    auth.check(alice)
    auth.check(bob)
    replace(file, f"{line('bob', 'new')}\n{line('carol', 'added')}\n")
    assert auth.remembered(alice) is None
    assert auth.remembered(bob) is None
    for old in (alice, bob):
        with pytest.raises(Unauthenticated):
            auth.check(old)
    assert auth.check(header("carol", "added")).user_id == "carol"


def test_users_whose_lines_did_not_change_stay_known(file: Path) -> None:
    auth, alice = strategy(file), header("alice", "wonder:land")
    auth.check(alice)
    replace(file, file.read_text() + line("carol", "added"))
    assert auth.remembered(alice) is not None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no user"),
        ("alice:$apr1$abc$def\n", "line 1"),
        ("# head\nalice\n", "line 2"),
        (":$2b$04$" + "a" * 53, "line 1"),
        ("alice:$2b$04$" + "a" * 52, "line 1"),
    ],
)
def test_a_file_that_holds_no_bcrypt_hashes_is_refused_at_start_with_its_line(
    file: Path, text: str, reason: str
) -> None:
    file.write_text(text)
    with pytest.raises(UsersInvalid, match=reason) as caught:
        strategy(file)
    assert str(file) in caught.value.message


def test_a_file_that_is_gone_or_broken_lets_nobody_in_until_it_is_mended(file: Path) -> None:
    auth, alice, text = strategy(file), header("alice", "wonder:land"), file.read_text()
    auth.check(alice)
    for damage in (partial(replace, file, "half a li"), file.unlink):
        damage()
        with pytest.raises(UsersUnavailable):
            auth.remembered(alice)
        with pytest.raises(UsersUnavailable):
            auth.check(alice)
    replace(file, text)
    assert auth.check(alice).user_id == "alice"


def test_neither_passwords_nor_hashes_are_shown(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    auth = strategy(file)
    with pytest.raises(Unauthenticated):
        auth.check(header("alice", "hunter2"))
    assert "hunter2" not in caplog.text
    assert "$2b$" not in caplog.text
