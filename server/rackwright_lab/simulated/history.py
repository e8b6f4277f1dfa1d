# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What happened to a machine, in order: kept as JSON lines, and judged.

A line has ``at`` (seconds since the rack was started), ``what``, and facts. Memory is bounded: all but the last few
entries are on the disk alone.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Entry = dict[str, Any]

_REMEMBERED = 50


class History:
    """The history of one machine; each entry is on the disk when ``add`` returns."""

    def __init__(self, path: Path, begin: float) -> None:
        """Begin anew, in a file of its own; ``begin`` is a moment of ``time.monotonic``."""
        self._path, self._begin = path, begin
        self.last: deque[Entry] = deque(maxlen=_REMEMBERED)
        path.unlink(missing_ok=True)

    def add(self, what: str, **facts: Any) -> None:
        """Note that something happened."""
        entry = {"at": round(time.monotonic() - self._begin, 3), "what": what, **facts}
        self.last.append(entry)
        with self._path.open("a") as file:
            file.write(json.dumps(entry, separators=(",", ":")) + "\n")


def read(directory: Path) -> dict[str, list[Entry]]:
    """Return the histories in a rack's folder by machine, those of machines that nothing happened to left out."""
    folder = directory / "history"
    files = sorted(folder.glob("*.jsonl"))
    return {path.stem: [json.loads(line) for line in path.read_text().splitlines()] for path in files}


def check(directory: Path, *, images: int | None = 1, erased: bool = True) -> list[str]:
    """Return what is wrong with the histories in a rack's folder, a sentence each; nothing is wrong with good ones.

    No two operations may work on a machine at a time, a command may not be started twice, media may be ejected only
    while the power is off, no agent may run without a medium or a network that it came from, and none may be left in
    the drive when the disk's system starts.

    A deployment that failed may be tried again: an image that has never run may be written once more where it was,
    without an erasure, by an agent that came from another medium, as each operation has one of its own.

    Args:
        directory: the folder of the rack.
        images: how many images each machine must have got; it must run the last one. None: any number.
        erased: whether the disk must have been erased before each image.
    """
    found = []
    for name, entries in read(directory).items():
        rules: list[Callable[[Sequence[Entry]], Iterator[str]]] = [_alone, _once, _undisturbed, _media, _boots]
        if erased:
            rules.append(_erased)
        texts = [text for rule in rules for text in rule(entries)]
        if images is not None:
            texts += _images(entries, images)
        found += [f"{name}: {text}" for text in texts]
    return found


def _alone(entries: Sequence[Entry]) -> Iterator[str]:
    for entry in entries:
        if entry["what"] in _OVERLAPS:
            yield _told(entry, _OVERLAPS[entry["what"]].format_map(entry))


_OVERLAPS = {
    "busy": "{command} was sent while {running} ran",
    "overlap": "the reset {request} came while {other} was carried out",
}


def _once(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield the steps that one boot of an agent was told twice."""
    done: set[str] = set()
    for entry in entries:
        if entry["what"] == "agent starts":
            done = set()
        elif entry["what"] == "command begins" and not entry["quick"]:
            name = entry["step"] or entry["command"]
            if name in done:
                yield _told(entry, f"the agent was told {name} a second time")
            done.add(name)


def _undisturbed(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield the commands in whose middle the power went."""
    running = ""
    for entry in entries:
        if entry["what"] == "command begins" and not entry["quick"]:
            running = "" if entry["command"] in _ENDS_POWER else entry["step"] or entry["command"]
        elif entry["what"] in ("command ends", "agent dies"):
            running = ""
        elif entry["what"] == "power" and entry["state"] == "Off" and running:
            yield _told(entry, f"the power went while {running} ran")
            running = ""


_ENDS_POWER = ("standby.power_off", "standby.run_image")


def _media(entries: Sequence[Entry]) -> Iterator[str]:
    for entry in entries:
        if entry["what"] == "ejected" and entry["power"] != "Off":
            yield _told(entry, "a medium was ejected while the power was on")


def _boots(entries: Sequence[Entry]) -> Iterator[str]:
    source = ""
    for entry in entries:
        if entry["what"] == "boots":
            source = entry["from"]
            if source == "image" and entry["media"]:
                yield _told(entry, "the image was booted with a medium in the drive")
        elif entry["what"] == "agent starts" and source not in ("disc", "network"):
            yield _told(entry, "an agent ran that nothing had booted")


def _erased(entries: Sequence[Entry]) -> Iterator[str]:
    clean = False
    for entry in _without_retries(entries):
        if entry["what"] == "erased":
            clean = True
        elif entry["what"] == "image written":
            if not clean:
                yield _told(entry, "an image was written to a disk that had not been erased")
            clean = False


def _without_retries(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield all but the images that were written once more because their deployment had failed."""
    medium = None
    unused: tuple[str, str | None] | None = None  # the image that has not run yet, and what its agent came from
    for entry in entries:
        if entry["what"] == "boots":
            medium = entry.get("found")
        if entry["what"] == "image written":
            before, unused = unused, (entry["sum"], medium)
            if before and before[0] == entry["sum"] and before[1] != medium:
                continue
        elif entry["what"] == "erased" or (entry["what"] == "boots" and entry["from"] == "image"):
            unused = None
        yield entry


def _images(entries: Sequence[Entry], wanted: int) -> list[str]:
    written = [entry for entry in _without_retries(entries) if entry["what"] == "image written"]
    texts = [] if len(written) == wanted else [f"{len(written)} images were written, expected were {wanted}"]
    boots: Mapping[str, Any] = next((entry for entry in reversed(entries) if entry["what"] == "boots"), {})
    if wanted and boots.get("from") != "image":
        texts.append(f"it does not run its image but {boots.get('from', 'nothing')}")
    return texts


def _told(entry: Entry, text: str) -> str:
    return f"at {entry['at']:.3f} s {text}"
