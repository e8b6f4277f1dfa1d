# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Draw the fleet: again and again until q is pressed, or once.

The rest between two looks is at least nine times as long as the look took, so that many viewers of a large fleet do not
keep the API busy.
"""

from __future__ import annotations

import select
import sys
import termios
import time
import tty
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from rackwright.top.frame import Frame, look
from rackwright.top.service import Service, ServiceFailed

_REST = 9
_AROUND = 14  # lines of a screen that are no nodes
_FEWEST, _ONCE = 5, 50
_WHY = "why"
_FEWEST_OF_WHY = 30  # characters of a reason in a line
_GAP = 2  # characters between two columns
_LESS = ("target", "for", "does", "state", "at")
"""What a narrow screen goes without, the first one first, so that names stay whole."""
_NO_NEWS = "It is drawn again when the API answers."

_Columns = dict[str, list[str]]


def watch(environment: Mapping[str, str], *, once: bool, interval: float, rows: int | None) -> int:
    """Show the fleet; return the exit status. Raise ServiceFailed when the first look fails.

    ``rows`` is the most nodes that are shown of each kind; None: what fits. Without a terminal it is shown once.
    """
    service, console = Service(environment), Console()
    if once or not (sys.stdin.isatty() and console.is_terminal):
        console.print(drawn(look(service, rows=rows or _ONCE), console.width, whole=True))
        return 0
    frame, problem = look(service, rows=_fitting(console, rows)), ""
    with _keys(), Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            begin = time.monotonic()
            try:
                frame, problem = look(service, rows=_fitting(console, rows)), ""
            except ServiceFailed as error:
                problem = f"{error} {_NO_NEWS}"
            live.update(drawn(frame, console.width, problem=problem), refresh=True)
            if _pressed("q", max(interval, _REST * (time.monotonic() - begin))):
                return 0


def _fitting(console: Console, rows: int | None) -> int:
    return rows or max((console.height - _AROUND) // 2, _FEWEST)


@contextmanager
def _keys() -> Iterator[None]:
    """Read single keys inside, and do not show them."""
    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _pressed(key: str, seconds: float) -> bool:
    """Wait so long; tell, at once, when the key was pressed or the keyboard is gone."""
    end = time.monotonic() + seconds
    while (rest := end - time.monotonic()) > 0:
        if select.select([sys.stdin], [], [], rest)[0] and sys.stdin.read(1) in (key, ""):
            return True
    return False


def drawn(frame: Frame, width: int, *, problem: str = "", whole: bool = False) -> RenderableType:
    """Return a frame as rich draws it; ``whole``: with all of the reasons, however many lines they take."""
    parts: list[RenderableType] = [_head(frame), _states(frame)]
    if problem:
        parts.insert(0, Text(problem, style="bold red"))
    parts.append(_table("In flight", _flying(frame), width, whole=whole))
    parts.append(_table("Failed or in maintenance", _fallen(frame), width, whole=whole))
    return Group(*parts)


def _head(frame: Frame) -> Text:
    head = Text(f"{frame.endpoint}  {frame.at:%H:%M:%S} UTC  ", style="bold")
    head.append(f"{sum(frame.states.values())} nodes, {frame.maintenance} in maintenance  ")
    head.append("  ".join(f"{status} {count}" for status, count in sorted(frame.operations.items())), style="cyan")
    for host, alive in frame.conductors.items():
        head.append(f"  {host} {'alive' if alive else 'SILENT'}", style="green" if alive else "bold red")
    return head


def _states(frame: Frame) -> Text:
    return Text("  ".join(f"{state} {count}" for state, count in sorted(frame.states.items())), style="dim")


def _flying(frame: Frame) -> _Columns:
    each = frame.flying
    return {
        "node": [one.name for one in each],
        "state": [one.state for one in each],
        "target": [one.target for one in each],
        "step": [one.step for one in each],
        "at": [one.progress for one in each],
        "does": [one.activity for one in each],
        "for": [shown(one.activity_age) for one in each],
        "age": [shown(one.age) for one in each],
    }


def _fallen(frame: Frame) -> _Columns:
    each = frame.fallen
    return {
        "node": [one.name for one in each],
        "state": [one.state for one in each],
        "age": [shown(one.age) for one in each],
        _WHY: [one.error for one in each],
    }


def _table(title: str, columns: _Columns, width: int, *, whole: bool) -> Table:
    """Return a table of those columns for which there is room."""
    room = {name: _FEWEST_OF_WHY if name == _WHY else max(map(cell_len, (name, *columns[name]))) for name in columns}
    for name in _LESS:
        if sum(room.values()) + _GAP * (len(room) - 1) <= width:
            break
        room.pop(name, None)
    table = Table(title=title, title_justify="left", box=None, expand=True, pad_edge=False)
    for name in room:
        folds = whole and name == _WHY
        style, ratio = ("red", 1) if name == _WHY else ("", None)
        table.add_column(name, style=style, ratio=ratio, no_wrap=not folds, overflow="fold" if folds else "ellipsis")
    for cells in zip(*(columns[name] for name in room), strict=True):
        table.add_row(*map(Text, cells))
    return table


def shown(seconds: float | None) -> str:
    """Return a length of time in two units at most, as ``3m 20s``."""
    if seconds is None:
        return ""
    whole = int(seconds)
    for size, unit, below, small in ((86400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if whole >= size:
            return f"{whole // size}{unit} {whole % size // below}{small}"
    return f"{whole}s"
