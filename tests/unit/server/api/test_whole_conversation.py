# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The whole conversation that was recorded with Ironic 39.0.0, held again in its order with a conductor at work."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rackwright.domain.outcomes import WaitFor
from rackwright.store import node as nodes
from rackwright.store.operation import Operation
from rackwright.store.session import writing
from tests.unit.server.conversation import Sample, answers
from tests.unit.server.site_house import Site

SAMPLES: list[Sample] = json.loads((Path(__file__).parents[1] / "fixtures" / "conversation.json").read_text())
AGENT_NODE = "22222222-2222-4222-8222-222222222222"
_OWN_NOTES = "the service's own notes, which clients have no use for"
_OFFER = "drivers and interfaces are those that installed roles implement; Ironic's further ones come with their roles"
_INTERFACES = [
    *(f"/default_{kind}_interface" for kind in ("bios", "boot", "firmware", "inspect", "raid", "vendor")),
    *(f"/enabled_{kind}_interfaces" for kind in ("bios", "boot", "deploy", "firmware", "inspect", "network", "raid")),
    *("/enabled_vendor_interfaces", "/enabled_management_interfaces/0", "/enabled_management_interfaces/1"),
]
_EMPTY_TEXT = "where Ironic says nothing, ours names the path and where the list of paths is"
DIFFERENT: Mapping[str, tuple[str, list[str]]] = {
    "node patch": ("a bug: the lock is shown that was held while the answer was made", ["/reservation"]),
    "node show active": (
        _OWN_NOTES,
        [f"/driver_internal_info/{name}" for name in ("clean_steps", "deploy_steps", "last_power_state_change")],
    ),
    "lookup in inspect wait": (
        _OWN_NOTES,
        [
            f"/node/driver_internal_info/{name}"
            for name in ("agent_token_proved", "inspector_manage_boot", "last_power_state_change")
        ],
    ),
    "driver list": (_OFFER, ["/drivers"]),
    "driver show": (_OFFER, _INTERFACES),
    "driver properties (values are free text)": (
        _OFFER,
        [
            *("/agent_verify_ca", "/bootloader", "/deploy_forces_oob_reboot", "/deploy_iso", "/fast_track"),
            "/image_http_proxy",
            *("/firmware_update_unresponsive_bmc_wait", "/force_persistent_boot_device", "/image_download_source"),
            *("/image_https_proxy", "/image_no_proxy", "/redfish_tls_ciphers", "/redfish_tls_minimum_version"),
            *("/rescue_iso",),
        ],
    ),
    "conductor show": (_OFFER, ["/drivers"]),
    "unknown path": (_EMPTY_TEXT, ["/error_message/description"]),
    "method not allowed": (_EMPTY_TEXT, ["/error_message/description"]),
}
"""Where we differ on purpose: the reason, and the places."""
NOT_OFFERED = ("driver properties ipmi (values are free text)",)
"""Samples of drivers that no role implements yet."""


def _second_node(site: Site) -> None:
    body = {"uuid": AGENT_NODE, "name": "node-2", "driver": "fake-hardware"}
    assert site.call("POST", "/nodes", body).status_code == 201
    port = {"node_uuid": AGENT_NODE, "address": "52:54:00:aa:bb:09"}
    assert site.call("POST", "/ports", port).status_code == 201


def _expects_report(site: Site) -> None:
    with writing(site.database) as session:
        node = nodes.get(AGENT_NODE, session=session)
        node.provision_state, node.target_provision_state = "inspect wait", "manageable"
        waiting: dict[str, Any] = {"phase": "inspect", "status": "waiting", "waits_for": WaitFor.INSPECTION}
        session.add_all((node, Operation(node_id=node.id or 0, **waiting)))
        session.commit()


def _image(site: Site) -> None:
    """Do what was done here and not recorded: name the image, and switch the console off."""
    source = "http://192.0.2.10"
    image = {"image_source": f"{source}/image.raw", "image_checksum": f"{source}/SHA256SUMS", "root_gb": "10"}
    image["image_type"] = "whole-disk"
    patch = [{"op": "add", "path": f"/instance_info/{name}", "value": value} for name, value in image.items()]
    assert site.call("PATCH", "/nodes/node-1", patch).status_code == 200
    assert site.call("PUT", "/nodes/node-1/states/console", {"enabled": False}).status_code == 202


BEFORE: Mapping[str, Callable[[Site], None]] = {
    "deploy": _image,
    "lookup of a node in a state without lookup": _second_node,
    "lookup in inspect wait": _expects_report,
    "continue inspection, no such node waiting": lambda site: site.settle(AGENT_NODE),
}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path, automated_clean=False)
    yield made
    made.close()


def _asked(sample: Sample, site: Site) -> Sample:
    """Return a sample with the token that the agent's node has now."""
    body = sample["request"].get("body")
    if not isinstance(body, dict) or body.get("agent_token") != "<token>":
        return sample
    kept = site.app.state.parts.sealer.unseal(site.look(AGENT_NODE).driver_internal_info)
    known = {**body, "agent_token": kept["agent_secret_token"]}
    return {**sample, "request": {**sample["request"], "body": known}}


def test_the_whole_conversation_is_answered_as_ironic_answers_it(site: Site) -> None:
    assert len(SAMPLES) == 105
    found: dict[str, Any] = {}
    for sample in SAMPLES:
        label = sample["label"]
        if prepare := BEFORE.get(label):
            prepare(site)
        different = [each for each in answers(site, _asked(sample, site)) if each not in _known(label)]
        if different and label not in NOT_OFFERED:
            found[label] = different
        if sample["request"]["path"] == "/v1/allocations" and sample["response"]["status"] == 201:
            site.allocated(sample["request"]["body"]["name"])
        if sample["response"]["status"] == 202 and "node-1" in sample["request"]["path"]:
            site.settle("node-1")
    assert found == {}, json.dumps(found, indent=1)


def _known(label: str) -> list[str]:
    return DIFFERENT.get(label, ("", []))[1]
