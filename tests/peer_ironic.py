# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A real Ironic, installed from PyPI, to be compared with: no authentication, fake hardware, one process.

``start`` and ``stop`` serve tests and benchmarks. ``python -m tests.peer_ironic FOLDER [sqlite|mariadb]`` runs one
until it is interrupted. MariaDB is the distribution's ``mariadb-server``, on a socket and data of its own.
"""

from __future__ import annotations

import configparser
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from tests.peers.environments import environment

Database = Literal["sqlite", "mariadb"]
Sections = Mapping[str, Mapping[str, str]]
READY_WITHIN, STOPPED_WITHIN = 120.0, 30.0
FOLDERS = ("images/master", "http", "tftp/master", "certificates", "lock")
# What a setting of [DEFAULT] enables beyond Ironic's own choice.
INTERFACES = {
    "bios": "fake,no-bios",
    "boot": "fake,ipxe,redfish-virtual-media",
    "console": "fake,no-console",
    "deploy": "fake,direct,ramdisk,ansible,custom-agent",
    "firmware": "fake,no-firmware",
    "inspect": "fake,agent,no-inspect",
    "management": "fake,redfish,noop",
    "network": "noop,flat",
    "power": "fake,redfish",
    "raid": "fake,agent,no-raid",
    "rescue": "fake,agent,no-rescue",
    "storage": "noop,fake",
    "vendor": "fake,no-vendor,redfish",
}


def start(
    folder: Path,
    database: Database = "sqlite",
    *,
    settings: Sections | None = None,
    token: str = "",
    variables: Mapping[str, str] | None = None,
) -> str:
    """Start Ironic with an empty database, its data below ``folder``; return its URL once its conductor is up.

    ``settings`` are added to those of ``ironic.conf``, by section, ``variables`` to the environment of its process.
    ``token`` is needed to look where the settings ask for one.
    Raises RuntimeError when it is not up in time or a program has died; then all is stopped again.
    """
    programs = environment("ironic")
    for name in FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    _pids(folder).write_text("")
    url = f"http://127.0.0.1:{_free_port()}"
    try:
        connection = _mariadb(folder) if database == "mariadb" else f"sqlite:///{folder}/ironic.sqlite"
        file = _configure(folder, settings or {}, url=url, connection=connection)
        schema = [str(programs / "ironic-dbsync"), "--config-file", str(file), "create_schema"]
        subprocess.run(schema, check=True, capture_output=True)
        _launch([str(programs / "ironic"), "--config-file", str(file)], folder=folder, variables=variables)
        _await(lambda: b"fake-hardware" in _get(f"{url}/v1/drivers", token), folder=folder, what="Ironic")
    except BaseException:
        stop(folder)
        raise
    return url


def stop(folder: Path) -> None:
    """Stop what ``start`` started for this folder, the database last."""
    for pid in reversed(started(folder)):
        _signal(pid, signal.SIGTERM)
        end = time.monotonic() + STOPPED_WITHIN
        while _lives(pid) and time.monotonic() < end:
            time.sleep(0.1)
        _signal(pid, signal.SIGKILL)
    _pids(folder).unlink(missing_ok=True)


def started(folder: Path) -> list[int]:
    """Return the process ids of what runs for this folder: of the database first, if it has a server, and of Ironic."""
    pids = _pids(folder)
    return [int(pid) for pid in pids.read_text().split()] if pids.is_file() else []


def _pids(folder: Path) -> Path:
    return folder / "pids"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _settings(folder: Path, *, url: str, connection: str) -> Sections:
    """Return the settings; all that is not named here is Ironic's default."""
    paths = {name.replace("/", "_"): str(folder / name) for name in FOLDERS}
    return {
        "DEFAULT": {
            "auth_strategy": "noauth",
            "host": "peer",
            "state_path": str(folder),
            "rpc_transport": "none",
            "log_file": str(folder / "ironic.log"),
            "use_stderr": "false",
            "default_resource_class": "baremetal",
            "enabled_hardware_types": "fake-hardware,redfish,manual-management",
            "default_network_interface": "noop",
            **{f"enabled_{kind}_interfaces": names for kind, names in INTERFACES.items()},
        },
        # With more workers than one, those after the first die for want of the port.
        "api": {"host_ip": "127.0.0.1", "port": url.rpartition(":")[2], "api_workers": "1"},
        "conductor": {
            "graceful_shutdown_timeout": "10",
            "deploy_kernel": "http://127.0.0.1:1/kernel",
            "deploy_ramdisk": "http://127.0.0.1:1/ramdisk",
            "file_url_allowed_paths": str(folder / "images"),
        },
        "database": {"connection": connection},
        "inspector": {"require_managed_boot": "false"},
        "dhcp": {"dhcp_provider": "none"},
        "service_catalog": {"auth_type": "none", "endpoint_override": url},
        "deploy": {"http_root": paths["http"], "http_url": "http://127.0.0.1:1"},
        "pxe": {
            "tftp_root": str(folder / "tftp"),
            "tftp_master_path": paths["tftp_master"],
            "images_path": str(folder / "images"),
            "instance_master_path": paths["images_master"],
        },
        "agent": {"certificates_path": paths["certificates"]},
        "oslo_concurrency": {"lock_path": paths["lock"]},
    }


def _configure(folder: Path, more: Sections, *, url: str, connection: str) -> Path:
    """Write the settings, with ``more`` in their place where both have one."""
    parser = configparser.RawConfigParser()
    parser.read_dict(_settings(folder, url=url, connection=connection))
    parser.read_dict(more)
    with (folder / "ironic.conf").open("w") as file:
        parser.write(file)
    return folder / "ironic.conf"


def _mariadb(folder: Path) -> str:
    """Start a MariaDB with its own defaults and an empty database; return the URL of the database."""
    programs = f"{os.environ['PATH']}:/usr/sbin"
    server = shutil.which("mariadbd", path=programs)
    if server is None:
        raise RuntimeError("Failed to start MariaDB: mariadbd is not installed; run `apt-get install mariadb-server`.")
    data, door, user = folder / "mariadb", folder / "mariadb.sock", os.environ.get("USER", "root")
    here = [f"--user={user}", f"--datadir={data}"]
    install = ["mariadb-install-db", "--no-defaults", *here, "--auth-root-authentication-method=normal"]
    subprocess.run([*install, "--skip-test-db"], check=True, capture_output=True)
    own = [f"--socket={door}", f"--pid-file={folder}/mariadbd.pid", "--skip-networking"]
    _launch([server, "--no-defaults", *here, *own], folder=folder)
    client = ["mariadb", "--no-defaults", f"--socket={door}", "--user=root"]
    create = [*client, "--execute=create database ironic character set utf8mb3"]
    _await(lambda: not subprocess.run(create, capture_output=True).returncode, folder=folder, what="MariaDB")
    return f"mysql+pymysql://root@localhost/ironic?unix_socket={door}&charset=utf8"


def _launch(command: Sequence[str], *, folder: Path, variables: Mapping[str, str] | None = None) -> None:
    """Start a program in a group of its own that ends with us, and note its process id."""
    with (folder / f"{Path(command[0]).name}.out").open("wb") as out:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", "--", *command],
            stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, **(variables or {})},
        )  # fmt: skip
    with _pids(folder).open("a") as file:
        file.write(f"{process.pid}\n")


def _await(ready: Callable[[], bool], *, folder: Path, what: str) -> None:
    end = time.monotonic() + READY_WITHIN
    while not ready():
        if not all(map(_lives, started(folder))):
            raise RuntimeError(f"Failed to start {what}: it has died; {folder} tells why.")
        if time.monotonic() > end:
            raise RuntimeError(f"Failed to start {what}: not up after {READY_WITHIN:.0f} s; {folder} tells more.")
        time.sleep(0.1)


def _get(url: str, token: str) -> bytes:
    request = urllib.request.Request(url, headers={"X-Auth-Token": token})
    with contextlib.suppress(OSError), urllib.request.urlopen(request, timeout=30) as answer:
        body: bytes = answer.read()
        return body
    return b""


def _lives(pid: int) -> bool:
    with contextlib.suppress(ChildProcessError):
        return os.waitpid(pid, os.WNOHANG) == (0, 0)
    return Path(f"/proc/{pid}").exists()


def _signal(pid: int, number: signal.Signals) -> None:
    """Signal a program and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, number)


def main(folder: str, database: str = "sqlite") -> None:
    """Run an Ironic until it is interrupted or terminated."""
    place = Path(folder).absolute()
    place.mkdir(parents=True, exist_ok=True)
    sys.stdout.write(f"{start(place, 'mariadb' if database == 'mariadb' else 'sqlite')}\n")
    sys.stdout.flush()
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    signal.sigwait(ends)
    stop(place)


if __name__ == "__main__":
    main(*sys.argv[1:])
