# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The fields of a firmware component, in the order of answers."""

from __future__ import annotations

from rackwright.api.fields import Field, Resource
from rackwright.api.kinds import TEXT, TIME

_IDENTITY_SINCE = 114

FIRMWARE = Resource(
    "firmware component",
    "firmware",
    (
        Field("created_at", TIME, short=True),
        Field("updated_at", TIME.or_null(), short=True),
        Field("component", TEXT, short=True, about="What carries the firmware, such as bios or bmc."),
        Field("initial_version", TEXT.or_null(), short=True, about="The version that was found first."),
        Field("current_version", TEXT.or_null(), short=True),
        Field("last_version_flashed", TEXT.or_null(), short=True),
        Field("vendor", TEXT.or_null(), _IDENTITY_SINCE, short=True),
        Field("model", TEXT.or_null(), _IDENTITY_SINCE, short=True),
        Field("serial_number", TEXT.or_null(), _IDENTITY_SINCE, short=True),
    ),
)
