# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The command ``rackwright``: the whole daemon (serve), one of its processes (api, conductor), or its database (db).

Each process loads only what it needs, which is why the imports of the subcommands stand in their functions.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import gc
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright import __version__, logs
from rackwright.domain.errors import RackwrightError
from rackwright.settings import CONFIG_VARIABLE, PREFIX, Settings, load
from rackwright.supervisor import EX_CONFIG, SIGNALS, command
from rackwright.telemetry import surroundings

if TYPE_CHECKING:
    from rackwright.catalog import Catalog
    from rackwright.runner.base import Runner

_log = logging.getLogger("rackwright.cli")  # its own name is __main__ where the supervisor starts it

_PR_SET_PDEATHSIG = 1
_TOP = """Watch the fleet over the API. The environment says where and who, as for the command baremetal: OS_ENDPOINT
(http://127.0.0.1:6385 by default), OS_AUTH_TYPE (none, http_basic or token), OS_USERNAME, OS_PASSWORD, OS_TOKEN,
OS_CACERT. The key q ends it."""
_HOST = """address of the API: where it listens, and what a conductor tells agents and BMCs unless settings name URLs;
the name of a conductor is the setting conductor_host"""
_WORKER = "carry out a run that a daemon on another host sends over ssh; it starts this by itself"
_FOLDERS = ("http/boot", "http/images", "cache", "logs/deploy", "runs")


class CannotStart(RackwrightError):
    """Rackwright cannot start: {reason}."""


class TopMissing(RackwrightError):
    """The view of the fleet needs the library rich; install it with: pip install 'rackwright[top]'"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        if options.run is top:  # it speaks to a daemon that is elsewhere: its settings are not those of this machine
            return int(options.run(options))
        settings = load(options.config, host_ip=options.host, port=options.port, state_dir=options.state_dir)
        logs.set_up(settings.log_level, settings.log_format, options.run.__name__)
        _follow(options.parent)
        return int(options.run(settings, options))
    except RackwrightError as error:
        print(f"rackwright: {error}", file=sys.stderr)
        return EX_CONFIG


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--config", type=Path, metavar="FILE", help="TOML file with settings")
    common.add_argument("--state-dir", type=Path, metavar="DIR", help="folder of everything that the daemon keeps")
    common.add_argument("--parent", type=int, help=argparse.SUPPRESS)
    common.add_argument("--socket", type=int, help=argparse.SUPPRESS)
    place = argparse.ArgumentParser(add_help=False)
    place.add_argument("--host", metavar="ADDRESS", help=_HOST)
    place.add_argument("--port", type=int, help="TCP port of the API, likewise")
    parser = argparse.ArgumentParser(prog="rackwright", description="Provision bare metal with playbooks.")
    parser.set_defaults(host=None, port=None)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, run, text in (
        ("serve", serve, "run the daemon: one API process and one conductor"),
        ("api", api, "run an API process alone"),
        ("conductor", conductor, "run a conductor alone"),
    ):
        commands.add_parser(name, parents=[common, place], help=text, description=text).set_defaults(run=run)
    far = commands.add_parser("worker", parents=[common], help=_WORKER, description=_WORKER)
    far.add_argument("--door", type=Path, required=True, metavar="SOCKET", help="socket that leads to the conductor")
    far.add_argument("--patience", type=float, default=20, metavar="SECONDS", help="silence after which it ends")
    far.set_defaults(run=worker)
    database = commands.add_parser("db", help="look after the database").add_subparsers(required=True, metavar="ACTION")
    watch = commands.add_parser("top", help="watch the fleet in the terminal", description=_TOP)
    watch.add_argument("--once", action="store_true", help="print one frame and end")
    watch.add_argument("--interval", type=float, default=2.0, metavar="SECONDS", help="time between two looks")
    watch.add_argument("--rows", type=_count, metavar="COUNT", help="most nodes shown; by default what fits")
    watch.set_defaults(run=top)
    text = "bring the database up to date"
    database.add_parser("upgrade", parents=[common], help=text, description=text).set_defaults(run=upgrade)
    return parser


def _count(text: str) -> int:
    """Return a number of the command line that must be 1 or more."""
    if not text.isdecimal() or (found := int(text)) < 1:
        raise argparse.ArgumentTypeError("it must be a number, 1 or more")
    return found


def serve(settings: Settings, options: argparse.Namespace) -> int:
    """Bring the database up to date, then become the supervisor of both processes; lock and port go along."""
    from rackwright.api.waiting import answering

    prepare(settings)
    with claimed(settings), _listening(settings) as listener:
        environment = _environment(settings, options.config)
        with answering(listener):
            status = subprocess.call(command("db", "upgrade", "--parent", str(os.getpid())), env=environment)
        if status:
            return status
        listener.set_inheritable(True)
        patience = settings.graceful_shutdown_timeout + 10
        words = ["-P", "-m", "rackwright.supervisor", str(listener.fileno()), str(patience)]
        os.execve(sys.executable, [sys.executable, *words], environment)


def api(settings: Settings, options: argparse.Namespace) -> int:
    """Serve the API, on the socket of the supervisor if there is one."""
    import uvicorn

    from rackwright.api.waiting import answering
    from rackwright.app import create_app

    prepare(settings)
    _keep_numbers(settings, "api")
    with _inherited(options.socket) or _listening(settings) as listener:
        with answering(listener):
            app = create_app(settings)
        _settle()
        config = uvicorn.Config(
            app, loop="uvloop", http="httptools", log_config=None, access_log=False, server_header=False
        )
        host, port = listener.getsockname()[:2]
        _log.info("The API listens", extra={"address": host, "port": port})
        uvicorn.Server(config).run(sockets=[listener])
    return 0


def conductor(settings: Settings, options: argparse.Namespace) -> int:
    """Run the engine until a signal ends it."""
    from rackwright import catalog
    from rackwright.engine.conductor import Conductor
    from rackwright.engine.world import World
    from rackwright.nova import open_nova
    from rackwright.runner.ansible import scrub_environment
    from rackwright.store.deployment import enter
    from rackwright.store.sealing import Sealer

    prepare(settings)
    scrub_environment(settings.run_environment)
    _keep_numbers(settings, "conductor")
    with contextlib.nullcontext() if options.parent else claimed(settings):
        offer = catalog.installed(settings)
        database, key = enter(settings.database, settings.secret_key_file)
        world = World(database, settings, offer, Sealer(key, offer.secrets), nova=open_nova(settings))
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        with _runner(settings, offer) as runner, contextlib.closing(world.nova or contextlib.ExitStack()):
            engine = Conductor(world, runner)
            engine.start()
            _settle()
            _log.info("The conductor works", extra={"host": settings.conductor_host})
            engine.serve(stop)
    return 0


@contextlib.contextmanager
def _runner(settings: Settings, offer: Catalog) -> Iterator[Runner]:
    """Return who starts playbooks: here, and on execution hosts where there are some."""
    from rackwright.runner.ansible import AnsibleRunner
    from rackwright.runner.remote import Elsewhere, Ssh

    runs = settings.state_dir.absolute() / "runs"
    here = AnsibleRunner(
        runs=runs,
        home=settings.state_dir.absolute() / "ansible",
        roots=tuple(collection.root for collection in offer.collections),
        timeout=settings.run_timeout,
        fork_server_idle=settings.fork_server_idle,
    )
    lease = settings.heartbeat_timeout - settings.heartbeat_interval
    ssh = Ssh(settings.execution_command, settings.execution_ssh_config, min(settings.execution_patience, lease))
    with contextlib.closing(here):
        yield Elsewhere(here, hosts=settings.execution_destinations, runs=runs, ssh=ssh, timeout=settings.run_timeout)


def _settle() -> None:
    """Give back what only the start needed; never look for garbage in the rest, as each long list would have it."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    gc.freeze()


def worker(settings: Settings, options: argparse.Namespace) -> int:
    """Carry out the one run that a daemon on another host sends."""
    from rackwright.catalog.locate import locate, locate_ours
    from rackwright.runner.worker import work

    ours = locate_ours(settings.collection_root)
    further = (locate(name, settings.collection_root) for name in settings.step_collections)
    roots = dict.fromkeys(collection.root for collection in (ours, *further))
    return work(options.door, patience=options.patience, roots=tuple(roots), variables=settings.run_environment)


def upgrade(settings: Settings, options: argparse.Namespace) -> int:
    """Bring the database up to date."""
    from rackwright.store.migrations import migrate
    from rackwright.store.session import open_engine

    del options
    prepare(settings)
    migrate(open_engine(settings.database))
    return 0


def top(options: argparse.Namespace) -> int:
    """Show the fleet until q is pressed, over the API that OS_ENDPOINT names; raise TopMissing or ServiceFailed."""
    try:
        from rackwright.top.screen import watch
    except ImportError as error:
        raise TopMissing from error

    return watch(os.environ, once=options.once, interval=options.interval, rows=options.rows)


def prepare(settings: Settings) -> None:
    """Make the state directory, and let us open many files; raise CannotStart when that is not possible."""
    if (files := surroundings.allow_files()) < surroundings.FEWEST_FILES:
        raise CannotStart(
            reason=f"it may have {files} files open at once, which is too few; "
            f"allow {surroundings.FEWEST_FILES} at least (LimitNOFILE of its service, or ulimit -Hn)"
        )
    try:
        settings.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings.state_dir.chmod(0o700)
        for name in _FOLDERS:
            (settings.state_dir / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CannotStart(
            reason=f"state_dir {settings.state_dir} cannot be written ({error.strerror}); "
            "name another folder with --state-dir, or give this one to the user of the daemon"
        ) from error


@contextlib.contextmanager
def claimed(settings: Settings) -> Iterator[None]:
    """Hold the lock of the state directory and of a file of SQLite; raise CannotStart when another daemon has one."""
    with contextlib.ExitStack() as held:
        _lock(settings.state_dir / "lock", f"state_dir {settings.state_dir}; stop it, or name another folder", held)
        if (file := settings.database_file) is not None:
            what = f"database {file}, and SQLite serves one; set database_url to PostgreSQL or MariaDB for several"
            _lock(file.with_name(f"{file.name}.lock"), what, held)
        yield


def _lock(path: Path, what: str, held: contextlib.ExitStack) -> None:
    """Lock a file and write into it who has it, for those that want to stop us."""
    try:
        file = held.enter_context(path.open("a"))
    except OSError as error:
        raise CannotStart(
            reason=f"{path} cannot be written ({error.strerror}); make its folder, or give it to the user of the daemon"
        ) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise CannotStart(reason=f"another daemon uses {what}") from error
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()
    os.set_inheritable(file.fileno(), True)


def _keep_numbers(settings: Settings, kind: str) -> None:
    """Keep the numbers of this process where /metrics reads them; tell a conductor's own where that is wanted."""
    port = settings.conductor_metrics_port if kind == "conductor" else 0
    if settings.metrics == "off" and not port:
        return
    from rackwright.telemetry import book, numbers

    folder = settings.state_dir.absolute() / book.FOLDER
    numbers.keep_in(folder, kind)
    if port:
        try:
            book.serve(folder, host=settings.host_ip, port=port)
        except OSError as error:
            raise CannotStart(
                reason=f"{settings.host_ip} port {port} cannot be listened on ({error.strerror}); "
                "end the program that uses it, or change conductor_metrics_port"
            ) from error


def _listening(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host_ip else socket.AF_INET
    try:
        return socket.create_server((settings.host_ip, settings.port), family=family, backlog=1024)
    except OSError as error:
        raise CannotStart(
            reason=f"{settings.host_ip} port {settings.port} cannot be listened on ({error.strerror}); "
            "end the program that uses it, or choose another with --port"
        ) from error


def _inherited(fd: int | None) -> socket.socket | None:
    return None if fd is None else socket.socket(fileno=fd)


def _follow(parent: int | None) -> None:
    """Die with the supervisor, and take signals again, which it keeps blocked for itself."""
    if parent is None:
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    if os.getppid() != parent:
        raise SystemExit(0)


def _environment(settings: Settings, config: Path | None) -> dict[str, str]:
    """Return the environment from which a process reads the same settings as we."""
    given = {name: str(getattr(settings, name)) for name in ("state_dir", "host_ip", "port")}
    found = {**os.environ, **{f"{PREFIX}{name.upper()}": value for name, value in given.items()}}
    return found | ({CONFIG_VARIABLE: str(config.absolute())} if config else {})


if __name__ == "__main__":
    raise SystemExit(main())
