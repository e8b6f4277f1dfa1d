# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Find the collections whose roles the daemon runs, without importing Ansible."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rackwright import __version__
from rackwright.domain.errors import CatalogInvalid

OURS = "rackwright.metal"
UNKNOWN_VERSION = "0.0.0"
"""What a source tree that was never installed says of itself."""


@dataclass(frozen=True, slots=True)
class Collection:
    """An installed collection."""

    name: str
    path: Path
    """Folder of the collection itself."""
    version: str

    @property
    def root(self) -> Path:
        """Return the folder that holds ``ansible_collections``, as ANSIBLE_COLLECTIONS_PATH wants it."""
        return self.path.parents[2]


def locate(name: str, root: Path | None = None) -> Collection:
    """Return the collection ``name``, below ``root`` if given, else wherever Python finds it.

    Raises CatalogInvalid when it is not there.
    """
    namespace, short = name.split(".")
    path = root / "ansible_collections" / namespace / short if root else _found(name)
    if path is None or not path.is_dir():
        raise CatalogInvalid(
            f"Collection {name} was not found {f'below {root}' if root else 'where Python looks for packages'}. "
            "Install it, or set collection_root to the folder that holds ansible_collections."
        )
    return Collection(name, path, _version(path))


def locate_ours(root: Path | None = None) -> Collection:
    """Return our own collection; raise CatalogInvalid when its version is not the daemon's."""
    ours = locate(OURS, root)
    if __version__ not in (UNKNOWN_VERSION, ours.version):
        raise CatalogInvalid(
            f"The daemon is version {__version__}, but collection {OURS} in {ours.path} is version {ours.version}. "
            "Install the same version of both, or let collection_root name the right one."
        )
    return ours


def _found(name: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(f"ansible_collections.{name}")
    except ModuleNotFoundError:
        return None
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


def _version(path: Path) -> str:
    """Return the version of the collection, from MANIFEST.json when installed, from galaxy.yml in a source tree."""
    manifest, source = path / "MANIFEST.json", path / "galaxy.yml"
    try:
        if manifest.is_file():
            stated: Any = json.loads(manifest.read_text(encoding="utf-8"))["collection_info"]
        else:
            stated = yaml.safe_load(source.read_text(encoding="utf-8"))
        return str(stated["version"])
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        raise CatalogInvalid(where=path, reason=f"its version cannot be read ({error})") from error
