# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What the actions of inspection rules do, on a copy of the node, its ports and the plugin data.

Nothing is written here: what changed is noted in the scene, for the caller to check and store.
Source: ``contract/engine.md`` section 9, "Actions".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from rackwright.engine.inspection import with_capabilities
from rackwright.engine.traits import is_trait
from rackwright.store.node import Node
from rackwright.store.port import Port
from rackwright.store.sealing import mask_urls

Json = Mapping[str, Any]

_MOST_TRAITS = 50
_INTERFACES = tuple(name for name in Node.model_fields if name.endswith("_interface"))
NODE_FIELDS = (
    *("automated_clean", "chassis_uuid", "conductor_group", "description", "disable_power_off", "driver"),
    *("driver_info", "extra", "instance_info", "instance_name", "lessee", "maintenance", "name", "network_data"),
    *("owner", "parent_node", "properties", "resource_class", "retired", "retired_reason", "shard", *_INTERFACES),
)
"""The fields of a node that a rule may change: those that a client may change, without what belongs to an instance."""
PORT_FIELDS = (
    *("category", "description", "extra", "is_smartnic", "local_link_connection", "name", "physical_network"),
    *("pxe_enabled", "vendor"),
)
"""The fields of a port that a rule may change."""
_MISSING = object()


class ActionFailed(Exception):
    """An action cannot be carried out; the text says why."""


@dataclass(frozen=True, slots=True)
class HttpCall:
    """A GET request that a rule wants; times are seconds."""

    url: str
    headers: tuple[tuple[str, str], ...]
    proxies: tuple[tuple[str, str], ...]
    timeout: float
    retries: int
    backoff_factor: float


@dataclass(slots=True)
class Scene:
    """What rules look at and change: copies of the node and its ports, and what the inspection found."""

    node: dict[str, Any]
    ports: list[dict[str, Any]]
    inventory: Json
    plugin_data: dict[str, Any]
    answers: Mapping[HttpCall, str | None] = field(default_factory=dict)
    """The calls that were made already, with the error that each ended with."""
    node_changes: set[str] = field(default_factory=set)
    port_changes: dict[str, set[str]] = field(default_factory=dict)
    """By the UUID of the port."""
    messages: list[tuple[str, str]] = field(default_factory=list)
    """What rules want in the log: level and text."""
    calls: list[HttpCall] = field(default_factory=list)
    """The calls that rules want and that were not made yet."""


def steps_of(path: str) -> list[str]:
    """Return the parts of ``/a/b`` (a JSON pointer), ``a/b`` or ``a.b``; raise ActionFailed for an empty one."""
    found = path.strip("/").split("/") if "/" in path else path.split(".")
    parts = [part.replace("~1", "/").replace("~0", "~") for part in found]
    if not all(parts):
        raise ActionFailed(f"path {path!r} names nothing")
    return parts


def quoted_step(text: str) -> str:
    """Return a text as one part of a path."""
    return text.replace("~", "~0").replace("/", "~1")


def _child(holder: Any, name: str) -> Any:
    if isinstance(holder, dict):
        return holder.get(name, _MISSING)
    if isinstance(holder, list) and name.isascii() and name.isdigit() and int(name[:9]) < len(holder):
        return holder[int(name[:9])]
    return _MISSING


def _put(holder: Any, parts: list[str], value: Any) -> None:
    """Set what the parts lead to; objects that are missing on the way are made."""
    for place, part in enumerate(parts[:-1]):
        below = _child(holder, part)
        if below is _MISSING:
            below = {}
            _put_here(holder, part, below, parts[: place + 1])
        holder = below
    _put_here(holder, parts[-1], value, parts)


def _put_here(holder: Any, name: str, value: Any, parts: list[str]) -> None:
    if isinstance(holder, dict):
        holder[name] = value
    elif isinstance(holder, list) and name == "-":
        holder.append(value)
    elif _child(holder, name) is not _MISSING:
        holder[int(name[:9])] = value
    else:
        raise ActionFailed(f"/{'/'.join(parts)} cannot be set, because what holds it is no object")


def _get(holder: Any, parts: list[str]) -> Any:
    for part in parts:
        holder = _child(holder, part)
    return holder


def _drop(holder: Any, parts: list[str]) -> None:
    """Remove what the parts lead to, if it is there."""
    holder = _get(holder, parts[:-1])
    if isinstance(holder, dict):
        holder.pop(parts[-1], None)
    elif _child(holder, parts[-1]) is not _MISSING:
        del holder[int(parts[-1][:9])]


def _extended(present: Any, args: Json) -> list[Any]:
    if present is _MISSING or present is None:
        present = []
    if not isinstance(present, list):
        raise ActionFailed(f"{args['path']} is no list but {type(present).__name__}")
    return present if args["unique"] and args["value"] in present else [*present, args["value"]]


@dataclass(frozen=True, slots=True)
class Target:
    """A document that actions write to, and which of its fields they may write."""

    what: str
    table: type[Node] | type[Port]
    fields: tuple[str, ...]

    def set(self, row: dict[str, Any], path: str, value: Any) -> str:
        """Set a field or what is below it; return the field's name."""
        parts = self.checked(path)
        _put(row, parts, value)
        row[parts[0]] = self.valid(parts[0], row[parts[0]])
        return parts[0]

    def extend(self, row: dict[str, Any], args: Json) -> str:
        """Append to a list at a path; return the field's name."""
        return self.set(row, args["path"], _extended(_get(row, self.checked(args["path"])), args))

    def unset(self, row: dict[str, Any], path: str) -> str:
        """Remove what is below a field, or give the field its default; return the field's name."""
        parts = self.checked(path)
        if parts[1:]:
            _drop(row, parts)
        elif self.table.model_fields[parts[0]].is_required():
            raise ActionFailed(f"{self.what} cannot be without {parts[0]}")
        else:
            row[parts[0]] = self.table.model_fields[parts[0]].get_default(call_default_factory=True)
        return parts[0]

    def checked(self, path: str) -> list[str]:
        """Return the parts of a path, the first of which is a field; raise ActionFailed."""
        parts = steps_of(path)
        if parts[0] not in self.fields:
            raise ActionFailed(
                f"{parts[0]} of {self.what} cannot be changed by a rule; possible: {', '.join(self.fields)}"
            )
        return parts

    def valid(self, name: str, value: Any) -> Any:
        """Return the value as the field keeps it; raise ActionFailed."""
        info: FieldInfo = self.table.model_fields[name]
        kind: Any = Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation
        try:
            return TypeAdapter(kind).validate_python(value)
        except ValidationError as error:
            problem = error.errors(include_url=False, include_input=False)[0]["msg"]
            raise ActionFailed(f"{name} of {self.what} cannot have this value: {problem}") from error


NODE = Target("the node", Node, NODE_FIELDS)
PORT = Target("a port", Port, PORT_FIELDS)


def _port_of(scene: Scene, ident: str) -> dict[str, Any]:
    for port in scene.ports:
        if ident and ident.lower() in (port["uuid"], port["address"], (port["name"] or "").lower()):
            return port
    raise ActionFailed(f"the node has no port {ident}; a port is named by its UUID, MAC address or name")


def _note_port(scene: Scene, port: dict[str, Any], name: str) -> None:
    scene.port_changes.setdefault(port["uuid"], set()).add(name)


def _set_port(scene: Scene, args: Json) -> None:
    port = _port_of(scene, args["port_id"])
    _note_port(scene, port, PORT.set(port, args["path"], args["value"]))


def _extend_port(scene: Scene, args: Json) -> None:
    port = _port_of(scene, args["port_id"])
    _note_port(scene, port, PORT.extend(port, args))


def _unset_port(scene: Scene, args: Json) -> None:
    port = _port_of(scene, args["port_id"])
    _note_port(scene, port, PORT.unset(port, args["path"]))


def _fail(_scene: Scene, args: Json) -> None:
    raise ActionFailed(args["msg"])


def _log(scene: Scene, args: Json) -> None:
    scene.messages.append((args["level"], args["msg"]))


def check_capability(name: str, value: object = "") -> None:
    """Raise ActionFailed unless a capability may be called so and have this value."""
    if not name or set(name) & set(":,") or "," in str(value):
        raise ActionFailed(f"capability {name}: neither : nor , is possible in it")


def check_trait(name: str) -> None:
    """Raise ActionFailed unless this is a trait."""
    if not is_trait(name):
        raise ActionFailed(f"{name} cannot be added: it is no trait; write CUSTOM_ and A-Z, 0-9, _ for one of your own")


def check_url(url: str) -> None:
    """Raise ActionFailed unless a rule may call this URL."""
    if not url.lower().startswith(("http://", "https://")):
        raise ActionFailed(f"{mask_urls(url)} is no http or https URL")


def _capability(scene: Scene, name: str, value: str | None) -> None:
    check_capability(name, value or "")
    properties = scene.node["properties"]
    known = with_capabilities(properties.get("capabilities"), {} if value is None else {name: value})
    kept = [pair for pair in known.split(",") if pair and (value is not None or pair.split(":", 1)[0] != name)]
    properties["capabilities"] = ",".join(kept)
    scene.node_changes.add("properties")


def _add_trait(scene: Scene, args: Json) -> None:
    check_trait(args["name"])
    traits = {*scene.node["traits"], args["name"]}
    if len(traits) > _MOST_TRAITS:
        raise ActionFailed(f"{args['name']} cannot be added: the node has {_MOST_TRAITS} traits already")
    scene.node["traits"] = sorted(traits)
    scene.node_changes.add("traits")


def _remove_trait(scene: Scene, args: Json) -> None:
    scene.node["traits"] = [each for each in scene.node["traits"] if each != args["name"]]
    scene.node_changes.add("traits")


def _extend_data(scene: Scene, args: Json) -> None:
    parts = steps_of(args["path"])
    _put(scene.plugin_data, parts, _extended(_get(scene.plugin_data, parts), args))


def _call(scene: Scene, args: Json) -> None:
    check_url(args["url"])
    call = HttpCall(
        url=args["url"],
        headers=tuple((args["headers"] or {}).items()),
        proxies=tuple((args["proxies"] or {}).items()),
        timeout=args["timeout"],
        retries=args["retries"],
        backoff_factor=args["backoff_factor"],
    )
    if call not in scene.answers:
        scene.calls.append(call)
    elif error := scene.answers[call]:
        raise ActionFailed(error)


EFFECTS: Mapping[str, Callable[[Scene, Json], None]] = MappingProxyType(
    {
        "fail": _fail,
        "log": _log,
        "set-attribute": lambda scene, args: scene.node_changes.add(NODE.set(scene.node, args["path"], args["value"])),
        "extend-attribute": lambda scene, args: scene.node_changes.add(NODE.extend(scene.node, args)),
        "del-attribute": lambda scene, args: scene.node_changes.add(NODE.unset(scene.node, args["path"])),
        "set-capability": lambda scene, args: _capability(scene, args["name"], str(args["value"])),
        "unset-capability": lambda scene, args: _capability(scene, args["name"], None),
        "add-trait": _add_trait,
        "remove-trait": _remove_trait,
        "set-plugin-data": lambda scene, args: _put(scene.plugin_data, steps_of(args["path"]), args["value"]),
        "extend-plugin-data": _extend_data,
        "unset-plugin-data": lambda scene, args: _drop(scene.plugin_data, steps_of(args["path"])),
        "set-port-attribute": _set_port,
        "extend-port-attribute": _extend_port,
        "del-port-attribute": _unset_port,
        "api-call": _call,
    }
)
"""Each action: the function that does it to a scene; raises ActionFailed."""
