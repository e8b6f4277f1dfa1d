# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A light rack over its real protocols: Redfish, IPMI, DHCP and the agent's own calls."""

import base64
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab")]

NAME = "labtest"
NETWORK = "172.22.77.0/24"
TOKEN = "t" * 43
NODE = "1be26c0b-03f2-4d2e-ae87-c02d7f33c123"
GRUB = """\
menuentry "agent" {{
    linux /vmlinuz ipa-api-url={url} ipa-agent-token={token} boot_method=vmedia
    initrd /initrd
}}
"""


def lab(*arguments: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rackwright_lab", *arguments],
        check=check,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def ensure(folder: Path, *more: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    words = ("rack", "--ensure", "--light", "--dir", str(folder), "--name", NAME, "--network", NETWORK, *more)
    return lab(*words, check=check)


def wait_for(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, f"{what}: not within 60 s"
        time.sleep(0.1)


class Rack:
    """What a controller knows of the rack, and its calls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.facts = json.loads((folder / "rack.json").read_text())
        self.machine = self.facts["machines"][0]
        self.pid = json.loads((folder / "rack.lock").read_text())["pid"]

    def call(self, method: str, path: str, body: object = None, *, password: str | None = None) -> Any:
        credentials = f"{self.facts['username']}:{password or self.facts['password']}"
        request = urllib.request.Request(
            self.facts["redfish"] + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": "Basic " + base64.b64encode(credentials.encode()).decode(),
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.loads(response.read() or "null")

    @property
    def system(self) -> dict[str, Any]:
        return dict(self.call("GET", self.machine["system"]))

    @property
    def media(self) -> dict[str, Any]:
        return dict(self.call("GET", self.machine["system"] + "/VirtualMedia/Cd"))

    def reset(self, kind: str) -> None:
        self.call("POST", self.machine["system"] + "/Actions/ComputerSystem.Reset", {"ResetType": kind})

    def boot_from(self, device: str) -> None:
        self.call("PATCH", self.machine["system"], {"Boot": {"BootSourceOverrideTarget": device}})

    def media_action(self, name: str, **body: str) -> None:
        self.call("POST", f"{self.machine['system']}/VirtualMedia/Cd/Actions/VirtualMedia.{name}", body)

    def namespace(self) -> str:
        """Return the network namespace of the rack's first process."""
        return str(Path(f"/proc/{self.child()}/ns/net").readlink())

    def child(self) -> int:
        """Return the process that the supervisor of the rack started."""
        return int(Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()[0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("rack")
    yield made
    lab("stop", "--dir", made)


@pytest.fixture
def rack(folder: Path) -> Rack:
    """Return the rack of all these tests, running, with its machine as a new one."""
    ensure(folder)
    made = Rack(folder)
    made.reset("ForceOff")
    made.boot_from("Hdd")
    made.media_action("EjectMedia")
    return made


class Controller(http.server.ThreadingHTTPServer):
    """A controller of a few lines: answers the agent's lookup, keeps its heartbeats, serves files."""

    daemon_threads = True

    def __init__(self, host: str, folder: Path) -> None:
        self.folder = folder
        self.heartbeats: list[dict[str, Any]] = []
        super().__init__((host, 0), Answer)
        self.url = f"http://{host}:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answer(http.server.BaseHTTPRequestHandler):
    server: Controller

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/":
            self.answer(200, json.dumps({"default_version": {"version": "1.95"}}).encode())
        elif path == "/v1/lookup":
            config = {"heartbeat_timeout": 300, "agent_token": "******", "agent_token_required": True}
            node = {"uuid": NODE, "properties": {}, "instance_info": {}, "driver_internal_info": {}, "links": []}
            self.answer(200, json.dumps({"node": node, "config": config}).encode())
        else:
            file = self.server.folder / Path(path).name
            self.answer(200 if file.exists() else 404, file.read_bytes() if file.exists() else b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.heartbeats.append({"path": self.path, **json.loads(body)})
        self.answer(202, b"{}")

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def controller(rack: Rack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    folder = tmp_path_factory.mktemp("served")
    with Controller(rack.facts["host"], folder) as made:
        tree = folder / "tree"
        (tree / "EFI/BOOT").mkdir(parents=True)
        (tree / "EFI/BOOT/grub.cfg").write_text(GRUB.format(url=made.url, token=TOKEN))
        subprocess.run(["genisoimage", "-quiet", "-r", "-l", "-o", folder / "boot.iso", tree], check=True)
        yield made
        made.shutdown()


def left_of(rack: Rack, namespace: str) -> dict[str, object]:
    """Return all that could be left of a rack: empty where nothing is."""
    spaces = subprocess.run(["lsns", "--noheadings", "--output", "NS"], check=True, capture_output=True, text=True)
    folder = str(rack.folder).encode()
    left = {
        "processes": [path for path in Path("/proc").glob("[0-9]*/cmdline") if folder in read(path)],
        "network namespace": namespace.strip("net:[]") in spaces.stdout.split(),
        "link": Path(f"/sys/class/net/{NAME}-wire").exists(),
        "loop devices": subprocess.run(
            ["losetup", "--associated", rack.machine["disk"]], check=True, capture_output=True, text=True
        ).stdout,
        "description": (rack.folder / "rack.json").exists(),
        "media": (rack.folder / "media").exists(),
    }
    return {what: found for what, found in left.items() if found}


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # the process has ended


def test_power_goes_on_and_off_over_redfish(rack: Rack) -> None:
    assert rack.system["PowerState"] == "Off"
    rack.reset("On")
    assert rack.system["PowerState"] == "On"
    rack.reset("ForceRestart")
    assert rack.system["PowerState"] == "On"
    rack.reset("GracefulShutdown")
    wait_for(lambda: rack.system["PowerState"] == "Off", "shutdown")
    rack.reset("On")
    rack.reset("ForceOff")
    assert rack.system["PowerState"] == "Off"


def test_the_boot_device_is_the_one_that_was_set(rack: Rack) -> None:
    for device in ("Cd", "Pxe", "Hdd"):
        rack.boot_from(device)
        assert rack.system["Boot"]["BootSourceOverrideTarget"] == device
    with pytest.raises(urllib.error.HTTPError, match="400"):
        rack.boot_from("Tape")
    assert rack.system["Boot"]["BootSourceOverrideTarget"] == "Hdd"


def test_a_wrong_password_is_refused(rack: Rack) -> None:
    with pytest.raises(urllib.error.HTTPError, match="401"):
        rack.call("GET", rack.machine["system"], password="guess")


def test_media_go_in_and_out(rack: Rack, controller: Controller) -> None:
    rack.media_action("InsertMedia", Image=f"{controller.url}/boot.iso")
    assert rack.media["Inserted"] is True
    assert rack.media["Image"] == f"{controller.url}/boot.iso"
    rack.media_action("EjectMedia")
    assert rack.media["Inserted"] is False
    assert not rack.media["Image"]


def test_media_that_cannot_be_fetched_are_refused(rack: Rack, controller: Controller) -> None:
    with pytest.raises(urllib.error.HTTPError, match="400"):
        rack.media_action("InsertMedia", Image=f"{controller.url}/absent.iso")
    assert rack.media["Inserted"] is False


def test_ipmi_and_redfish_switch_the_same_machine(rack: Rack) -> None:
    def ipmi(*words: str) -> str:
        target = ["-H", rack.machine["ipmi_address"], "-p", str(rack.machine["ipmi_port"])]
        command = ["ipmitool", "-I", "lanplus", *target, "-U", rack.facts["username"], "-E", *words]
        env = {**os.environ, "IPMI_PASSWORD": rack.facts["password"]}
        return subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout

    ipmi("chassis", "bootdev", "cdrom")
    assert rack.system["Boot"]["BootSourceOverrideTarget"] == "Cd"
    ipmi("power", "on")
    assert rack.system["PowerState"] == "On"
    rack.reset("ForceOff")
    assert "is off" in ipmi("power", "status")


def test_the_agent_boots_from_the_disc_calls_and_powers_off_the_machine(rack: Rack, controller: Controller) -> None:
    rack.media_action("InsertMedia", Image=f"{controller.url}/boot.iso")
    rack.boot_from("Cd")
    rack.reset("On")
    wait_for(lambda: controller.heartbeats, "heartbeat")
    heartbeat = controller.heartbeats[0]
    assert heartbeat["path"] == f"/v1/heartbeat/{NODE}"
    assert heartbeat["callback_url"] == f"https://{rack.machine['address']}:9999"
    assert heartbeat["agent_token"] == TOKEN
    assert "BEGIN CERTIFICATE" in heartbeat["agent_verify_ca"]
    rack.reset("GracefulShutdown")
    wait_for(lambda: rack.system["PowerState"] == "Off", "shutdown")


def test_a_machine_without_a_system_says_so_on_its_console(rack: Rack) -> None:
    rack.reset("On")
    wait_for(lambda: "No bootable device" in Path(rack.machine["console"]).read_text(), "message")
    assert rack.system["PowerState"] == "On"


def test_a_rack_that_runs_is_left_alone_and_another_one_refused(rack: Rack) -> None:
    again = ensure(rack.folder)
    assert json.loads(again.stdout)["changed"] is False
    assert Rack(rack.folder).pid == rack.pid
    other = ensure(rack.folder, "--machines", "2", check=False)
    assert other.returncode == 1
    assert str(rack.pid) in other.stderr


def test_a_second_rack_of_the_same_name_is_refused(rack: Rack, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = ensure(tmp_path_factory.mktemp("other"), check=False)
    assert other.returncode == 1
    assert "--name" in other.stderr
    assert rack.system["PowerState"] == "Off"


def test_nothing_is_left_of_a_rack_that_was_stopped(rack: Rack) -> None:
    namespace = rack.namespace()
    rack.reset("On")
    assert left_of(rack, namespace).keys() >= {"processes", "network namespace", "link", "loop devices"}
    assert json.loads(lab("stop", "--dir", rack.folder).stdout)["changed"] is True
    assert left_of(rack, namespace) == {}
    assert json.loads(lab("stop", "--dir", rack.folder).stdout)["changed"] is False


@pytest.mark.parametrize("victim", ["supervisor", "rack"])
def test_a_rack_starts_again_right_after_it_was_killed(rack: Rack, victim: str) -> None:
    rack.reset("On")
    os.kill({"supervisor": rack.pid, "rack": rack.child()}[victim], signal.SIGKILL)
    wait_for(lambda: json.loads(ensure(rack.folder).stdout)["changed"], "another rack")
    again = Rack(rack.folder)
    assert again.pid != rack.pid
    assert again.system["PowerState"] == "Off"
    namespace = again.namespace()
    lab("stop", "--dir", rack.folder)
    assert left_of(again, namespace) == {}
