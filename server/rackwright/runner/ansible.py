# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Start playbooks with ansible-runner, each in a private folder below ``<state>/runs``.

No secret is passed: nodes and credentials come over the conductor's socket. ansible-playbook dies with the thread that
started it, and is found beside the Python that runs us.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import re
import shutil
import sys
import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ansible_runner

from rackwright.domain.errors import Invalid, RackwrightError
from rackwright.domain.outcomes import cut
from rackwright.runner.base import Listener, PlaybookRun, RunResult, RunStatus
from rackwright.runner.forkserver import ForkServer

logger = logging.getLogger(__name__)

LINE = "@node "
MARK = "@mark "
"""How the lines begin that action plugins write for us."""

_CONFIG = """\
# Settings of runs come from the daemon; this file keeps others out.
[defaults]
# ansible-playbook looks for results of its tasks this often, seconds; one task serves many nodes, and takes long.
internal_poll_interval = 0.02
"""

POLL = 0.2
"""Seconds between two looks whether a run is to be ended."""

_CAUSE_LIMIT = 2000
_TAIL = 20  # lines of output that are looked at for the cause of a death
_GIVEN = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|XDG_RUNTIME_DIR|SSH_AUTH_SOCK|LD_LIBRARY_PATH|PYTHON\w+"
    r"|SSL_CERT_(FILE|DIR)|(REQUESTS|CURL)_CA_BUNDLE|(?i:(https?|ftp|all|no)_proxy)"
)
"""Variables of the daemon's own environment that playbooks get: what a process needs, and the ways out of the host."""


def scrub_environment(also: Collection[str] = ()) -> None:
    """Take out of this process's environment what no playbook may have; ansible-runner hands it on whole.

    ``also`` names the variables that operators want their playbooks to have.
    """
    for name in list(os.environ):
        if name not in also and not _GIVEN.fullmatch(name):
            del os.environ[name]


def forget_environment(told: Mapping[str, Any], runner_config: Any) -> None:
    """Remove the file in which ansible-runner has just written the environment of a run: proxies may have passwords."""
    if told["status"] == "running":
        Path(runner_config.artifact_dir, "command").unlink(missing_ok=True)


class RunnerUnusable(Invalid):
    """Playbooks cannot be run: {reason}."""


class AnsibleRunner:
    """Runs playbooks of the collections below ``roots``."""

    def __init__(
        self, *, runs: Path, home: Path, roots: tuple[Path, ...], timeout: int, fork_server_idle: int, forks: int = 20
    ) -> None:
        """Take the folder of the runs, the one that Ansible keeps its things in, and the limit of a run, seconds.

        The first of ``roots`` holds our own collection. ``fork_server_idle`` is the time, seconds, that the process
        stays from which runs are forked; 0 = each run loads Ansible by itself. Raises RunnerUnusable when
        ansible-playbook or setpriv is missing.
        """
        self._runs, self._timeout = runs, timeout
        self._playbook = Path(sys.executable).parent / "ansible-playbook"
        if not self._playbook.exists():
            raise RunnerUnusable(reason=f"{self._playbook} is missing; install ansible-core beside the daemon")
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            raise RunnerUnusable(reason="the command setpriv is missing; install util-linux")
        self._launcher = [setpriv, "--pdeathsig", "KILL"]
        shutil.rmtree(home / "tmp", ignore_errors=True)  # of runs that were killed
        for folder in (runs, home):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in runs.glob("*/artifacts/*/command"):  # of runs that were killed as they began
            left.unlink()
        self._environment = environment_of(home, roots, forks)
        self._fork_server = ForkServer(roots[0], home / "fork.sock", idle=fork_server_idle)

    def close(self) -> None:
        """End what was kept for runs to come."""
        self._fork_server.close()

    def run(self, run: PlaybookRun, listener: Listener) -> RunResult:
        """Run a playbook to its end; its folder stays only when it died."""
        folder = self._runs / run.run_id
        try:
            write_folder(folder, run)
            with Teller(listener) as teller:
                events = Events(listener, teller)
                result = self._play(folder, run, events)
        except Exception as error:  # the run must end with a result, whatever ansible-runner meets
            result = RunResult.broken_off(error)
        if result.status is not RunStatus.DIED:
            shutil.rmtree(folder, ignore_errors=True)
        return result

    def _play(self, folder: Path, run: PlaybookRun, events: Events) -> RunResult:
        prepared = ansible_runner.interface.init_runner(
            ident=run.run_id,
            private_data_dir=str(folder),
            playbook=run.playbook,
            inventory=str(folder / "run.wave.yml"),
            suppress_env_files=True,
            fact_cache_type="memory",
            quiet=True,
            timeout=self._timeout or None,
            envvars=self._environment,
            event_handler=events.handle,
            status_handler=forget_environment,
            cancel_callback=events.cancelled,
        )
        program = self._fork_server.command(self._playbook, prepared.config.env)
        prepared.config.command = [*self._launcher, *program, *prepared.config.command[1:]]
        prepared.run()
        events.finish()
        end = End(status=prepared.rc, canceled=prepared.canceled, timed_out=prepared.timed_out, limit=self._timeout)
        return events.result(end, batched=run.batched)


class Teller:
    """Tells a listener what a run says, in order, on a thread of its own: all at once that has come meanwhile.

    To store lines may take long, and ansible-runner gives up when the output of a run that has ended is not read
    within 5 seconds.
    """

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._waiting: queue.SimpleQueue[Mapping[str, Any] | str | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._tell, daemon=True)
        self.broken = ""

    def __enter__(self) -> Teller:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def lines(self, told: Iterable[Mapping[str, Any]]) -> None:
        """Tell these reports after all that came before."""
        for each in told:
            self._waiting.put(each)

    def mark(self, text: str) -> None:
        """Tell that this mark is reached when all is told that came before."""
        self._waiting.put(text)

    def finish(self) -> None:
        """Return when everything is told."""
        self._waiting.put(None)
        self._thread.join()

    def _tell(self) -> None:
        said: list[Mapping[str, Any] | str | None] = []
        while None not in said:
            said = [self._waiting.get()]
            while not self._waiting.empty():  # nobody else takes anything out
                said.append(self._waiting.get())
            self._pass_on(said)

    def _pass_on(self, said: Iterable[Mapping[str, Any] | str | None]) -> None:
        lines = [each for each in said if isinstance(each, Mapping)]
        try:
            if lines:
                self._listener.lines(lines)
        except Exception as error:  # what it was about is found out at the end of the run
            known = isinstance(error, RackwrightError)
            logger.error("What a run told could not be stored: %s", error, exc_info=None if known else error)
            self.broken = f"what it told could not be stored: {type(error).__name__}: {error}"
        for mark in said:
            if isinstance(mark, str):
                self._listener.reached(mark)


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How ansible-playbook ended."""

    status: int | None
    """Its exit status."""
    canceled: bool
    timed_out: bool
    limit: int
    """Seconds that it may have taken."""


class Events:
    """Reads the events of one run."""

    def __init__(self, listener: Listener, teller: Teller) -> None:
        self._listener, self._teller = listener, teller
        self._failures: dict[str, str] = {}
        self._stats: Mapping[str, Any] | None = None
        self._last: list[str] = []
        self._broken = ""

    def finish(self) -> None:
        """Return when the listener knows everything."""
        self._teller.finish()

    def cancelled(self) -> bool:
        """Tell ansible-runner whether to end the run."""
        return self._listener.cancelled()

    def handle(self, event: Mapping[str, Any]) -> bool:
        """Take one event; False keeps ansible-runner from writing it to a file."""
        try:
            self._take(event)
        except Exception as error:  # an error of ours must not leave ansible-playbook without a reader
            logger.exception("An event of a run could not be dealt with")
            self._broken = f"what it told could not be stored: {type(error).__name__}: {error}"
        return False

    def _take(self, event: Mapping[str, Any]) -> None:
        match event.get("event"):
            case "verbose":
                self._read(str(event.get("stdout") or ""))
            case "runner_on_failed" | "runner_on_unreachable" if not event["event_data"].get("ignore_errors"):
                data = event["event_data"]
                self._failures[str(data.get("host"))] = _cause(data)
            case "playbook_on_stats":
                self._stats = event["event_data"]

    def _read(self, text: str) -> None:
        for line in text.splitlines():
            if line.startswith(LINE):
                told = json.loads(line.removeprefix(LINE))
                self._teller.lines(told if isinstance(told, list) else [told])
            elif line.startswith(MARK):
                self._teller.mark(line.removeprefix(MARK).strip())
            elif line.strip():
                self._last = [*self._last[1 - _TAIL :], line.strip()]

    def result(self, ended: End, *, batched: bool) -> RunResult:
        """Return what the end of the run means."""
        if ended.canceled:
            return RunResult(RunStatus.CANCELLED)
        if broken := self._broken or self._teller.broken:
            return RunResult(RunStatus.DIED, cause=broken)
        failed = self._failed_hosts()
        if ended.status == 0 or (self._stats is not None and failed and not batched and not ended.timed_out):
            return RunResult(RunStatus.FINISHED, failed=failed)
        return RunResult(RunStatus.DIED, cause=cut(self._why(ended), _CAUSE_LIMIT))

    def _failed_hosts(self) -> dict[str, str]:
        stats = self._stats or {}
        hosts = {*(stats.get("failures") or {}), *(stats.get("dark") or {})}
        return {host: self._failures.get(host, "a task failed") for host in hosts}

    def _why(self, ended: End) -> str:
        if ended.timed_out:
            return f"it took longer than run_timeout, {ended.limit} seconds"
        said = next(iter(self._failures.values()), "") or " ".join(self._last[-3:])
        return f"ansible-playbook ended with {ended.status}" + (f": {said}" if said else " and said nothing")


def _cause(data: Mapping[str, Any]) -> str:
    result = data.get("res") or {}
    text = result.get("msg") or result.get("stderr") or "it gave no reason"
    return cut(f"task {data.get('task')!r}: {text}", _CAUSE_LIMIT)


def environment_of(home: Path, roots: tuple[Path, ...], forks: int) -> dict[str, str]:
    """Return the variables that make a run independent of who started the daemon."""
    config = home / "ansible.cfg"
    config.write_text(_CONFIG, encoding="utf-8")
    beside = Path(sys.executable).parent
    return {
        "PATH": f"{beside}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "ANSIBLE_CONFIG": str(config),
        "ANSIBLE_HOME": str(home),
        "ANSIBLE_COLLECTIONS_PATH": os.pathsep.join(str(root) for root in dict.fromkeys(roots)),
        "ANSIBLE_INVENTORY_ENABLED": "rackwright.metal.wave",
        "ANSIBLE_INVENTORY_UNPARSED_FAILED": "true",
        "ANSIBLE_FORKS": str(forks),
        "ANSIBLE_NOCOLOR": "true",
    }


def write_folder(folder: Path, run: PlaybookRun) -> None:
    """Make the private data folder; nothing in it is secret."""
    settings = {"pexpect_timeout": POLL, "suppress_ansible_output": True, "suppress_output_file": False}
    variables = {
        "rackwright_run": run.run_id,
        "rackwright_door": str(run.door),
        "provision_steps": [dict(step) for step in run.steps],
        "wave_batched": run.batched,
    }
    source = {"plugin": "rackwright.metal.wave", "door": str(run.door), "run": run.run_id}
    (folder / "env").mkdir(mode=0o700, parents=True)
    folder.chmod(0o700)
    files = {"env/settings": settings, "env/extravars": variables, "run.wave.yml": source}
    for name, content in files.items():  # JSON is YAML, and quick to read
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
