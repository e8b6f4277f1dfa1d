# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The API process: wires the parts of the daemon into one ASGI application."""

from __future__ import annotations

import logging

from fastapi import FastAPI

from rackwright import __version__, catalog
from rackwright.api import errors
from rackwright.api.admission import METRICS, Admission
from rackwright.api.deps import Parts
from rackwright.api.documents import Documented
from rackwright.api.files import Files
from rackwright.api.gate import Gate, Limits
from rackwright.api.v1 import ROUTERS
from rackwright.auth import authenticator
from rackwright.catalog import Catalog
from rackwright.engine.inspection import InspectionOptions
from rackwright.engine.inspection_rules import built_in
from rackwright.services.policy import Policy
from rackwright.settings import Settings
from rackwright.store.deployment import enter
from rackwright.store.sealing import Sealer

_log = logging.getLogger(__name__)


def create_app(settings: Settings, offer: Catalog | None = None) -> FastAPI:
    """Return the application for these settings; ``offer`` replaces what the installed collections offer.

    The database is brought up to date first. Raise UnknownHook, BuiltInRulesInvalid, CatalogInvalid, PolicyInvalid,
    or what ``enter`` and ``authenticator`` raise.
    """
    InspectionOptions.of(settings)  # an unknown hook is told now and not to the first agent that reports
    built_in(settings.built_in_rules)
    settings.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    engine, key = enter(settings.database, settings.secret_key_file)
    app = Documented(
        routers=ROUTERS,
        title="Rackwright",
        version=__version__,
        description="Ironic's v1 API. The header X-OpenStack-Ironic-API-Version chooses the version, 1.1 by default.",
        redirect_slashes=False,
        redoc_url=None,
    )
    chosen = _offer(settings, offer)
    app.state.parts = Parts(settings, engine, chosen, Sealer(key, chosen.secrets), _policy(settings))
    app.add_middleware(Gate, limits=_limits(settings), admission=_admission(settings))
    errors.install(app, ROUTERS)
    app.mount("/files", Files(directory=settings.state_dir / "http", check_dir=False))
    return app


def _offer(settings: Settings, offer: Catalog | None) -> Catalog:
    return catalog.installed(settings) if offer is None else catalog.chosen(offer, settings)


def _policy(settings: Settings) -> Policy | None:
    """Return the rules; a file of them must be right in any case, but only keystone tells roles that they ask about."""
    asked = settings.auth_strategy == "keystone"
    if not asked and settings.policy_file is None:
        return None
    rules = Policy.load(settings.policy_file, service_project=settings.rbac_service_project_name)
    return rules if asked else None


def _admission(settings: Settings) -> Admission | None:
    if settings.is_open:
        _log.warning(
            "Everybody who reaches the API may do anything with every machine", extra={"host": settings.host_ip}
        )
    found = authenticator(settings)
    open_paths = frozenset({METRICS}) if settings.metrics == "open" else frozenset()
    return None if found is None else Admission(found, open_paths=open_paths)


def _limits(settings: Settings) -> Limits:
    return Limits(
        plain=settings.max_json_body_size,
        provision=settings.max_json_body_size_provision,
        inspection=settings.max_json_body_size_inspection,
    )
