# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Carry out runs on other hosts: ansible-runner's transmit and process here, its worker there, ssh between them.

One connection a run. It carries the run there, its events back, and the questions of its tasks to the door, which ssh
forwards. Nothing is secret but what the door answers, so no secret is in a file or a list of processes of either host.

The worker ends when it has heard nothing for ``patience`` seconds. Whoever lost a worker waits that long before it says
so: by then nothing goes on any more, and the leg can be repeated.

A run begins when a worker of our version has said that it is there. What goes wrong before that has touched no machine:
the run was hindered, and the host is to blame. What goes wrong later is a death.
"""

from __future__ import annotations

import itertools
import json
import logging
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ansible_runner import streaming

from rackwright import __version__
from rackwright.domain.outcomes import cut
from rackwright.runner.ansible import End, Events, Teller, write_folder
from rackwright.runner.base import Listener, PlaybookRun, Runner, RunResult, RunStatus
from rackwright.runner.channel import Channel

logger = logging.getLogger(__name__)

UNREACHED = 255
"""Exit status of ssh where the connection failed; any other is that of the command on the other host."""

_CAUSE_LIMIT = 2000
_CONNECT = 10  # seconds that a connection may take
_ENDED = {"successful", "failed", "timeout"}


class HostUnusable(Exception):
    """An execution host cannot take a run: nothing of it has begun there."""


@dataclass(frozen=True, slots=True)
class Ssh:
    """How to reach execution hosts."""

    command: str
    """What runs there, for the shell of that host: the worker of the same version."""
    config: Path | None
    """Configuration file of ssh; None: that of the user."""
    patience: int
    """Seconds of silence after which a worker ends."""

    def words(self, destination: str, run: PlaybookRun) -> list[str]:
        """Return the command line that starts a worker; its socket there becomes our door."""
        place = f"/tmp/rackwright-{run.run_id}.sock"  # sshd makes it, for its user alone, and takes no name twice
        options = {
            "BatchMode": "yes",
            "ConnectTimeout": _CONNECT,
            "ControlMaster": "no",
            "ControlPath": "none",
            "ExitOnForwardFailure": "yes",
            "ServerAliveCountMax": 3,
            "ServerAliveInterval": max(1, self.patience // 4),
        }
        told = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        launcher = ["setpriv", "--pdeathsig", "KILL", *self._ssh(), "-T", "-a", "-x"]
        remote = f"{self.command} --door {place} --patience {self.patience}"
        return [*launcher, *told, "-R", f"{place}:{run.door}", "--", destination, remote]

    def trial(self, destination: str) -> str:
        """Return the command line by which an operator sees whether a worker can be started."""
        return shlex.join([*self._ssh(), destination]) + f" {self.command} --help"

    def _ssh(self) -> list[str]:
        return ["ssh", *(["-F", str(self.config)] if self.config else [])]


class Elsewhere:
    """Gives each run to the execution host that it names, and to the runner of this host where it names none."""

    def __init__(self, here: Runner, *, hosts: Mapping[str, Sequence[str]], runs: Path, ssh: Ssh, timeout: int) -> None:
        """Take the destinations of each execution host, the folder of the runs and the limit of a run, seconds."""
        self._here, self._hosts, self._runs, self._ssh, self._timeout = here, hosts, runs, ssh, timeout
        self._turn = itertools.count()

    def run(self, run: PlaybookRun, listener: Listener) -> RunResult:
        """Run a playbook to its end; a host that cannot take it is passed over where there is another."""
        if not run.host:
            return self._here.run(run, listener)
        reasons, places = [], list(self._destinations(run.host))
        for destination in places:
            try:
                return self._run_at(destination, run, listener)
            except HostUnusable as error:
                reasons.append(str(error))
                if destination != places[-1]:
                    logger.warning(
                        "An execution host cannot take a run, the next is asked",
                        extra={"host": destination, "cause": str(error)},
                    )
        if reasons:
            return RunResult(RunStatus.HINDERED, cause=cut(" ".join(reasons), _CAUSE_LIMIT))
        text = f"execution_hosts does not name {run.host!r}, which the node names; add it there, or correct the node"
        return RunResult(RunStatus.FINISHED, failed=dict.fromkeys(run.nodes, text))

    def _destinations(self, host: str) -> Iterator[str]:
        """Yield the destinations of a host, beginning with another one each time."""
        places = self._hosts.get(host, ())
        first = next(self._turn)
        return (places[(first + offset) % len(places)] for offset in range(len(places)))

    def _run_at(self, destination: str, run: PlaybookRun, listener: Listener) -> RunResult:
        folder = self._runs / run.run_id
        words = self._ssh.words(destination, run)
        with Channel(words, patience=self._ssh.patience, cancelled=listener.cancelled) as channel:
            door = self._greeted(destination, channel)
            if listener.cancelled():
                return RunResult(RunStatus.CANCELLED)
            try:
                write_folder(folder, replace(run, door=door))
                with Teller(listener) as teller:
                    result = self._play(folder, run, channel=channel, events=Events(listener, teller))
            except Exception as error:  # the run must end with a result, whatever the other host tells
                result = RunResult.broken_off(error, where=destination)
        if result.status is not RunStatus.DIED:
            shutil.rmtree(folder, ignore_errors=True)
        return result

    def _greeted(self, destination: str, channel: Channel) -> Path:
        """Return the path of the door on the other host, once the worker there has said that it is the right one."""
        said = channel.stream.readline()
        try:
            greeting: Any = json.loads(said)
            version, door = greeting["rackwright"], Path(greeting["door"])
        except (ValueError, KeyError, TypeError):
            if channel.ending:  # it was cancelled before it began
                return Path()
            status = channel.close()
            told = channel.errors() or said.decode(errors="replace").strip() or f"it ended with {status}"
            what = "cannot be reached" if status == UNREACHED else "cannot run playbooks"
            raise HostUnusable(
                f"Execution host {destination} {what}: {told}. As the daemon's user, see that "
                f"'{self._ssh.trial(destination)}' works; the run is tried again until then."
            ) from None
        if version != __version__:
            raise HostUnusable(
                f"Execution host {destination} has rackwright {version}, and the daemon is {__version__}: install "
                f"rackwright {__version__} there; the run is tried again until then."
            )
        return door

    def _play(self, folder: Path, run: PlaybookRun, *, channel: Channel, events: Events) -> RunResult:
        sent = streaming.Transmitter(
            _output=channel.input,
            private_data_dir=str(folder),
            ident=run.run_id,
            playbook=run.playbook,
            inventory="run.wave.yml",
            suppress_env_files=True,
            fact_cache_type="memory",
            timeout=self._timeout or None,
        )
        try:
            sent.run()
        except OSError:
            logger.info("A connection broke before the run was there", extra={"run": run.run_id})
        heard = _Processor(_input=channel.stream, private_data_dir=str(folder), event_handler=events.handle, quiet=True)
        streaming.Processor.run(heard)
        ended = channel.close()
        events.finish()
        if heard.status not in _ENDED and not channel.ending:
            if ended == UNREACHED or ended < 0:
                channel.outlast()
            cause = f"the connection broke, or the worker at its other end: {channel.errors() or f'status {ended}'}"
            return RunResult(RunStatus.DIED, cause=cut(cause, _CAUSE_LIMIT))
        end = End(
            status=ended, canceled=heard.status not in _ENDED, timed_out=heard.status == "timeout", limit=self._timeout
        )
        return events.result(end, batched=run.batched)


class _Processor(streaming.Processor):
    """Reads events, and takes no file from the other host."""

    def __init__(self, **given: Any) -> None:
        streaming.Processor.__init__(self, **given)

    def artifacts_callback(self, artifacts_data: Mapping[str, Any]) -> None:
        """Refuse files: our worker sends none."""
        raise ValueError(f"it sent files, which our worker does not: {artifacts_data}")


__all__ = ["Elsewhere", "HostUnusable", "Ssh"]
