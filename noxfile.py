# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Every check of the tree. All run in the environment that nox itself lives in, which `nox -s dev` fills."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2025.5.1"
# One environment for all checks: setting up ten would take longer than most of them run.
nox.options.default_venv_backend = "none"

ROOT = Path(__file__).parent
BIN = Path(sys.executable).parent
BUILD = ROOT / "build"
LINK = ROOT / ".ansible/collections/ansible_collections/rackwright/metal"
COLLECTIONS = BUILD / "collections"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
PINS = "tests/constraints.txt"
SHARED = ("--numprocesses=2",)  # for as many cores as CI has; the tests wait about half of their time
PATIENT = {"interrupt_timeout": 60, "terminate_timeout": 60}  # seconds to stop machines in, once interrupted
# What the caller's shell brings must not decide a result: another Python first on PATH, another collection, colours, or
# that no byte code is kept, with which every start of the daemon compiles all that it loads.
os.environ |= {
    "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
    "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible/collections"),
    "ANSIBLE_NOCOLOR": "1",
    "LC_ALL": "C.UTF-8",
    "UV_PYTHON_DOWNLOADS": "never",
    "VIRTUAL_ENV": str(BIN.parent),
}
for name in ("PYENV_VERSION", "PYTHONDONTWRITEBYTECODE", "PYTHONHOME", "PYTHONPATH"):
    os.environ.pop(name, None)


@nox.session
def dev(session: nox.Session) -> None:
    """Link the tree into the environment and install what the checks need, as pinned."""
    LINK.parent.mkdir(parents=True, exist_ok=True)
    if not LINK.is_symlink():
        LINK.symlink_to("../../../..")
    everything = ".[keystone,lab,mariadb,nova,postgresql,top]"
    session.run("uv", "pip", "install", "--quiet", "--constraint", PINS, "--group", "dev", "--editable", everything)


@nox.session(default=False)
def pin(session: nox.Session) -> None:
    """Renew the pinned versions of all that the checks and the packages need."""
    resolve = ("uv", "pip", "compile", "--quiet", "--universal", "--upgrade", "--no-annotate", "--python-version=3.11")
    told_as = ("--custom-compile-command", "nox -s pin")
    session.run(*resolve, *told_as, "--all-extras", "--group=dev", "--output-file", PINS, "pyproject.toml")
    for wanted in Path("tests/peers").glob("*.in"):
        session.run(*resolve, *told_as, "--output-file", str(wanted.with_suffix(".txt")), str(wanted))


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and spelling of Python, YAML, playbooks, roles and prose."""
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("yamllint", "--strict", ".")
    session.run("ansible-lint", "--offline", "--strict")
    session.run("codespell", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types of the daemon, the lab, the plugins and the tests, strictly."""
    session.run("mypy")


@nox.session
def layers(session: nox.Session) -> None:
    """Check who imports whom."""
    session.run("lint-imports")


@nox.session
def unit(session: nox.Session) -> None:
    """Run the unit tests of plugins, daemon, lab and tree; arguments go to pytest."""
    session.run("pytest", *(session.posargs or ["tests/unit", *SHARED, "--dist=loadfile"]))


@nox.session
def docs(session: nox.Session) -> None:
    """Write the generated pages, check the collection's documentation with antsibull, and the changelog fragments."""
    session.run("python", "-m", "rackwright.reference", "--write")
    session.run("antsibull-changelog", "lint")
    session.run("antsibull-docs", "lint-collection-docs", "--plugin-docs", "--validate-collection-refs", "self", ".")


@nox.session
def build(session: nox.Session) -> None:
    """Build both packages into dist/."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    session.run("uv", "build", "--quiet", "--no-build-isolation", "--out-dir", "dist")
    session.run("ansible-galaxy", "collection", "build", "--output-path", "dist")


def install_artifact(session: nox.Session) -> None:
    """Build the collection and install it where ansible-test finds it: we test what we ship."""
    shutil.rmtree(BUILD, ignore_errors=True)
    session.run("ansible-galaxy", "collection", "build", "--output-path", str(BUILD))
    (archive,) = BUILD.glob("*.tar.gz")
    install = ("ansible-galaxy", "collection", "install", "--force", "--no-deps", str(archive))
    session.run(*install, "--collections-path", str(COLLECTIONS), env={"ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS)})
    session.chdir(COLLECTIONS / "ansible_collections/rackwright/metal")
    # ansible-test asks git for the files; the repository around it would answer that all of build/ is ignored.
    session.run("git", "init", "--quiet")


def ansible_test_home() -> dict[str, str]:
    """Return an environment in which ansible-test keeps its own environments here and finds its pip script."""
    home = ROOT / ".nox/ansible-test"
    ask = (
        "from types import SimpleNamespace as Python\n"
        "from ansible_test._internal.python_requirements import get_venv_packages\n"
        f"print(get_venv_packages(Python(version={PYTHON!r}))['pip'].replace('.', '_'))"
    )
    version = subprocess.run([BIN / "python", "-c", ask], check=True, capture_output=True, text=True).stdout.strip()
    cache = home / ".ansible/test/cache"
    cache.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "tests/get_pip.py", cache / f"get_pip_{version}.py")
    # It hands no PIP_* variables on.
    (home / ".config/pip").mkdir(parents=True, exist_ok=True)
    (home / ".config/pip/pip.conf").write_text("[global]\nquiet = 1\n[install]\nno-compile = true\n")
    return {"HOME": str(home)}


@nox.session
def sanity(session: nox.Session) -> None:
    """Run all of ansible-test's sanity checks on the built collection."""
    install_artifact(session)
    session.run("ansible-test", "sanity", "--local", "--python", PYTHON, *session.posargs, env=ansible_test_home())


@nox.session
def integration(session: nox.Session) -> None:
    """Run the daemon with the real ansible-runner, then each module against a BMC; arguments name targets, alone."""
    if not session.posargs:
        session.run("pytest", "tests/integration/server", "-m", "not lab", *SHARED, "--dist=worksteal")
    install_artifact(session)
    session.run("ansible-test", "integration", "--local", "--python", PYTHON, *session.posargs, env=ansible_test_home())


@nox.session
def molecule(session: nox.Session) -> None:
    """Converge, repeat and verify one scenario per role."""
    session.run("molecule", "test", *(session.posargs or ["--all", "--workers=2"]))


@nox.session(default=False)
def conformance(session: nox.Session) -> None:
    """Run real clients, unmodified, against the daemon; arguments name clients."""
    session.run("python", "-m", "tests.conformance", *session.posargs, **PATIENT)


@nox.session
def lab(session: nox.Session) -> None:
    """Take machines of the virtual rack from enroll to a booted system; needs root, last because longest."""
    everything = ["tests/integration", *SHARED, "--dist=loadgroup"]
    session.run("pytest", "-m", "lab", "--timeout=1500", *(session.posargs or everything), **PATIENT)
