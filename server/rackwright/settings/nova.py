# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The settings of the way to Nova: those of Ironic's section ``[nova]``, with ``nova_`` before keystoneauth's names.

Without ``nova_auth_url`` nobody is told anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, SecretStr, field_validator, model_validator

from rackwright.settings.interfaces import InterfaceSettings
from rackwright.settings.values import Positive, checked_authorities, checked_url


class NovaSettings(InterfaceSettings):
    """Where Nova is, and with which account it is told."""

    send_power_notifications: bool = Field(
        True, description="Tell Nova of the power changes of its instances, where nova_auth_url is set."
    )
    nova_auth_url: str | None = Field(None, description="URL of the identity service that knows Nova; null: no Nova.")
    nova_username: str = Field("rackwright", description="Account with which Nova is told; it needs the role admin.")
    nova_password: SecretStr | None = Field(None, description="Password of that account.")
    nova_project_name: str = Field("service", description="Project of that account.")
    nova_user_domain_name: str = Field("Default", description="Domain of that account.")
    nova_project_domain_name: str = Field("Default", description="Domain of that account's project.")
    nova_region_name: str | None = Field(None, description="Region whose Nova is told; null: the only one.")
    nova_endpoint_override: str | None = Field(
        None, description="URL of Nova's API; null: what the identity service's catalog says."
    )
    nova_cafile: Path | None = Field(None, description="CA certificates, PEM, that both services must have.")
    nova_timeout: Positive = Field(30, description="Longest time for an answer of Nova.")

    @field_validator("nova_auth_url", "nova_endpoint_override")
    @classmethod
    def _checked(cls, value: str | None) -> str | None:
        return None if value is None else checked_url(value)

    @field_validator("nova_cafile")
    @classmethod
    def _readable(cls, value: Path | None) -> Path | None:
        return checked_authorities(value)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.nova_auth_url and self.nova_password is None:
            raise ValueError("nova_auth_url needs nova_password, the password of the account nova_username")
        return self
