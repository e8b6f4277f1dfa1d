# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Read what roles and hardware types declare, and refuse what is declared wrongly, naming the file.

A role declares in ``meta/steps.yml`` what it implements and the steps it offers; the arguments of a step are described
in its ``meta/argument_specs.yml`` only. A hardware type is ``meta/hardware_types/<name>.yml`` of a collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from rackwright.catalog.locate import Collection, locate, locate_ours
from rackwright.catalog.offer import Catalog, HardwareType, Implementation
from rackwright.domain.errors import CatalogInvalid
from rackwright.domain.steps import ArgInfo, Step
from rackwright.domain.steps_file import StepDeclaration, StepsFile
from rackwright.domain.verbs import Interface

Model = TypeVar("Model", bound=BaseModel)
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class HardwareTypeDeclaration(BaseModel):
    """``meta/hardware_types/<name>.yml`` of a collection."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    interfaces: dict[Interface, tuple[str, ...]]


def load(*, enabled: Sequence[str], root: Path | None = None, step_collections: Sequence[str] = ()) -> Catalog:
    """Return the catalog of our collection and of ``step_collections``, with the ``enabled`` hardware types.

    Raises CatalogInvalid with the file and the reason when something is missing or declared wrongly.
    """
    ours = locate_ours(root)
    collections = (ours, *(_locate_further(name, ours) for name in step_collections))
    implementations: dict[tuple[Interface, str], Implementation] = {}
    for collection in collections:
        for file in sorted(collection.path.glob("roles/*/meta/steps.yml")):
            for part in _role(collection, file):
                key = (part.kind, part.name)
                implementations[key] = _joined(implementations[key], part) if key in implementations else part
    declared = _hardware_types(collections)
    missing = sorted(set(enabled) - declared.keys())
    if missing:
        raise CatalogInvalid(
            f"Setting enabled_hardware_types names {', '.join(missing)}, which no installed collection declares. "
            f"Declared: {', '.join(sorted(declared))}."
        )
    types = {name: _offered(declared[name], implementations) for name in enabled}
    return Catalog(collections, types, implementations)


def _locate_further(name: str, ours: Collection) -> Collection:
    beside = ours.root / "ansible_collections" / name.replace(".", "/")
    return locate(name, ours.root if beside.is_dir() else None)


def _hardware_types(collections: Iterable[Collection]) -> dict[str, tuple[Path, HardwareTypeDeclaration]]:
    found: dict[str, tuple[Path, HardwareTypeDeclaration]] = {}
    for collection in collections:
        for file in sorted(collection.path.glob("meta/hardware_types/*.yml")):
            declared = _checked(HardwareTypeDeclaration, file)
            if declared.name in found:
                reason = f"hardware type {declared.name} is already declared in {found[declared.name][0]}"
                raise CatalogInvalid(where=file, reason=reason)
            found[declared.name] = (file, declared)
    return found


def _offered(
    declared: tuple[Path, HardwareTypeDeclaration], implementations: dict[tuple[Interface, str], Implementation]
) -> HardwareType:
    """Return the hardware type with the implementations that a role really offers."""
    file, wanted = declared
    interfaces = {
        kind: tuple(name for name in names if (kind, name) in implementations)
        for kind, names in wanted.interfaces.items()
    }
    empty = [kind.value for kind in Interface if not interfaces.get(kind)]
    if empty:
        raise CatalogInvalid(where=file, reason=f"no installed role implements what it lists for {', '.join(empty)}")
    return HardwareType(wanted.name, interfaces)


def _joined(first: Implementation, second: Implementation) -> Implementation:
    """Return one implementation out of the parts that two roles hold."""
    return Implementation(
        kind=first.kind,
        name=first.name,
        steps=first.steps + second.steps,
        properties={**first.properties, **second.properties},
        supported=first.supported and second.supported,
        protocol=first.protocol or second.protocol,
    )


def _role(collection: Collection, file: Path) -> Iterable[Implementation]:
    role = file.parents[1]
    declared = _checked(StepsFile, file)
    options = _argument_options(role)
    steps = [_step(item, f"{collection.name}.{role.name}", options, file) for item in declared.steps]
    kinds = {item.interface for item in declared.implements}
    for step in steps:
        if step.interface not in kinds:
            reason = f"step {step.key} belongs to an interface that the role does not implement"
            raise CatalogInvalid(where=file, reason=reason)
        if not (role / "tasks" / f"{step.tasks}.yml").is_file():
            raise CatalogInvalid(where=file, reason=f"step {step.key} has no task file tasks/{step.tasks}.yml")
    for item in declared.implements:
        own = tuple(step for step in steps if step.interface is item.interface)
        yield Implementation(
            item.interface, item.name, own, declared.properties | item.properties, item.supported, item.protocol
        )


def _step(item: StepDeclaration, role: str, options: dict[str, dict[str, Any]], file: Path) -> Step:
    """Return a declared step, with its public arguments described as the role's argument specification does."""
    entry = options.get(item.tasks or item.name, {})
    missing = sorted(variable for variable in item.args.values() if variable not in entry)
    if missing:
        reason = f"meta/argument_specs.yml does not describe {', '.join(missing)} of step {item.name}"
        raise CatalogInvalid(where=file, reason=reason)
    return item.step(role, {public: _described(entry[variable]) for public, variable in item.args.items()})


def _described(option: dict[str, Any]) -> ArgInfo:
    text = option.get("description", "")
    words = " ".join(text) if isinstance(text, list) else str(text)
    return ArgInfo(description=words, required=bool(option.get("required", False)))


def _argument_options(role: Path) -> dict[str, dict[str, Any]]:
    """Return the options of each entry point of a role."""
    file = role / "meta" / "argument_specs.yml"
    content = _read(file) if file.is_file() else {}
    try:
        entries = content.get("argument_specs", {})
        return {str(name): dict(entry.get("options") or {}) for name, entry in entries.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise CatalogInvalid(where=file, reason=str(error)) from error


def _checked(model: type[Model], file: Path) -> Model:
    try:
        return model.model_validate(_read(file))
    except ValidationError as error:
        raise CatalogInvalid(where=file, reason=str(error)) from error


def _read(file: Path) -> Any:
    try:
        return yaml.load(file.read_text(encoding="utf-8"), Loader=LOADER)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise CatalogInvalid(where=file, reason=f"it cannot be read: {error}") from error
