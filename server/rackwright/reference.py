# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Print the pages of the documentation that are made from the code.

``python -m rackwright.reference --list`` prints the name and the path of each page, ``python -m rackwright.reference
<name>`` the page itself, ``--write`` writes all of them below the current folder. Call it from the root of the tree.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeGuard

from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo
from starlette.routing import BaseRoute

from rackwright import catalog
from rackwright.api.fields import Resource
from rackwright.api.schemas.allocation import ALLOCATION
from rackwright.api.schemas.chassis import CHASSIS
from rackwright.api.schemas.conductor import CONDUCTOR
from rackwright.api.schemas.deploy_template import DEPLOY_TEMPLATE
from rackwright.api.schemas.driver import DRIVER
from rackwright.api.schemas.history import HISTORY
from rackwright.api.schemas.inspection_rule import INSPECTION_RULE
from rackwright.api.schemas.node import NODE
from rackwright.api.schemas.port import PORT
from rackwright.api.schemas.portgroup import PORTGROUP
from rackwright.api.schemas.runbook import RUNBOOK
from rackwright.api.schemas.volume import CONNECTOR, TARGET
from rackwright.api.v1 import ROUTERS
from rackwright.api.versions import Since
from rackwright.catalog import Implementation
from rackwright.domain.states import TRAITS, TRANSITIONS, DeleteAllowed, Event, ProvisionState, Transition, Who
from rackwright.domain.steps_file import StepsFile
from rackwright.domain.verbs import PHASES, VERBS, Phase, Verb, phase_of, possible, transition_for
from rackwright.services import numbers
from rackwright.settings import Settings

_LATEST = max(max(verb.since, *verb.arguments.values(), *verb.since_in.values(), 0) for verb in VERBS.values())


@dataclass(frozen=True, slots=True)
class Page:
    """One generated file: where it is kept and the function that makes its text."""

    path: str
    make: Callable[[], str]


def states_page() -> str:
    """Return the page about the provision states: pictures, a paragraph for each state, what is legal where."""
    return "\n".join(
        [
            *_head("states", "Provision states"),
            "A verb is sent with `PUT /v1/nodes/{node}/states/provision`. In the pictures, events in parentheses are",
            "fired by Rackwright itself.",
            "",
            *_pictures(),
            "## Each state",
            "",
            *(line for state in ProvisionState for line in _paragraph(state)),
            "## Verbs",
            "",
            "| target | first version | in the body (first version) | event |",
            "|---|---|---|---|",
            *(
                f"| `{verb.target}` | {_first_versions(verb)} | {_arguments(verb.arguments)} | {verb.event} |"
                for verb in VERBS.values()
            ),
            "",
            "## What is legal where",
            "",
            "In any other pair of state and verb the answer is 400, or 409 while the node is locked.",
            "",
            "| state | verb and next state |",
            "|---|---|",
            *(f"| {state} | {_legal(state)} |" for state in ProvisionState),
            "",
            "\\* Ironic refuses this one.",
            "",
        ]
    )


def _first_versions(verb: Verb) -> str:
    return "; ".join([f"1.{verb.since}", *(f"in {state} 1.{since}" for state, since in verb.since_in.items())])


def steps_schema() -> str:
    """Return the JSON Schema of ``roles/*/meta/steps.yml``."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **StepsFile.model_json_schema()}
    return json.dumps(schema, indent=2) + "\n"


def settings_page() -> str:
    """Return the page about the settings of the daemon: name, type, default and meaning of each."""
    rows = (
        f"| `{name}` | {_kind(field)} | {_default(field)} | {field.description} |"
        for name, field in sorted(Settings.model_fields.items(), key=lambda each: "_interface" in each[0])
    )
    return "\n".join(
        [
            *_head("settings", "Settings"),
            "The command line goes before environment variables (`RACKWRIGHT_` and the name in capitals; lists as",
            "`a,b`, objects as `key:value,key:value`, both also as JSON), these before the TOML file that `--config`",
            "or `RACKWRIGHT_CONFIG` names. Times are in seconds. Where Ironic has the setting, name, unit and default",
            "are Ironic's, without its section.",
            "",
            "| name | type | default | meaning |",
            "|---|---|---|---|",
            *rows,
            "",
        ]
    )


_FOUND_AT_START = {"conductor_host": "the host name", "run_slots": "twice the processors"}


def _kind(field: FieldInfo) -> str:
    """Return the type of a setting in words."""
    annotation: Any = field.annotation
    schema = TypeAdapter(annotation).json_schema()
    return " or ".join(_word(each) for each in schema.get("anyOf", [schema]))


_KINDS = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "array": "list",
    "object": "object",
    "path": "path",
    "password": "text",
    "null": "null",
}


def _word(schema: Mapping[str, Any]) -> str:
    if choices := schema.get("enum"):
        return " or ".join(f"`{each}`" for each in choices)
    return _KINDS[schema.get("format") or schema["type"]]


def _default(field: FieldInfo) -> str:
    if field.default_factory is not None:
        return next(text for name, text in _FOUND_AT_START.items() if Settings.model_fields[name] is field)
    value = field.get_default()
    plain = [str(each) for each in value] if isinstance(value, tuple) else value
    return f"`{json.dumps(str(plain) if isinstance(plain, Path) else plain)}`"


def steps_page() -> str:
    """Return the page about the steps that the roles of the collection offer, by implementation of an interface."""
    offer = catalog.load(enabled=("fake-hardware", "redfish"))
    chosen = sorted(offer.implementations.items())
    return "\n".join(
        [
            *_head("steps", "Steps"),
            "A phase runs its prepare steps, its work steps and its finish steps; when one fails, the failure steps.",
            "Only work steps can be asked for by name; those with priority 0 run on request only. Steps of the agent",
            "join the list when it has booted. How a step is declared is told in",
            "[the architecture](../explanation/architecture.md); each is the task file of the same name in its role.",
            "",
            *(line for (kind, name), each in chosen for line in _implementation(f"{kind}/{name}", each)),
        ]
    )


def _implementation(title: str, implementation: Implementation) -> Iterable[str]:
    if not implementation.steps:
        return
    yield from (
        f"## {title}",
        "",
        "| phase | step | stage | priority | arguments | role |",
        "|---|---|---|---|---|---|",
    )
    for step in implementation.steps:
        stage = f"{step.stage}, failure" if step.on_failure else step.stage
        arguments = ", ".join(
            f"`{name}`{' (required)' if info.required else ''}" for name, info in step.argsinfo.items()
        )
        yield f"| {step.phase} | `{step.name}` | {stage} | {step.priority} | {arguments} | `{step.role}` |"
    yield ""


_RESOURCES = (
    NODE,
    PORT,
    PORTGROUP,
    CHASSIS,
    CONNECTOR,
    TARGET,
    DRIVER,
    CONDUCTOR,
    HISTORY,
    ALLOCATION,
    DEPLOY_TEMPLATE,
    RUNBOOK,
    INSPECTION_RULE,
)


def api_page() -> str:
    """Return the page about the API: every endpoint, and every field of every resource with its first version."""
    return "\n".join(
        [
            *_head("api", "The v1 API"),
            "The header `X-OpenStack-Ironic-API-Version` chooses a version; how it works is told in",
            "[API versions](../explanation/api-versions.md). An endpoint or field is there from its first one on.",
            "",
            "## Endpoints",
            "",
            "| endpoint | first version | what it does |",
            "|---|---|---|",
            *(_endpoint(route) for router in ROUTERS for route in router.routes if _is_told(route)),
            "",
            *(line for resource in _RESOURCES for line in _resource(resource)),
        ]
    )


def _is_told(route: BaseRoute) -> TypeGuard[APIRoute]:
    return isinstance(route, APIRoute) and route.include_in_schema


def _endpoint(route: APIRoute) -> str:
    gates = [each.dependency for each in route.dependencies]
    first = max((gate.first for gate in gates if isinstance(gate, Since)), default=1)
    return f"| `{' '.join(sorted(route.methods or ()))} {route.path}` | 1.{first} | {route.summary} |"


def _resource(resource: Resource) -> Iterable[str]:
    yield from (f"## Fields of a {resource.name}", "", "| field | type | first version | create | patch | |")
    yield "|---|---|---|---|---|---|"
    for each in resource.fields:
        create = "required" if each.required else "yes" if each.create else ""
        patch = "yes" if each.patch else ""
        yield f"| `{each.name}` | {_type(each.kind.schema)} | 1.{each.since} | {create} | {patch} | {each.about} |"
    yield ""


def _type(schema: Mapping[str, Any]) -> str:
    """Return a JSON schema in a few words."""
    choices = schema.get("anyOf", ())
    if choices and "type" not in schema:
        return " or ".join(_type(each) for each in choices)
    types = schema.get("type", "anything")
    name = " or ".join(types) if isinstance(types, list) else str(schema.get("format", types))
    longest = schema.get("maxLength")
    return f"{name} of at most {longest}" if longest else name


def metrics_page() -> str:
    """Return the page about the numbers for Prometheus: name, kind, labels and meaning of each."""
    rows = (
        f"| `{name}` | {kind} | {', '.join(f'`{label}`' for label in labels)} | {about} |"
        for name, kind, labels, about in numbers.described()
    )
    return "\n".join(
        [
            *_head("metrics", "Metrics"),
            "What `/metrics` tells; how to use it is told in [Watch the daemon and the fleet](../howto/observe.md).",
            "Gauges are read from the database when they are asked for. All others are noted by the processes, and",
            "go on when one is started again. A histogram is `_bucket`, `_sum` and `_count`; times are in seconds.",
            "",
            "| name | kind | labels | meaning |",
            "|---|---|---|---|",
            *rows,
            "",
        ]
    )


PAGES: Mapping[str, Page] = {
    "api": Page("docs/reference/api.md", api_page),
    "metrics": Page("docs/reference/metrics.md", metrics_page),
    "settings": Page("docs/reference/settings.md", settings_page),
    "states": Page("docs/explanation/states.md", states_page),
    "steps": Page("docs/reference/steps.md", steps_page),
    "steps-schema": Page("docs/reference/steps.schema.json", steps_schema),
}


def member_docs(enumeration: type[Enum]) -> dict[str, str]:
    """Return the text that stands below each member in the source, by member name."""
    (tree,) = ast.parse(inspect.getsource(enumeration)).body
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    return {
        member.targets[0].id: str(text.value.value)
        for member, text in pairwise(body)
        if isinstance(member, ast.Assign)
        and isinstance(member.targets[0], ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }


def _head(name: str, title: str) -> list[str]:
    return [f"<!-- Made by `python -m rackwright.reference {name}`; do not edit. -->", "", f"# {title}", ""]


def _family(state: ProvisionState) -> Phase | None:
    """Return the phase whose picture shows a state; None for a state in which nodes rest."""
    if TRAITS[state].stable:
        return None
    failing = (phase for phase, each in PHASES.items() if each.running and TRAITS[each.running].on_fail is state)
    return phase_of(state) or next(failing, None)


def _pictures() -> Iterable[str]:
    families: dict[Phase | None, list[Transition]] = {}
    for each in TRANSITIONS:
        families.setdefault(_family(each.target) or _family(each.source), []).append(each)
    for phase in (*Phase, None):
        if transitions := families.get(phase):
            yield from (f"## {phase.value.capitalize() if phase else 'At rest'}", "", "```mermaid", "stateDiagram-v2")
            shown = sorted({state for each in transitions for state in (each.source, each.target)})
            yield from (f'    state "{state}" as {_ident(state)}' for state in shown)
            yield from (_arrow(each) for each in transitions)
            yield from ("```", "")


def _arrow(each: Transition) -> str:
    label = each.event.value if each.who is Who.API else f"({each.event})"
    return f"    {_ident(each.source)} --> {_ident(each.target)}: {label}"


def _ident(state: ProvisionState) -> str:
    return re.sub(r"[^a-z]", "_", state.value)


_DELETION = {
    DeleteAllowed.NO: "The node can be removed in maintenance only.",
    DeleteAllowed.YES: "The node can be removed.",
    DeleteAllowed.CONFIG: "The node can be removed, unless `allow_deleting_available_nodes` is false.",
}


def _paragraph(state: ProvisionState) -> Iterable[str]:
    traits = TRAITS[state]
    facts = [
        member_docs(ProvisionState)[state.name],
        f"Target: `{traits.fsm_target}`." if traits.fsm_target else "The node rests here.",
        f"Failure leads to `{traits.on_fail}`." if traits.on_fail else "",
        "" if traits.power_api else "Clients cannot change the power.",
        "" if traits.power_sync else "The power is not compared with the BMC.",
        f"Ports are in the {traits.network_role} network." if traits.network_role != "idle" else "",
        _DELETION[traits.delete_allowed],
    ]
    yield from (f"### {state}", "", " ".join(fact for fact in facts if fact), "")


def _arguments(arguments: Mapping[str, int]) -> str:
    return ", ".join(f"`{name}` (1.{since})" for name, since in arguments.items())


def _legal(state: ProvisionState) -> str:
    found: dict[tuple[Event, str], list[str]] = {}
    for target in possible(state):
        each = transition_for(state, target, _LATEST)
        found.setdefault((each.event, each.target + ("\\*" if each.beyond_ironic else "")), []).append(f"`{target}`")
    return "; ".join(f"{', '.join(targets)} → {after}" for (_, after), targets in found.items()) or "none"


def main(arguments: list[str] | None = None) -> None:
    """Print or write the pages."""
    parser = argparse.ArgumentParser(prog="python -m rackwright.reference", description=inspect.getdoc(main))
    parser.add_argument("page", nargs="?", choices=sorted(PAGES), help="the page to print")
    parser.add_argument("--list", action="store_true", help="print name and path of each page")
    parser.add_argument("--write", action="store_true", help="write all pages below the current folder")
    chosen = parser.parse_args(arguments)
    if chosen.list:
        sys.stdout.writelines(f"{name} {page.path}\n" for name, page in PAGES.items())
    elif chosen.write:
        for page in PAGES.values():
            Path(page.path).write_text(page.make())
    elif chosen.page:
        sys.stdout.write(PAGES[chosen.page].make())
    else:
        parser.error("name a page, or use --list or --write")


if __name__ == "__main__":
    main()
