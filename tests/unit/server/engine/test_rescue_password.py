# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from oslo_utils import secretutils

from rackwright.engine.rescue_password import hashed


@pytest.mark.parametrize(("algorithm", "mark"), [("sha256", "$5$"), ("sha512", "$6$")])
def test_a_password_is_hashed_as_a_login_checks_it_each_time_with_another_salt(algorithm: str, mark: str) -> None:
    first, second = hashed("pässword", algorithm), hashed("pässword", algorithm)
    assert first.startswith(mark) and first != second
    assert secretutils.crypt_password("pässword", first) == first


def test_passwords_that_are_hashed_at_the_same_time_do_not_mix() -> None:
    words = [f"password {number}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda word: hashed(word, "sha256"), words))
    assert [secretutils.crypt_password(word, each) for word, each in zip(words, found, strict=True)] == found
