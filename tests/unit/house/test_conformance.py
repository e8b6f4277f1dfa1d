# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What a run of real clients is judged by."""

import os
from pathlib import Path

import pytest
import yaml

from tests.conformance import rack
from tests.conformance.__main__ import PEERS, found, placed
from tests.conformance.checks import KNOWN, Check, Verdict, judge

LIST = """
client:
  checks: 2
  not_passing:
    - {check: "test_of_*", outcome: failed, reason: It does not work there either.}
"""


@pytest.fixture
def known(tmp_path: Path) -> Path:
    file = tmp_path / "known.yml"
    file.write_text(LIST)
    return file


def names(verdict: Verdict) -> tuple[list[str], ...]:
    return tuple([each.name for each in sorted_in] for sorted_in in (verdict.passed, verdict.known, verdict.wrong))


def test_a_failure_that_is_not_listed_is_wrong(known: Path) -> None:
    verdict = judge("client", [Check("one", "passed"), Check("two", "failed")], file=known)
    assert (names(verdict), verdict.is_good) == ((["one"], [], ["two"]), False)


def test_a_listed_failure_is_no_fault_of_ours(known: Path) -> None:
    verdict = judge("client", [Check("one", "passed"), Check("test_of_two", "failed")], file=known)
    assert (names(verdict), verdict.is_good) == ((["one"], ["test_of_two"], []), True)


def test_a_check_that_is_skipped_instead_of_tried_is_wrong(known: Path) -> None:
    verdict = judge("client", [Check("one", "skipped"), Check("test_of_two", "skipped")], file=known)
    assert (names(verdict), verdict.is_good) == (([], [], ["one", "test_of_two"]), False)


def test_a_listed_check_that_passes_is_told(known: Path) -> None:
    verdict = judge("client", [Check("one", "passed"), Check("test_of_two", "passed")], file=known)
    assert [each.name for each in verdict.better] == ["test_of_two"]
    assert verdict.is_good


def test_fewer_checks_than_there_are_is_wrong(known: Path) -> None:
    verdict = judge("client", [Check("one", "passed")], file=known)
    assert (verdict.missing, verdict.is_good) == (1, False)


def test_every_client_has_its_count_and_every_listed_check_its_reason() -> None:
    listed = yaml.safe_load(KNOWN.read_text())
    assert listed.keys() == PEERS.keys()
    for told in listed.values():
        assert told["checks"] > 0
        assert all(len(one["reason"]) > 20 for one in told["not_passing"])


def test_without_root_a_client_of_the_rack_fails_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (told,) = found(PEERS["nova_lab"], "rackwright", tmp_path)
    assert (told.outcome, "Run this as root." in told.text) == ("failed", True)


def test_a_program_that_the_rack_lacks_is_named_with_where_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(rack, "PROGRAMS", ("sh", "no-such-program"))
    (told,) = found(PEERS["nova_lab"], "rackwright", tmp_path)
    assert told.outcome == "failed"
    assert "no-such-program not installed. Run `make system`" in told.text


def test_only_what_stands_alone_or_behind_keystone_is_compared_with_a_real_ironic() -> None:
    assert {name for name, peer in PEERS.items() if not peer.is_for("ironic")} == {"nova_lab"}


def test_virtual_machines_are_for_the_clients_of_the_rack_alone() -> None:
    changed = {name: placed(peer, True).place for name, peer in PEERS.items() if placed(peer, True) != peer}
    assert changed == {"nova_lab": "virtual rack"}
