# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The roles of the agent in real runs: each node of a wave has its own agent, image and outcome."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import TOKEN, AgentServer, always
from ansible_collections.rackwright.metal.tests.unit.plugins.image_server import ImageServer

Data = dict[str, Any]
CONTENT = b"\1" * 4096
SUM = hashlib.sha256(CONTENT).hexdigest()
NO_AGENT = {"url": None, "token": None, "ca": None, "seen_at": None}


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[list[AgentServer]]:
    with ExitStack() as stack:
        yield [stack.enter_context(AgentServer(tmp_path).running()) for _agent in range(2)]


def step(name: str, role: str, **more: Any) -> Data:
    return {"name": name, "interface": "deploy", "role": f"rackwright.metal.{role}", "tasks": name, **more}


def context(tmp_path: Path, **more: Any) -> Data:
    for folder in ("images", "logs"):
        (tmp_path / folder).mkdir(exist_ok=True)
    deploy: dict[str, Any] = {
        "instance_info": {},
        "configdrive": None,
        "image_dir": str(tmp_path / "images"),
        "image_url": "http://daemon/files/images",
        "allowed_paths": [],
        "skip_block_devices": [],
        "root_device": {},
    }
    boot = {"mode": "uefi", "file": str(tmp_path / "boot/op.iso")}
    return {"ports": [], "agent": NO_AGENT, "boot": boot, "deploy": deploy, "logs": str(tmp_path / "logs"), **more}


def test_a_wave_learns_the_steps_of_its_agents_and_waits_for_those_that_miss(
    stage: Any, agents: list[AgentServer], tmp_path: Path
) -> None:
    steps = [step("agent_steps", "clean", discovers=True)]
    for number, server in enumerate(agents):
        found = {"Generic": [{"step": f"erase_{number}", "interface": "deploy", "priority": 10}]}
        server.answers["clean.get_clean_steps"] = always(
            {"clean_steps": found, "hardware_manager_version": {"generic": "1"}}
        )
        stage.node(f"n{number}", steps=steps, **context(tmp_path, phase="clean", agent=server.context()))
    stage.node("late", steps=steps, **context(tmp_path, phase="clean"))
    run = stage.play(steps, playbook="rackwright.metal.clean")
    assert run.code == 0, run.output
    assert [run.facts(f"n{number}")["agent_steps"]["Generic"][0]["step"] for number in (0, 1)] == ["erase_0", "erase_1"]
    assert run.of("late") == [("start", 0), ("waiting", 0)]


def test_agent_commands_without_token(stage: Any, agents: list[AgentServer], tmp_path: Path) -> None:
    """A wave runs a step with each node's own arguments; tokens go with all requests, secrets into no output."""
    for number, server in enumerate(agents):
        mine = step("erase_devices", "agent", tasks="execute", args={"passes": number, "password": "canary-argument"})
        node = {"driver_info": {"redfish_password": "canary-password"}}
        told = context(tmp_path, phase="clean", agent=server.context())
        stage.node(f"n{number}", steps=[mine], node=node, **told)
    shared = step("erase_devices", "agent", tasks="execute")
    run = stage.play([shared], playbook="rackwright.metal.clean")
    assert run.code == 0, run.output
    for number, server in enumerate(agents):
        assert run.of(f"n{number}") == [("start", 0), ("waiting", 0)]
        assert server.posted[0]["params"]["step"]["args"]["passes"] == number
        server.end(result={"password": "canary-result", "clean_step": {"interface": "deploy", "step": "erase_devices"}})
    again = stage.play([shared], playbook="rackwright.metal.clean")
    for number, server in enumerate(agents):
        assert again.facts(f"n{number}") == {"agent_command_0": server.commands[0]["id"]}
        assert server.names() == ["clean.execute_clean_step"]
        assert set(server.tokens) == {TOKEN}
    assert "canary" not in run.output + again.output
    assert TOKEN not in run.output + again.output


def test_each_agent_of_a_wave_sets_its_own_password_and_one_that_is_gone_is_not_waited_for_in_vain(
    stage: Any, agents: list[AgentServer], tmp_path: Path
) -> None:
    steps = [{**step("finalize_rescue", "rescue"), "interface": "rescue"}]
    for number, server in enumerate(agents):
        commands = {"rescue.finalize_rescue": {"rescue_password": f"$5$canary{number}", "hashed": True}}
        told = context(tmp_path, phase="rescue", agent=server.context(), commands=commands)
        told["boot"]["file"] = str(tmp_path / f"{number}.iso")
        (tmp_path / f"{number}.iso").write_text("image")
        stage.node(f"n{number}", steps=steps, **told)
    run = stage.play(steps, playbook="rackwright.metal.rescue")
    assert run.code == 0, run.output
    for number, server in enumerate(agents):
        params = {"rescue_password": f"$5$canary{number}", "hashed": True}
        assert server.posted == [{"name": "rescue.finalize_rescue", "params": params}]
        assert "failed" not in [event for event, _told in run.of(f"n{number}")]
        assert not (tmp_path / f"{number}.iso").exists()
    assert "canary" not in run.output
    gone = [step("tear_down_agent", "deploy")]
    stage.node("gone", steps=gone, **context(tmp_path, phase="deploy", bmc={"protocol": "redfish"}))
    lines = stage.play(gone, playbook="rackwright.metal.deploy").of("gone")
    assert ("waiting", 0) not in lines


def test_bad_images_fail_their_own_node_only(stage: Any, images: ImageServer, tmp_path: Path) -> None:
    images.files["/os.raw"] = CONTENT
    images.files["/os.qcow2"] = (
        b"QFI\xfb" + (2).to_bytes(4, "big") + bytes(16) + (1 << 30).to_bytes(8, "big") + bytes(600)
    )
    wishes = {
        "good": {"image_source": f"{images.url}/os.raw", "image_checksum": SUM},
        "gone": {"image_source": f"{images.url}/gone.raw", "image_checksum": SUM},
        "bare": {"image_source": f"{images.url}/os.raw"},
        "lies": {"image_source": f"{images.url}/os.qcow2", "image_checksum": SUM, "image_disk_format": "raw"},
    }
    steps = [step("deploy", "deploy")]
    for uuid, wish in wishes.items():
        told = context(tmp_path, phase="deploy")
        told["deploy"]["instance_info"] = wish
        stage.node(uuid, steps=steps, **told)
    run = stage.play(steps, playbook="rackwright.metal.deploy")
    assert run.code == 0, run.output
    assert run.facts("good")["image_info"]["disk_format"] == "raw"
    failed = {line["node"]: f"{line['cause']} {line['action']}" for line in run.lines if line["event"] == "failed"}
    assert failed.keys() == {"gone", "bare", "lies"}
    assert f"{images.url}/gone.raw" in failed["gone"]
    assert "HTTP 404" in failed["gone"]
    assert "no checksum" in failed["bare"]
    assert "says raw, but its content is qcow2" in failed["lies"]


def test_an_image_is_written_by_each_agent(stage: Any, agents: list[AgentServer], tmp_path: Path) -> None:
    steps = [step("write_image", "deploy")]
    image = {"id": "os", "disk_format": "raw", "os_hash_algo": "sha256", "os_hash_value": SUM, "virtual_size": 1}
    for number, server in enumerate(agents):
        disk = {"name": f"/dev/sd{number}", "size": 5 << 30, "serial": f"S{number}"}
        server.answers["poll.get_hardware_info"] = always({"disks": [disk]})
        told = context(tmp_path, phase="deploy", agent=server.context())
        told["deploy"]["instance_info"] = {"image_source": "http://images/os", "image_checksum": SUM}
        stage.node(f"n{number}", steps=steps, facts={"image_info": {**image, "local": False}}, **told)
    run = stage.play(steps, playbook="rackwright.metal.deploy")
    assert run.code == 0, run.output
    for number, server in enumerate(agents):
        assert run.of(f"n{number}") == [("start", 0), ("facts", 0), ("waiting", 0)]
        assert run.facts(f"n{number}")["root_device"]["hint"] == {"serial": f"s== S{number}"}
        assert server.posted[-1]["params"]["step"]["args"]["image_info"]["urls"] == ["http://images/os"]


def test_an_inspection_leaves_the_run_until_its_report_has_come(stage: Any, tmp_path: Path) -> None:
    steps = [{**step("await_inventory", "inspect"), "interface": "inspect"}]
    stage.node("early", steps=steps, **context(tmp_path, phase="inspect"))
    stage.node("done", steps=steps, facts={"inventory_received": True}, **context(tmp_path, phase="inspect"))
    run = stage.play(steps, playbook="rackwright.metal.inspect")
    assert run.code == 0, run.output
    assert run.of("early") == [("start", 0), ("waiting", 0)]
    assert run.lines[-1]["for"] == "inspection"
    assert run.of("done") == [("start", 0)]
