# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import gzip
import hashlib
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._config_drive import unpack
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Done, Waiting
from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import TOKEN, AgentServer
from ansible_collections.rackwright.metal.tests.unit.plugins.image_server import ImageServer

Data = dict[str, Any]
CONTENT = b"\1" * 4096
SUM = hashlib.sha256(CONTENT).hexdigest()
GIB = 1 << 30
DISKS = [
    {"name": "/dev/sda", "size": 8 * GIB, "serial": "A", "model": "disk"},
    {"name": "/dev/sdb", "size": 6 * GIB, "serial": "B", "model": "disk"},
]


@pytest.fixture
def disks(agent: AgentServer) -> None:
    agent.answers["poll.get_hardware_info"] = lambda _: {"disks": DISKS}


def deploying(context: Data, images: ImageServer, **deploy: Any) -> None:
    images.files["/os.raw"] = CONTENT
    context["deploy"]["instance_info"] = {"image_source": f"{images.url}/os.raw", "image_checksum": SUM}
    context["deploy"] |= deploy


def learn(context: Data, outcome: Any) -> None:
    assert isinstance(outcome, Done)
    context["facts"] |= outcome.facts


@pytest.mark.usefixtures("disks")
def test_an_image_goes_to_the_disk_that_was_chosen(
    agent: AgentServer, images: ImageServer, serve: Any, context: Data
) -> None:
    drive = {"meta_data": {"hostname": "web-1"}, "user_data": "canary-user-data"}
    deploying(context, images, configdrive=drive, root_device={"size": 8})
    learn(context, serve("image", context))
    learn(context, serve("config_drive", context))
    learn(context, serve("root_device", context))
    assert context["facts"]["root_device"]["hint"] == {"serial": "s== A"}
    assert "canary" not in str(context["facts"])
    for _turn in range(2):
        assert serve("root_device", context) == Done()
        assert serve("agent_image", context) == Waiting("agent")
    agent.end_step("deploy")
    assert serve("agent_image", context).changed
    assert agent.names() == ["poll.get_hardware_info", "deploy.execute_deploy_step"]
    sent = agent.posted[-1]["params"]
    args = sent["step"]["args"]
    assert (sent["step"]["interface"], sent["step"]["step"]) == ("deploy", "write_image")
    assert args["image_info"]["urls"] == [f"{images.url}/os.raw"]
    assert args["image_info"]["disk_format"] == "raw"
    assert args["image_info"]["os_hash_value"] == SUM
    assert unpack(args["configdrive"])["/openstack/latest/user_data"] == b"canary-user-data"
    assert sent["node"]["instance_info"] == {"configdrive": "******", "root_device": {"serial": "s== A"}}
    assert sent["node"]["properties"]["root_device"] == {"serial": "s== A"}


@pytest.mark.usefixtures("disks")
def test_a_ready_made_config_drive_arrives_byte_for_byte(
    agent: AgentServer, images: ImageServer, serve: Any, context: Data
) -> None:
    text = base64.b64encode(gzip.compress(b"drive" * 1000)).decode()
    deploying(context, images, configdrive=text)
    for name in ("image", "root_device"):
        learn(context, serve(name, context))
    serve("agent_image", context)
    assert agent.posted[-1]["params"]["step"]["args"]["configdrive"] == text


def with_a_file(serve: Any, context: Data, folder: Path) -> None:
    """Make a file of this host ready to be written."""
    (folder / "allowed/os.raw").write_bytes(CONTENT)
    source = f"file://{folder}/allowed/os.raw"
    context["deploy"]["instance_info"] = {"image_source": source, "image_checksum": SUM}
    for name in ("image", "root_device"):
        learn(context, serve(name, context))


@pytest.mark.usefixtures("disks")
def test_a_file_is_offered_under_the_name_of_the_operation(
    agent: AgentServer, serve: Any, context: Data, tmp_path: Path
) -> None:
    with_a_file(serve, context, tmp_path)
    assert (tmp_path / "images/op-1").read_bytes() == CONTENT
    serve("agent_image", context)
    info = agent.posted[-1]["params"]["step"]["args"]["image_info"]
    assert (info["urls"], info["id"]) == (["http://daemon/files/images/op-1"], "os.raw")
    assert serve("image", context, state="absent") == Done(changed=True)
    assert serve("image", context, state="absent") == Done(changed=False)
    assert list((tmp_path / "images").iterdir()) == []


@pytest.mark.usefixtures("disks")
def test_a_conductor_that_took_over_offers_the_file_itself(
    agent: AgentServer, serve: Any, context: Data, tmp_path: Path
) -> None:
    with_a_file(serve, context, tmp_path)
    (tmp_path / "other").mkdir()
    context["deploy"] |= {"image_dir": str(tmp_path / "other"), "image_url": "http://other/files/images"}
    assert serve("agent_image", context) == Waiting("agent")
    info = agent.posted[-1]["params"]["step"]["args"]["image_info"]
    assert info["urls"] == ["http://other/files/images/op-1"]
    assert (tmp_path / "other/op-1").read_bytes() == CONTENT


@pytest.mark.usefixtures("disks")
def test_an_image_larger_than_the_disk_fails_before_anything_is_written(
    agent: AgentServer, serve: Any, context: Data
) -> None:
    image = {"id": "os", "disk_format": "raw", "os_hash_algo": "sha256", "os_hash_value": SUM, "local": True}
    context["facts"]["image_info"] = {**image, "virtual_size": 7 * GIB}
    learn(context, serve("root_device", context))
    with pytest.raises(OperationError, match=rf"{7 * GIB} bytes and the machine's only {6 * GIB}"):
        serve("agent_image", context)
    assert agent.names() == ["poll.get_hardware_info"]


@pytest.mark.usefixtures("disks")
@pytest.mark.parametrize(("hints", "said"), [({"serial": "none"}, "none of the disks"), ({"model": "disk"}, "2 disks")])
def test_hints_that_fit_no_disk_or_two_fail(serve: Any, context: Data, hints: Data, said: str) -> None:
    context["deploy"]["root_device"] = hints
    with pytest.raises(OperationError, match=rf"{said}.*/dev/sda.*/dev/sdb"):
        serve("root_device", context)


@pytest.mark.usefixtures("disks")
def test_outside_a_run_the_task_gives_the_options(agent: AgentServer, serve: Any, tmp_path: Path) -> None:
    chosen = serve("root_device", {}, **agent.options(), hints={"serial": "B"})
    assert chosen.result["root_device"]["name"] == "/dev/sdb"
    assert not serve("agent_bootloader", {}, **agent.options(), boot_mode="bios").changed
    assert serve("agent_info", {}, **agent.options()).result["status"]["version"] == "13.0.0"
    with pytest.raises(OperationError, match="no folder for them is given"):
        serve("agent_logs", {}, **agent.options())
    with pytest.raises(OperationError, match="has no image_source"):
        serve("image", {})
    assert serve("config_drive", {}, dest=str(tmp_path / "drive"), meta_data={"a": 1}).changed
    with pytest.raises(OperationError, match="no node is given"):
        serve("await_inventory", {})


def test_writing_without_a_checked_image_fails(serve: Any, context: Data) -> None:
    with pytest.raises(OperationError, match="no image was checked"):
        serve("agent_image", context)


@pytest.mark.parametrize("drive", ["http://127.0.0.1:1/drive", "{broken", {"wrong": 1}])
def test_a_bad_config_drive_fails_before_the_machine_is_touched(serve: Any, context: Data, drive: Any) -> None:
    context["deploy"]["configdrive"] = drive
    with pytest.raises(OperationError):
        serve("config_drive", context)


def test_the_boot_loader_is_installed_once(agent: AgentServer, serve: Any, context: Data) -> None:
    agent.answers["standby.get_partition_uuids"] = lambda _: {}
    for _turn in range(2):
        assert serve("agent_bootloader", context) == Waiting("agent")
    agent.end()
    assert serve("agent_bootloader", context).changed
    assert agent.names() == ["standby.get_partition_uuids", "image.install_bootloader"]
    assert agent.posted[-1]["params"]["target_boot_mode"] == "uefi"


def test_a_boot_loader_that_fails_fails_the_step(agent: AgentServer, serve: Any, context: Data) -> None:
    serve("agent_bootloader", context)
    agent.end(error={"message": "No EFI partition"})
    with pytest.raises(OperationError, match=r"image\.install_bootloader.*No EFI partition"):
        serve("agent_bootloader", context)


def test_a_bios_needs_no_boot_loader(agent: AgentServer, serve: Any, context: Data) -> None:
    context["boot"]["mode"] = "bios"
    assert serve("agent_bootloader", context) == Done()
    assert agent.requests == []


def test_an_agent_that_is_off_already_is_no_failure(agent: AgentServer, serve: Any, context: Data) -> None:
    options = {"name": "standby.power_off", "best_effort": True}
    assert serve("agent_command", context, **options) == Done(changed=True)
    assert agent.names() == ["standby.power_off"]
    agent.stop()
    assert serve("agent_command", context, **options) == Done()


def test_a_command_is_waited_for_otherwise(agent: AgentServer, serve: Any, context: Data) -> None:
    assert serve("agent_command", context, name="standby.power_off") == Waiting("agent")
    agent.end()
    assert serve("agent_command", context, name="standby.power_off").changed
    assert len(agent.posted) == 1


def test_the_agents_steps_become_facts(agent: AgentServer, serve: Any, context: Data) -> None:
    steps = {"Generic": [{"step": "erase_devices", "interface": "deploy", "priority": 10}]}
    agent.answers["deploy.get_deploy_steps"] = lambda params: {
        "deploy_steps": steps,
        "hardware_manager_version": {"generic": params["ports"][0]["address"]},
    }
    outcome = serve("agent_steps_info", context, type="deploy")
    version = {"generic": "52:54:00:00:00:01"}
    assert outcome == Done(facts={"agent_steps": steps, "hardware_manager_version": version})


def test_logs_are_saved_in_the_folder_of_the_daemon(
    agent: AgentServer, serve: Any, context: Data, tmp_path: Path
) -> None:
    told = base64.b64encode(gzip.compress(b"archive")).decode()
    agent.answers["log.collect_system_logs"] = lambda _: {"system_logs": told}
    assert serve("agent_logs", context, best_effort=True) == Done(changed=True)
    (saved,) = (tmp_path / "logs").iterdir()
    assert saved.name.startswith("node-1_rack1-u4_")
    assert gzip.decompress(saved.read_bytes()) == b"archive"


@pytest.mark.parametrize("trouble", ["never_came", "gone", "busy"])
def test_logs_that_cannot_be_had_hide_no_first_error(
    agent: AgentServer, serve: Any, context: Data, trouble: str
) -> None:
    if trouble == "never_came":
        context["agent"]["url"] = None
    elif trouble == "gone":
        agent.stop()
    else:
        agent.execute({"name": "deploy.execute_deploy_step", "params": {}})
    assert serve("agent_logs", context, best_effort=True) == Done()


def test_the_agent_is_told_about(agent: AgentServer, serve: Any, context: Data) -> None:
    assert serve("agent_info", context).result["status"]["version"] == "13.0.0"
    assert set(agent.tokens) == {TOKEN}


def test_an_inspection_waits_until_the_report_has_come(serve: Any, context: Data) -> None:
    assert serve("await_inventory", context) == Waiting("inspection")
    context["facts"]["inventory_received"] = True
    assert serve("await_inventory", context) == Done()


def test_an_inspection_fails_with_the_reason_for_which_the_report_was_refused(serve: Any, context: Data) -> None:
    context["facts"] |= {"inventory_received": True, "inventory_refused": {"cause": "no disk.", "action": "Add one."}}
    with pytest.raises(OperationError, match=r"evaluate the inspection report: no disk\. Add one\."):
        serve("await_inventory", context)
