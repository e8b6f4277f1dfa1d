# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What agents in ramdisks ask: which node am I (lookup), and I am alive (heartbeat).

Agents send no credentials. A token ties an agent to its node: it is handed out once, every heartbeat must prove it, and
every command to the agent carries it. Source: ``contract/agent-protocol.md`` section 1.
"""

from __future__ import annotations

import hmac
import logging
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cryptography import x509
from sqlmodel import Session

from rackwright.domain.errors import Invalid, MissingParameter, NodeNotFound
from rackwright.domain.outcomes import WaitFor, cut
from rackwright.domain.states import ProvisionState, StateTraits
from rackwright.engine import fast_track
from rackwright.engine.inventory import identifying, macs
from rackwright.engine.operations import wake
from rackwright.services.context import Context, check_unlocked
from rackwright.store import node as nodes
from rackwright.store import port as ports
from rackwright.store.node import Node
from rackwright.store.sealing import MASK, Sealer
from rackwright.store.session import writing

if TYPE_CHECKING:
    from rackwright.settings import Settings

TOKENS_SINCE = 62
"""First API version (minor) in which lookup hands out tokens."""

TOKEN = "agent_secret_token"
PREGENERATED = "agent_secret_token_pregenerated"
PROVED = "agent_token_proved"
"""Keys of driver_internal_info; the last one is true once a heartbeat has carried the token."""

STATUSES = ("start", "end", "error")
_TOKEN_BYTES = 32  # 43 characters of text
_TEXT_LIMIT = 1024
_HOST = re.compile(r"[\w.-]+|[0-9a-f:.]+(%[\w.-]+)?", re.ASCII)
_BMC_IS_KNOWN = ("redfish", "idrac-redfish")  # management interfaces whose agents need not look for their BMC

log = logging.getLogger(__name__)


class CallbackInvalid(Invalid):
    """The callback_url of the heartbeat cannot be used: {reason}."""


class AgentChanged(Invalid):
    """The heartbeat of node {node} carries another {what} than before; boot the ramdisk again to start afresh."""


class TokenInvalid(Invalid):
    """The agent token of the heartbeat is not the one of node {node}; boot the ramdisk again to get a new one."""


class HeartbeatInvalid(Invalid):
    """The heartbeat cannot be used: {reason}."""


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a lookup: the node, and what its agent has to know."""

    node: Node
    config: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What an agent says of itself, and when we heard it."""

    callback_url: str
    agent_token: str | None = None
    agent_version: str | None = None
    agent_verify_ca: str | None = None
    agent_status: str | None = None
    agent_status_message: str | None = None
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


def lookup(addresses: Sequence[str], node_uuid: str | None, *, context: Context) -> Found:
    """Return the node that an agent runs on, found by UUID or else by the addresses of its interfaces, and its config.

    Makes a token from version 1.62 on. Raises MissingParameter without a valid UUID or address, NodeNotFound when no
    node or more than one fits or the state expects no agent, NodeLocked when a token is due while a run has the node.
    """
    valid = macs(addresses)
    if not node_uuid and not valid:
        raise MissingParameter(name="A node_uuid or a valid hardware address in addresses")
    settings = context.settings
    node = _find(valid, node_uuid, context.session, settings)
    token = MASK if context.minor >= TOKENS_SINCE else None
    if token is not None and not _keeps_token(node):
        with writing(context.engine) as session:  # the session of a GET only reads
            node = _find(valid, node_uuid, session, settings, lock=True)
            token = hand_out_token(node, context.sealer)
            session.add(node)
            session.commit()
    return Found(node, config(node, token, settings))


def _find(
    addresses: Sequence[str], node_uuid: str | None, session: Session, settings: Settings, *, lock: bool = False
) -> Node:
    """Return the node that may be looked up."""
    if node_uuid:
        found: Sequence[Node] = [nodes.get(node_uuid, session=session)]
    else:
        found = candidates(addresses, session=session)
    open_ones = [node for node in found if not settings.restrict_lookup or _may_look_up(node, settings)]
    if len(open_ones) != 1:
        names = [f"{node.uuid} ({node.provision_state})" for node in found]
        log.warning("Lookup fits no single node", extra={"addresses": list(addresses), "candidates": names})
        raise NodeNotFound(ident=node_uuid or f"with one of the addresses {', '.join(addresses)}")
    return nodes.get(open_ones[0].uuid, session=session, lock=True) if lock else open_ones[0]


def candidates(addresses: Sequence[str], *, session: Session) -> Sequence[Node]:
    """Return the nodes that have ports with these addresses; addresses that several machines share do not decide."""
    matched = ports.owners(addresses, session=session)
    decisive = identifying(address for address, _ in matched)
    ids = dict.fromkeys(node_id for address, node_id in matched if address in decisive)
    return [nodes.by_id(node_id, session=session) for node_id in ids]


def hand_out_token(node: Node, sealer: Sealer) -> str:
    """Return a new token for the agent of a node, or ``******`` when its agent has one already.

    A token that no heartbeat has carried yet may never have arrived, so the next lookup replaces it; one that was built
    into the ramdisk did arrive. Raises NodeLocked when a token is due while a run has the node.
    """
    if _keeps_token(node):
        return MASK
    check_unlocked(node)
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    node.driver_internal_info = {**node.driver_internal_info, **sealer.seal({TOKEN: token}), PROVED: False}
    return token


def _keeps_token(node: Node) -> bool:
    info = node.driver_internal_info
    return bool(info.get(TOKEN) and (info.get(PREGENERATED) or info.get(PROVED)))


def config(node: Node, token: str | None, settings: Settings) -> dict[str, Any]:
    """Return what an agent is told about its work (contract: "Lookup details")."""
    return {
        "metrics": {
            "backend": "noop",
            "prepend_host": False,
            "prepend_uuid": False,
            "prepend_host_reverse": True,
            "global_prefix": None,
        },
        "metrics_statsd": {"statsd_host": "localhost", "statsd_port": 8125},
        "heartbeat_timeout": settings.ramdisk_heartbeat_timeout,
        "agent_containers": {
            "allow_arbitrary_containers": False,
            "allowed_containers": [],
            "container_steps_file": "/etc/ironic-python-agent.d/mysteps.yaml",
            "runner": "podman",
            "pull_options": [],
            "run_options": ["--rm", "--network=host"],
        },
        "agent_token": token,
        "agent_token_required": True,
        "agent_md5_checksum_enable": settings.allow_md5_checksum,
        "disable_deep_image_inspection": settings.disable_deep_image_inspection,
        "permitted_image_formats": list(settings.permitted_image_formats),
        "agent_skip_bmc_detect": node.management_interface in _BMC_IS_KNOWN,
        "enable_bios_bootloader_install": False,
        "tls_min_version": settings.tls_minimum_version,
        "tls_cipher_suites": None,
    }


def heartbeat(ident: str, beat: Heartbeat, *, context: Context) -> None:
    """Record that the agent of a node is alive, and wake the operation that waits for it.

    Raises NodeNotFound; Invalid for a body, token, address or certificate that cannot be accepted; NodeLocked for the
    first heartbeat of an agent while a run has the node: the agent repeats it.
    """
    _check(beat, context.settings)
    session = context.session
    node = nodes.get(ident, session=session, lock=True)
    info = node.driver_internal_info
    _check_token(node, beat, context.sealer)
    for key, new in (("agent_url", beat.callback_url), ("agent_verify_ca", beat.agent_verify_ca)):
        if new is not None and info.get(key) not in (None, new):
            raise AgentChanged(node=node.uuid, what=key)
    if info.get("agent_url") is None:
        check_unlocked(node)
    traits = _traits(node)
    fast = traits.heartbeat_fast_track or traits.lookup_fast_track  # an inspecting agent's one is its last for minutes
    counts = traits.heartbeat or (fast and fast_track.is_on(node, context.settings))
    seen = _seen(beat) if counts else {PROVED: True}
    node.driver_internal_info = {**info, **seen}
    session.add(node)
    if traits.heartbeat and not traits.heartbeat_record_only:
        _go_on(node, beat, session)
    session.commit()


def _check(beat: Heartbeat, settings: Settings) -> None:
    """Refuse what is wrong whatever the node."""
    if beat.agent_token is None:
        raise MissingParameter(name="agent_token")
    if beat.agent_version is None and beat.agent_status is None:
        raise MissingParameter(name="agent_version")
    if beat.agent_status is not None and beat.agent_status not in STATUSES:
        raise HeartbeatInvalid(reason=f"agent_status must be one of {', '.join(STATUSES)}")
    _check_url(beat.callback_url, settings)
    if beat.agent_verify_ca is not None and not _is_certificate(beat.agent_verify_ca):
        raise HeartbeatInvalid(reason="agent_verify_ca must be one certificate as PEM text")


def _check_url(url: str, settings: Settings) -> None:
    if not url:
        return
    if len(url) > _TEXT_LIMIT or not url.isprintable() or " " in url:
        raise CallbackInvalid(reason=f"it must be printable, without spaces and at most {_TEXT_LIMIT} characters long")
    try:
        parts = urlsplit(url)
        usable = bool(_HOST.fullmatch(parts.hostname or "")) and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        usable = False
    if not usable or parts.scheme not in ("http", "https"):
        raise CallbackInvalid(reason="it must be an http or https URL with a host")
    if settings.require_tls and parts.scheme != "https":
        raise CallbackInvalid(reason="the setting require_tls demands https")


def _is_certificate(text: str) -> bool:
    try:
        return len(x509.load_pem_x509_certificates(text.encode())) == 1
    except ValueError:
        return False


def _check_token(node: Node, beat: Heartbeat, sealer: Sealer) -> None:
    stored = sealer.unseal({TOKEN: node.driver_internal_info.get(TOKEN)})[TOKEN]
    given = (beat.agent_token or "").encode()
    if not isinstance(stored, str) or not hmac.compare_digest(stored.encode(), given):
        log.warning("Heartbeat with a wrong token refused", extra={"node": node.uuid})
        raise TokenInvalid(node=node.uuid)


def _seen(beat: Heartbeat) -> dict[str, Any]:
    """Return what a heartbeat leaves in driver_internal_info; times are naive UTC text there."""
    told = {
        "agent_url": beat.callback_url,
        "agent_version": beat.agent_version and cut(beat.agent_version, _TEXT_LIMIT),
        "agent_verify_ca": beat.agent_verify_ca,
        "agent_status": beat.agent_status,
        "agent_status_message": beat.agent_status_message and cut(beat.agent_status_message, _TEXT_LIMIT),
    }
    at = beat.at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
    return {key: value for key, value in told.items() if value is not None} | {"agent_last_heartbeat": at, PROVED: True}


def _go_on(node: Node, beat: Heartbeat, session: Session) -> None:
    if node.maintenance:
        log.warning("Heartbeat recorded, but a node in maintenance does not go on", extra={"node": node.uuid})
        return
    node.provision_updated_at = beat.at
    wake(session, node, WaitFor.AGENT)


def _may_look_up(node: Node, settings: Settings) -> bool:
    traits = _traits(node)
    return traits.lookup or (traits.lookup_fast_track and fast_track.is_on(node, settings))


def _traits(node: Node) -> StateTraits:
    return ProvisionState(node.provision_state).traits
