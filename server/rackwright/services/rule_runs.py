# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Inspection rules meet a report: which rules run, and how what they changed is checked and stored.

Source: ``contract/engine.md`` section 9, "Rules".
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

from rackwright.domain.errors import Conflict, Duplicate, Forbidden, Invalid
from rackwright.engine.inspection_actions import HttpCall, Scene
from rackwright.engine.inspection_rules import Rule, Unseal, built_in, in_order, run
from rackwright.services import node_rules
from rackwright.services.context import Context
from rackwright.services.node_rules import Change
from rackwright.store import port as ports
from rackwright.store.inspection_rule import INSPECTION_RULES
from rackwright.store.node import SEALED_FIELDS, Node
from rackwright.store.sealing import mask_urls

Answers = Mapping[HttpCall, str | None]
"""HTTP calls that were made, with the error that each ended with."""

log = logging.getLogger(__name__)

_LEVELS = logging.getLevelNamesMapping()
_TRY_AGAIN = (500, 502, 503, 504)


def run_all(
    node: Node, inventory: dict[str, Any], plugin_data: dict[str, Any], *, answers: Answers, context: Context
) -> list[HttpCall]:
    """Run every rule on a node and what its inspection found; ``plugin_data`` is changed in place.

    The changes are in the session, for the caller to commit or roll back. Return the HTTP calls that are still to be
    made: make them (``call``), roll back, and run the rules once more with their answers. Raise InspectionFailed, with
    the rule and the step that failed.
    """
    context.session.flush()
    missing: list[HttpCall] = []
    for rule in _rules(context):
        scene = _scene(node, inventory, plugin_data, answers, context)
        if run(rule, scene, unseal=_unseal(rule, context)):
            _store(rule, scene, node, context)
        missing += scene.calls
        if not missing:
            _say(scene, rule, node)
    return missing


def call(wanted: HttpCall) -> str | None:
    """Make a GET request and forget its answer; return what went wrong."""
    # Here, because few rules call anybody, and these take 4 MB of memory.
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry

    retry = Retry(wanted.retries, backoff_factor=wanted.backoff_factor, status_forcelist=_TRY_AGAIN)
    with requests.Session() as session:
        session.trust_env = False  # the credentials of our own .netrc are for nobody that a rule names
        for prefix in ("http://", "https://"):
            session.mount(prefix, HTTPAdapter(max_retries=retry))
        try:
            answer = session.get(
                wanted.url,
                headers=dict(wanted.headers),
                proxies=dict(wanted.proxies),
                timeout=wanted.timeout,
                allow_redirects=False,
                stream=True,
            )
            answer.close()
            answer.raise_for_status()
        except requests.RequestException as error:
            return mask_urls(f"GET {wanted.url} failed: {error}")
    return None


def _rules(context: Context) -> Iterable[Rule]:
    rows = INSPECTION_RULES.find(session=context.session, phase="main")
    return in_order([*built_in(context.settings.built_in_rules), *(Rule.of(row.model_dump()) for row in rows)])


def _unseal(rule: Rule, context: Context) -> Unseal | None:
    shown = {"always": False, "sensitive": rule.sensitive, "never": True}[context.settings.mask_secrets]
    return context.sealer.unseal if shown else None


def _scene(
    node: Node, inventory: dict[str, Any], plugin_data: dict[str, Any], answers: Answers, context: Context
) -> Scene:
    known = ports.of_node(node.id or 0, session=context.session)
    return Scene(
        node=deepcopy(node.model_dump(exclude={"id"})),
        ports=[deepcopy(port.model_dump(exclude={"id", "node_id"})) for port in known],
        inventory=inventory,
        plugin_data=plugin_data,
        answers=answers,
    )


def _store(rule: Rule, scene: Scene, node: Node, context: Context) -> None:
    """Put into the session what a rule changed, under the rules that hold for changes by a client too."""
    values = {name: scene.node[name] for name in scene.node_changes - {"traits"}}
    own = replace(context, policy=None)  # rules are the operator's, whoever sent the report
    change = Change(node, values, own, reset_interfaces="driver" in values)
    try:
        if values:
            node_rules.check(change)
        _store_ports(scene, context)
    except (Invalid, Conflict, Forbidden) as error:
        raise rule.failed("its changes were refused", error.message) from error
    for name, value in change.values.items():
        setattr(node, name, context.sealer.seal(value) if name in SEALED_FIELDS else value)
    if "traits" in scene.node_changes:
        node.traits = scene.node["traits"]
    context.session.add(node)
    context.session.flush()


def _store_ports(scene: Scene, context: Context) -> None:
    session = context.session
    changed = {port["uuid"]: port for port in scene.ports if port["uuid"] in scene.port_changes}
    for uuid, row in changed.items():
        port = ports.get(uuid, session=session)
        if row["name"] is not None and ports.taken("name", row["name"], besides=port.id, session=session):
            raise Duplicate(what="A port with name", ident=row["name"])
        for name in scene.port_changes[uuid]:
            setattr(port, name, row[name])
        session.add(port)


def _say(scene: Scene, rule: Rule, node: Node) -> None:
    for level, text in scene.messages:
        facts = {"action": "inspection rule", "node": node.uuid, "rule": rule.name, "text": text}
        log.log(_LEVELS[level.upper()], "An inspection rule says something", extra=facts)
