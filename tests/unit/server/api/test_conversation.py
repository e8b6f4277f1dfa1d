# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A conversation recorded with Ironic 39.0.0, held again with us."""

from __future__ import annotations

from tests.unit.server.api_house import House
from tests.unit.server.conversation import answers, recorded

ENDS = {
    "provision manage": "manageable",
    "node inspect": "manageable",
    "clean": "manageable",
    "power": "manageable",
    "provide": "available",
    "deploy": "active",
    "rescue": "rescue",
    "unrescue": "active",
    "undeploy": "available",
}
"""The state in which a conductor leaves node-1 after each request that starts work."""

KNOWN = {
    "node patch": ["/reservation"],  # no lock is held once the answer is given
    "conductor show": ["/drivers"],  # this one serves fewer
    "unknown path": ["/error_message/description"],  # ours says where the list of paths is
    "method not allowed": ["/error_message/description"],
}
"""Where we differ on purpose."""


def test_a_recorded_conversation_is_answered_as_ironic_answers_it(house: House) -> None:
    found = {}
    for sample in recorded("api_samples"):
        different = [each for each in answers(house, sample) if each not in KNOWN.get(sample["label"], [])]
        if different:
            found[sample["label"]] = different
        if sample["label"] in ENDS:
            house.settle("node-1", ENDS[sample["label"]])
    assert found == {}
