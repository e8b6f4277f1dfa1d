# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What the settings leave of the offer: the implementations that are enabled, the default of each interface first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rackwright.catalog.load import load
from rackwright.catalog.offer import Catalog, HardwareType
from rackwright.domain.errors import CatalogInvalid
from rackwright.domain.verbs import Interface
from rackwright.settings import Settings


class ChoiceInvalid(CatalogInvalid):
    """Setting {setting} cannot be {value}: {reason}. Possible: {possible}."""


def installed(settings: Settings) -> Catalog:
    """Return what the installed collections offer and the settings leave of it; raise CatalogInvalid."""
    whole = load(
        enabled=settings.enabled_hardware_types,
        root=settings.collection_root,
        step_collections=settings.step_collections,
    )
    return chosen(whole, settings)


def chosen(offer: Catalog, settings: Settings) -> Catalog:
    """Return the offer with what ``enabled_<kind>_interfaces`` and ``default_<kind>_interface`` leave of it.

    Raise ChoiceInvalid for a name that no role implements, for a default that a hardware type cannot use, and when
    nothing is left for an interface of a hardware type.
    """
    for kind in Interface:
        known = sorted(name for each, name in offer.implementations if each is kind)
        for name in _enabled(kind, settings):
            if name not in known:
                raise _invalid(_setting(kind), name, "no installed role implements it", known)
    types = {name: _narrowed(each, settings) for name, each in offer.hardware_types.items()}
    return replace(offer, hardware_types=types)


def _narrowed(whole: HardwareType, settings: Settings) -> HardwareType:
    interfaces = {kind: _left(whole.name, kind, names, settings) for kind, names in whole.interfaces.items()}
    left_out = {
        kind: tuple(name for name in names if name not in interfaces[kind]) for kind, names in whole.interfaces.items()
    }
    return replace(whole, interfaces=interfaces, left_out=left_out)


def _left(driver: str, kind: Interface, names: tuple[str, ...], settings: Settings) -> tuple[str, ...]:
    """Return the enabled implementations of one interface of a hardware type, the default first."""
    enabled = _enabled(kind, settings)
    left = [name for name in names if not enabled or name in enabled]
    if not left:
        reason = f"it leaves hardware type {driver} no {kind} interface"
        raise _invalid(_setting(kind), ", ".join(enabled), reason, names)
    setting = f"default_{kind}_interface"
    default: str | None = getattr(settings, setting)
    if default is None or (default not in left and setting not in settings.model_fields_set):
        return tuple(left)
    if default not in left:
        reason = f"hardware type {driver} cannot use it" + (f" with {_setting(kind)}" if default in names else "")
        raise _invalid(setting, default, reason, left)
    return (default, *(name for name in left if name != default))


def _enabled(kind: Interface, settings: Settings) -> tuple[str, ...]:
    found: tuple[str, ...] = getattr(settings, _setting(kind))
    return found


def _setting(kind: Interface) -> str:
    return f"enabled_{kind}_interfaces"


def _invalid(setting: str, value: str, reason: str, possible: Iterable[str]) -> ChoiceInvalid:
    return ChoiceInvalid(setting=setting, value=value, reason=reason, possible=", ".join(possible))
