# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether each interface of a node has all that it needs (contract: api.yaml, /validate)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rackwright.catalog import Implementation
from rackwright.domain.errors import Invalid, RackwrightError
from rackwright.domain.verbs import Interface
from rackwright.services import access
from rackwright.services.context import Context
from rackwright.store.node import Node

_REPORTED = tuple(kind for kind in Interface if kind is not Interface.VENDOR)
_WRITES_IMAGES = ("autodetect", "direct")
_REMOTE = ("http://", "https://")


def report(node: Node, *, context: Context) -> dict[str, dict[str, Any]]:
    """Return for each interface but vendor ``result``, and where it is false the ``reason``."""
    access.demand("baremetal:node:validate", node, context=context)
    found = {kind.value: problem(node, kind, context=context) for kind in _REPORTED}
    return {
        kind: {"result": True} if reason is None else {"result": False, "reason": reason}
        for kind, reason in found.items()
    }


def check(node: Node, *kinds: Interface, attempted: str, context: Context) -> None:
    """Raise Invalid unless these interfaces of the node have all that they need."""
    problems = {kind: problem(node, kind, context=context) for kind in kinds}
    reasons = [f"{kind}: {reason}" for kind, reason in problems.items() if reason is not None]
    if reasons:
        raise Invalid(f"{attempted} of node {node.uuid} is not possible. {'; '.join(reasons)}.")


def problem(node: Node, kind: Interface, *, context: Context) -> str | None:
    """Return what one interface of a node lacks, None when it lacks nothing."""
    try:
        implementation = _implementation(node, kind, context)
    except RackwrightError as error:
        return error.message.rstrip(".")
    if not implementation.supported:
        return f"the {kind} interface {implementation.name} offers nothing; choose another {kind}_interface"
    look = _FURTHER.get(kind, _nothing_more)
    lacks = [*_missing_properties(node, implementation), *look(node, implementation, context)]
    return "; ".join(lacks) or None


def _implementation(node: Node, kind: Interface, context: Context) -> Implementation:
    defaults = context.catalog.default_interfaces(node.driver)
    name = getattr(node, f"{kind}_interface") or defaults.get(kind)
    if name is None:
        raise Invalid(f"driver {node.driver} offers no {kind} interface")
    return context.catalog.implementation(kind, name)


def _missing_properties(node: Node, implementation: Implementation) -> Iterator[str]:
    for key, wanted in implementation.properties.items():
        if wanted.required and node.driver_info.get(key) in (None, ""):
            yield f"driver_info lacks {key} ({wanted.description.rstrip('.')})"


_Look = Callable[[Node, Implementation, Context], Iterator[str]]


def _nothing_more(_node: Node, _implementation: Implementation, _context: Context) -> Iterator[str]:
    yield from ()


def _boot(node: Node, implementation: Implementation, context: Context) -> Iterator[str]:
    """Tell which part of the deploy ramdisk is missing."""
    yield from _ramdisk("deploy", node, implementation, context)


def _rescue(node: Node, implementation: Implementation, context: Context) -> Iterator[str]:
    """Tell which part of the rescue ramdisk is missing."""
    yield from _ramdisk("rescue", node, implementation, context)


def _ramdisk(kind: str, node: Node, implementation: Implementation, context: Context) -> Iterator[str]:
    """Tell which part of a ramdisk neither the node nor the settings name."""
    info = node.driver_info
    for key in (f"{kind}_kernel", f"{kind}_ramdisk"):
        wanted = key in implementation.properties and not info.get(f"{kind}_iso")
        if wanted and not info.get(key) and getattr(context.settings, key) is None:
            yield f"{key} is set neither in driver_info nor in the settings"


def _deploy(node: Node, implementation: Implementation, _context: Context) -> Iterator[str]:
    """Tell what is missing to write an image."""
    if implementation.name not in _WRITES_IMAGES:
        return
    info = node.instance_info
    source = info.get("image_source")
    if not isinstance(source, str) or not source:
        yield "instance_info lacks image_source, the URL of the image"
    elif source.startswith(_REMOTE) and not _has_checksum(info):
        yield "instance_info lacks image_checksum, or image_os_hash_algo and image_os_hash_value, of the image"


def _has_checksum(info: Mapping[str, Any]) -> bool:
    return bool(info.get("image_checksum") or (info.get("image_os_hash_algo") and info.get("image_os_hash_value")))


_FURTHER: Mapping[Interface, _Look] = {Interface.BOOT: _boot, Interface.DEPLOY: _deploy, Interface.RESCUE: _rescue}
