# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Every setting of the daemon, in one class.

Values come from the command line, then from environment variables ``RACKWRIGHT_<NAME>`` (lists as
``a,b``, tables as ``key:value,key:value``, both also as JSON), then from one TOML file (``--config`` or
``RACKWRIGHT_CONFIG``), then from the defaults. Where Ironic has the setting, name, unit and default
are Ironic's, without its section (contract: ``config-options.yaml``). Times are seconds; 0 switches a timeout off.
"""

from __future__ import annotations

import difflib
import ipaddress
import json
import os
import socket
import tomllib
from pathlib import Path
from typing import Any, Literal, Self, get_origin

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from rackwright.domain.errors import Invalid
from rackwright.settings.execution import ExecutionSettings
from rackwright.settings.fleet import FleetSettings
from rackwright.settings.nova import NovaSettings
from rackwright.settings.retention import RetentionSettings
from rackwright.settings.values import (
    Moment,
    Positive,
    Priority,
    Seconds,
    checked_authorities,
    checked_delays,
    checked_steps,
    checked_url,
)

PREFIX = "RACKWRIGHT_"
CONFIG_VARIABLE = "RACKWRIGHT_CONFIG"


class SettingsInvalid(Invalid):
    """The settings cannot be used: {reason}."""


class Settings(ExecutionSettings, FleetSettings, NovaSettings, RetentionSettings):
    """What an operator can set; immutable once the daemon runs."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="forbid", frozen=True, env_ignore_empty=True, enable_decoding=False
    )

    # The process
    state_dir: Path = Field(Path("/var/lib/rackwright"), description="Folder of everything that the daemon keeps.")
    database_url: str = Field(
        "",
        description="sqlite://, postgresql:// or mariadb:// URL, @ in a password as %40; empty: SQLite in state_dir.",
        repr=False,
    )
    host_ip: str = Field("127.0.0.1", description="Address that the API listens on.")
    port: int = Field(6385, ge=1, le=65535, description="TCP port that the API listens on.")
    public_endpoint: str | None = Field(None, description="URL under which clients reach the API, without /v1.")
    external_callback_url: str | None = Field(None, description="URL under which agents reach the API, without /v1.")
    external_http_url: str | None = Field(None, description="URL under which BMCs reach the API, without /v1.")
    conductor_host: str = Field(default_factory=socket.gethostname, description="Name of this conductor.")
    conductor_group: str = Field("", description="Conductor group that this conductor serves.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="Least level that is logged.")
    log_format: Literal["text", "json"] = Field("text", description="Log lines for people, or one JSON object each.")
    metrics: Literal["off", "authenticated", "open"] = Field(
        "authenticated", description="Whom /metrics answers: nobody, who may read conductors, or everybody."
    )
    conductor_metrics_port: int = Field(
        0, ge=0, le=65535, description="Port on host_ip where a conductor tells its own numbers to everybody; 0: none."
    )

    # Who may ask
    auth_strategy: Literal["noauth", "http_basic", "keystone"] = Field(
        "noauth", description="How clients prove who they are."
    )
    http_basic_auth_user_file: Path | None = Field(None, description="File of user:bcrypt-hash lines for http_basic.")
    keystone_auth_url: str | None = Field(None, description="URL of the identity service that checks tokens.")
    keystone_username: str = Field("rackwright", description="Account with which tokens are checked.")
    keystone_password: SecretStr | None = Field(None, description="Password of that account.")
    keystone_project_name: str = Field("service", description="Project of that account.")
    keystone_user_domain_name: str = Field("Default", description="Domain of that account.")
    keystone_project_domain_name: str = Field("Default", description="Domain of that account's project.")
    keystone_cafile: Path | None = Field(None, description="CA certificates, PEM, that the identity service must have.")
    www_authenticate_uri: str | None = Field(
        None, description="URL of the identity service that clients without a token are told; null: keystone_auth_url."
    )
    token_cache_time: Seconds = Field(300, description="Time for which a token that was checked is believed.")
    service_token_roles: tuple[str, ...] = Field(("service",), description="Roles that make X-Service-Token count.")
    policy_file: Path | None = Field(None, description="YAML file of access rules that replace ours, by name.")
    rbac_service_project_name: str = Field("service", description="Project whose role service may do nearly anything.")
    project_admin_can_manage_own_nodes: bool = Field(
        True, description="Let admins of a project create nodes for it, and remove them."
    )
    trust_network: bool = Field(
        False, description="Allow noauth on an address that other machines reach: each of them may then do anything."
    )
    node_locked_retry_attempts: Positive = Field(3, description="Attempts at a node that an operation has locked.")
    node_locked_retry_interval: Moment = Field(1, description="Time between two attempts at a locked node.")
    max_limit: Positive = Field(1000, description="Most records in one page of an answer.")
    max_json_body_size: Positive = Field(1024, description="Largest request body, KiB.")
    max_json_body_size_provision: Positive = Field(65536, description="Largest body of a provision request, KiB.")
    max_json_body_size_inspection: Positive = Field(16384, description="Largest inspection report, KiB.")
    disallow_deploy_steps: tuple[str, ...] = Field(("vendor.send_raw",), description="Deploy steps that are refused.")
    disallow_clean_steps: tuple[str, ...] = Field(("vendor.send_raw",), description="Clean steps that are refused.")
    disallow_service_steps: tuple[str, ...] = Field(("vendor.send_raw",), description="Service steps refused.")

    # Hardware types and roles
    collection_root: Path | None = Field(None, description="Folder that holds ansible_collections/rackwright/metal.")
    step_collections: tuple[str, ...] = Field((), description="Further collections whose roles offer steps.")
    enabled_hardware_types: tuple[str, ...] = Field(("redfish",), description="Hardware types that nodes may use.")
    default_conductor_group: str = Field("", description="Conductor group of nodes created without one.")
    default_resource_class: str | None = Field(None, description="Resource class of nodes created without one.")

    # What a verb does
    automated_clean: bool = Field(True, description="Clean nodes that are provided or undeployed.")
    automated_cleaning_step_source: Literal["autogenerated", "runbook", "hybrid"] = Field(
        "autogenerated", description="Clean with what driver and agent offer, a runbook, or a runbook where one fits."
    )
    automated_cleaning_runbook: str | None = Field(None, description="Runbook of automated cleaning.")
    automated_cleaning_runbook_by_resource_class: dict[str, str] = Field(
        {}, description="Runbook of automated cleaning by resource class."
    )
    automated_cleaning_runbook_from_node: bool = Field(
        False, description="Let cleaning_runbook in driver_info name the runbook of automated cleaning."
    )
    automated_cleaning_runbook_validate_traits: bool = Field(
        True, description="Clean by a runbook only nodes that have one of its traits, or its name as a trait."
    )
    erase_devices_priority: Priority | None = Field(None, description="Priority of erase_devices; null: the agent's.")
    erase_devices_metadata_priority: Priority | None = Field(
        None, description="Priority of erase_devices_metadata; null: the agent's."
    )
    delete_configuration_priority: Priority | None = Field(
        None, description="Priority of the agent's raid.delete_configuration; null: the agent's."
    )
    create_configuration_priority: Priority | None = Field(
        None, description="Priority of the agent's raid.create_configuration; null: the agent's."
    )
    clean_step_priority_override: dict[str, Priority] = Field(
        {}, description="Priority by interface.step in automated cleaning; 0 leaves the step out."
    )
    verify_step_priority_override: dict[str, Priority] = Field(
        {}, description="Priority by interface.step in verification; 0 leaves the step out."
    )
    fake_delays: dict[str, str] = Field(
        {}, description="Seconds of a step of fake hardware by interface; two with a comma: a random time between them."
    )
    allow_provisioning_in_maintenance: bool = Field(True, description="Allow provide of nodes in maintenance.")
    default_portgroup_mode: str = Field("active-backup", description="Mode of a port group that is created without.")
    allow_deleting_available_nodes: bool = Field(True, description="Allow removing nodes in state available.")
    automatic_lessee: bool = Field(True, description="Set the lessee when a node is deployed.")
    automatic_lessee_source: Literal["instance", "request", "none"] = Field(
        "instance", description="The lessee: project_id of instance_info, the project of who asks, or none."
    )
    default_boot_mode: Literal["uefi", "bios"] = Field("uefi", description="Boot mode of nodes that name none.")
    rescue_password_hash_algorithm: Literal["sha256", "sha512"] = Field(
        "sha256", description="Crypt algorithm of the rescue password."
    )
    max_conductor_wait_step_seconds: int = Field(30, ge=0, le=1800, description="Longest wait step with seconds.")

    # The ramdisk and its agent
    deploy_kernel: str | None = Field(None, description="URL of the agent's kernel, unless the node names one.")
    deploy_ramdisk: str | None = Field(None, description="URL of the agent's ramdisk, unless the node names one.")
    rescue_kernel: str | None = Field(None, description="URL of the rescue kernel, unless the node names one.")
    rescue_ramdisk: str | None = Field(None, description="URL of the rescue ramdisk, unless the node names one.")
    bootloader: str | None = Field(None, description="URL of the EFI system partition image for boot ISOs.")
    kernel_append_params: str = Field("nofb vga=normal", description="Further parameters of the agent's kernel.")
    extra_kernel_params: str = Field("", description="Further parameters of the agent's kernel during inspection.")
    require_tls: bool = Field(True, description="Accept agents only over https.")
    restrict_lookup: bool = Field(True, description="Let agents look up only nodes that expect an agent.")
    ramdisk_heartbeat_timeout: Positive = Field(300, description="Longest silence that an agent is told to keep.")
    tls_minimum_version: Literal["1.2", "1.3"] = Field("1.3", description="Least TLS version between us and agents.")
    allow_md5_checksum: bool = Field(True, description="Let agents accept MD5 sums of images.")
    permitted_image_formats: tuple[str, ...] = Field(("raw", "gpt", "qcow2", "iso"), description="Image formats.")
    disable_deep_image_inspection: bool = Field(False, description="Let agents write images without inspecting them.")
    file_url_allowed_paths: tuple[Path, ...] = Field(
        (Path("/var/lib/rackwright/images"),), description="Folders that file:// images may come from."
    )

    # Inspection
    inspection_hooks: tuple[str, ...] = Field(
        ("ramdisk-error", "validate-interfaces", "ports", "architecture"), description="Hooks of agent inspection."
    )
    add_ports: Literal["all", "active", "pxe", "disabled"] = Field("pxe", description="Interfaces that become ports.")
    keep_ports: Literal["all", "present", "added"] = Field("all", description="Ports that survive an inspection.")
    update_pxe_enabled: bool = Field(True, description="Let inspection set pxe_enabled of ports.")
    built_in_rules: Path | None = Field(None, description="YAML file of inspection rules beside those of the API.")
    mask_secrets: Literal["always", "sensitive", "never"] = Field(
        "always", description="Hide secrets from inspection rules: always, from rules that are not sensitive, or never."
    )

    # Limits of waiting
    deploy_callback_timeout: Seconds = Field(1800, description="Longest wait for the agent in wait call-back.")
    clean_callback_timeout: Seconds = Field(1800, description="Longest wait for the agent in clean wait.")
    rescue_callback_timeout: Seconds = Field(1800, description="Longest wait for the agent in rescue wait.")
    service_callback_timeout: Seconds = Field(1800, description="Longest wait for the agent in service wait.")
    inspect_wait_timeout: Seconds = Field(1800, description="Longest wait for the report in inspect wait.")
    boot_retries: int = Field(
        1,
        ge=0,
        description="How often a machine whose agent did not call, or report, in time is booted again, in another way.",
    )
    check_provision_state_interval: Positive = Field(60, description="Time between two looks for ended waits.")

    # The conductor
    poll_interval: Moment = Field(0.1, description="Time between two looks for work.")
    heartbeat_interval: Positive = Field(10, description="Time between two heartbeats of a conductor.")
    heartbeat_timeout: Positive = Field(60, description="Silence after which a conductor counts as dead.")
    conductor_cleanup_timeout: Positive = Field(1209600, description="Silence after which a conductor is forgotten.")
    wave_size: Positive = Field(200, description="Most nodes in one playbook run.")
    run_slots: Positive = Field(default_factory=lambda: 2 * (os.cpu_count() or 1), description="Runs at once.")
    run_timeout: Seconds = Field(7200, description="Longest playbook run; it is ended and tried again after that.")
    fork_server_idle: Seconds = Field(
        60, description="Time without a run that a loaded Ansible, from which runs start quickly, is kept; 0: never."
    )
    graceful_shutdown_timeout: Seconds = Field(60, description="Longest wait for runs when the daemon is stopped.")

    @field_validator(
        *("public_endpoint", "external_callback_url", "external_http_url", "keystone_auth_url", "www_authenticate_uri")
    )
    @classmethod
    def _without_slash(cls, value: str | None) -> str | None:
        return None if value is None else checked_url(value)

    @field_validator("keystone_cafile")
    @classmethod
    def _authorities(cls, value: Path | None) -> Path | None:
        return checked_authorities(value)

    @field_validator("fake_delays")
    @classmethod
    def _times(cls, value: dict[str, str]) -> dict[str, str]:
        return checked_delays(value)

    @field_validator(
        *("clean_step_priority_override", "verify_step_priority_override"),
        *("disallow_deploy_steps", "disallow_clean_steps", "disallow_service_steps"),
    )
    @classmethod
    def _steps(cls, value: Any) -> Any:
        return checked_steps(value)

    @field_validator("file_url_allowed_paths")
    @classmethod
    def _narrow(cls, value: tuple[Path, ...]) -> tuple[Path, ...]:
        for path in value:
            if not path.is_absolute() or len(path.parts) < 2 or ".." in path.parts:
                raise ValueError(f"{path} would open too much; name absolute folders below /")
        return value

    @field_validator("*", mode="before")
    @classmethod
    def _read_text(cls, value: Any, info: ValidationInfo) -> Any:
        """Read the lists and tables of the environment: items with commas between, or JSON."""
        kind = get_origin(cls.model_fields[info.field_name or ""].annotation)
        if not isinstance(value, str) or kind not in (tuple, dict):
            return value
        if value.lstrip().startswith(("[", "{")):
            return json.loads(value)
        items = [item.strip() for item in value.split(",") if item.strip()]
        return items if kind is tuple else dict(item.rpartition(":")[::2] for item in items)

    @field_validator("kernel_append_params", "extra_kernel_params")
    @classmethod
    def _one_line(cls, value: str) -> str:
        if not value.isprintable():
            raise ValueError("kernel parameters are one line of printable text")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.heartbeat_timeout <= self.heartbeat_interval:
            raise ValueError("heartbeat_timeout must be longer than heartbeat_interval")
        if self.auth_strategy == "http_basic" and self.http_basic_auth_user_file is None:
            raise ValueError("auth_strategy http_basic needs http_basic_auth_user_file")
        if self.auth_strategy == "keystone" and not (self.keystone_auth_url and self.keystone_password):
            raise ValueError("auth_strategy keystone needs keystone_auth_url and keystone_password")
        if self.is_open and not self.trust_network:
            raise ValueError(
                f"others reach host_ip {self.host_ip} and auth_strategy noauth lets each of them do anything; "
                "set auth_strategy to http_basic or keystone, listen on 127.0.0.1 behind a proxy that asks who they "
                "are, or set trust_network when this network is yours alone"
            )
        return self

    @property
    def is_open(self) -> bool:
        """Return whether everybody who reaches the API from another machine may do anything."""
        return self.auth_strategy == "noauth" and not _is_loopback(self.host_ip)

    @property
    def database(self) -> str:
        """Return the URL of the database."""
        return self.database_url or f"sqlite:///{self.state_dir.absolute() / 'rackwright.sqlite'}"

    @property
    def database_file(self) -> Path | None:
        """Return the file of a database of SQLite, None for another kind."""
        scheme, _, file = self.database.partition(":///")
        return Path(file.partition("?")[0]) if scheme.startswith("sqlite") and file else None

    @property
    def base_url(self) -> str:
        """Return the URL under which clients reach the API, without /v1."""
        host = f"[{self.host_ip}]" if ":" in self.host_ip else self.host_ip
        return self.public_endpoint or f"http://{host}:{self.port}"

    @property
    def callback_url(self) -> str:
        """Return the URL under which agents reach the API, without /v1."""
        return self.external_callback_url or self.base_url

    @property
    def files_url(self) -> str:
        """Return the URL under which BMCs and agents fetch what the daemon serves from ``http/``."""
        return f"{self.external_http_url or self.callback_url}/files"

    @property
    def boot_dir(self) -> Path:
        """Return the folder of the boot ISOs that are served."""
        return self.state_dir / "http" / "boot"

    @property
    def image_dir(self) -> Path:
        """Return the folder of the images that are served."""
        return self.state_dir / "http" / "images"

    @property
    def secret_key_file(self) -> Path:
        """Return the file of the key that seals secrets in the database."""
        return self.state_dir / "secret.key"


def _is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches ``host``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def load(config: Path | None = None, **given: object) -> Settings:
    """Return the settings: ``given`` (None counts as not given), then environment, then file, then defaults.

    Raises SettingsInvalid, whose text names the setting and where it came from.
    """
    file = config or (Path(name) if (name := os.environ.get(CONFIG_VARIABLE)) else None)
    stored = _read(file) if file else {}
    named = {
        key.removeprefix(PREFIX).lower() for key in os.environ if key.startswith(PREFIX) and key != CONFIG_VARIABLE
    }
    _refuse_unknown(named, "the environment")
    _refuse_unknown(set(stored), str(file))
    values: dict[str, Any] = {key: value for key, value in stored.items() if key not in named}
    values |= {key: value for key, value in given.items() if value is not None}
    try:
        return Settings(**values)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        text = first["msg"].removeprefix("Value error, ")
        raise SettingsInvalid(reason=f"{where}: {text}" if where else text) from None


def _read(file: Path) -> dict[str, object]:
    """Return the content of the TOML ``file``."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsInvalid(reason=f"{file} cannot be read: {error}") from error


def _refuse_unknown(names: set[str], where: str) -> None:
    """Raise when one of ``names`` is no setting, with the nearest name as a hint."""
    for name in sorted(names - Settings.model_fields.keys()):
        near = difflib.get_close_matches(name, Settings.model_fields, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise SettingsInvalid(reason=f"{where} names the unknown setting {name}{hint}")
