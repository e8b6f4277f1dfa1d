# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Both packages, built and installed as a user would."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.unit.house.tree import ROOT, kept, load

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
HERE = Path(sys.executable).parent
NOT_OF_THE_COLLECTION = (
    "server/",
    "inventory/",
    "extensions/",
    "tests/unit/server/",
    "tests/unit/house/",
    "docs/howto/",
)
IMPORT_ALL = """
import importlib, pkgutil, rackwright
left_out = ("__main__", ".env", ".auth.keystone", ".top.screen")  # the last two are what extras are for
for module in pkgutil.walk_packages(rackwright.__path__, "rackwright."):
    if not module.name.endswith(left_out) and ".versions." not in module.name:
        importlib.import_module(module.name)
"""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    hidden = {"ANSIBLE_COLLECTIONS_PATH", "PYTHONPATH", "VIRTUAL_ENV"}
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(command, cwd=cwd, env=env, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the paths in the collection's artifact."""
    out = tmp_path_factory.mktemp("collection")
    run(HERE / "ansible-galaxy", "collection", "build", "--output-path", out)
    (archive,) = out.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        return {member.name for member in tar.getmembers() if member.isfile()}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of programs of a fresh environment that holds the wheel and what it asks for."""
    out = tmp_path_factory.mktemp("wheel")
    run(HERE / "uv", "build", "--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", out)
    (wheel,) = out.glob("*.whl")
    run(HERE / "uv", "venv", "--python", sys.executable, out / "venv")
    pins = ("--constraint", ROOT / "tests/constraints.txt")
    run(HERE / "uv", "pip", "install", "--python", out / "venv/bin/python", *pins, wheel)
    return out / "venv/bin"


def test_the_artifact_holds_what_ansible_runs(collection: set[str]) -> None:
    parts = set(kept("meta/*", "playbooks/*", "plugins/*", "roles/*", "LICENSES/*"))
    assert parts - collection == set()


def test_the_artifact_holds_nothing_of_the_daemon(collection: set[str]) -> None:
    assert {path for path in collection if path.startswith(NOT_OF_THE_COLLECTION)} == set()


def test_ansible_finds_the_collection_that_the_wheel_carries(installed: Path, tmp_path: Path) -> None:
    listed = json.loads(run(installed / "ansible-galaxy", "collection", "list", "--format", "json", cwd=tmp_path))
    versions = [found["rackwright.metal"]["version"] for found in listed.values() if "rackwright.metal" in found]
    assert versions == [load("galaxy.yml")["version"]]
    documented = json.loads(
        run(installed / "ansible-doc", "--type", "module", "--json", "--list", "rackwright.metal", cwd=tmp_path)
    )
    modules = {f"rackwright.metal.{Path(path).stem}" for path in kept("plugins/modules/*.py")}
    assert documented.keys() == modules


def test_the_wheel_carries_each_file_of_both_packages(installed: Path) -> None:
    (packages,) = installed.parent.glob("lib/*/site-packages")
    metal = packages / "ansible_collections/rackwright/metal"
    wanted = [packages / path.removeprefix("server/") for path in kept("server/*")]
    wanted += [metal / path for path in kept("meta/*", "playbooks/*", "plugins/*", "roles/*")]
    assert [str(path) for path in wanted if not path.is_file()] == []


def test_the_daemon_tells_which_extra_the_setting_keystone_needs(installed: Path, tmp_path: Path) -> None:
    settings = {"AUTH_STRATEGY": "keystone", "KEYSTONE_AUTH_URL": "http://127.0.0.1:9", "KEYSTONE_PASSWORD": "x"}
    given = [f"RACKWRIGHT_{name}={value}" for name, value in settings.items()]
    program, state_dir = str(installed / "rackwright"), str(tmp_path / "state")
    command = ("env", *given, program, "api", "--port", "1", "--state-dir", state_dir)
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=100)
    assert done.returncode == 78, done.stderr
    assert "pip install 'rackwright[keystone]'" in done.stderr


def test_the_daemon_needs_nothing_but_what_the_wheel_asks_for(installed: Path, tmp_path: Path) -> None:
    run(installed / "python", "-W", "error::ImportWarning", "-c", IMPORT_ALL, cwd=tmp_path)
    assert "usage" in run(installed / "rackwright", "--help", cwd=tmp_path).lower()
