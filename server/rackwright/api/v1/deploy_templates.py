# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Deploy templates (contract: api.yaml, deploy templates)."""

from __future__ import annotations

from rackwright.api.endpoints import Endpoints
from rackwright.api.routing import Router
from rackwright.api.schemas.deploy_template import DEPLOY_TEMPLATE
from rackwright.services import deploy_templates

router = Router(tags=["deploy templates"])

Endpoints(resource=DEPLOY_TEMPLATE, service=deploy_templates, first=55).join(router)
