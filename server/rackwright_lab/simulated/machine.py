# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A simulated machine: power, what it boots from, what is on its disk, and what runs on it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import aiohttp

from rackwright_lab.errors import LabError
from rackwright_lab.simulated.disc import disc_parameters, script_parameters
from rackwright_lab.simulated.faults import MachineFaults
from rackwright_lab.simulated.history import History
from rackwright_lab.simulated.options import SimulatedOptions

ON, OFF = "On", "Off"
_TRIES, _REST = 120, 1.0  # to fetch what is booted, and seconds between two: BMCs read on when a server returns
_IGNORED = "boot-override-accepted-but-ignored"


class Software(Protocol):
    """What a machine has booted and what ends with its power."""

    def end(self) -> None:
        """Vanish."""


Booted = Callable[["Machine", Mapping[str, str]], Software]


@dataclass
class Boot:
    """The boot override, in Redfish's words."""

    target: str = "None"
    enabled: str = "Disabled"
    mode: str = "UEFI"
    uri: str | None = None

    def take(self) -> str:
        """Return what this boot starts from; an override for once is over then."""
        target = "None" if self.enabled == "Disabled" else self.target
        if self.enabled == "Once":
            self.target, self.enabled = "None", "Disabled"
        return target


@dataclass
class Surroundings:
    """What the machines of a rack share."""

    options: SimulatedOptions
    client: aiohttp.ClientSession
    boot_agent: Booted
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Have some work done, and keep it until it is."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task


class Machine:
    """A machine, switched off and with an empty disk at first."""

    def __init__(self, number: int, around: Surroundings, faults: MachineFaults, history: History) -> None:
        """Describe a machine; machines are counted from 1."""
        self.number, self.name = number, f"node-{number}"
        self.uuid = str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{self.name}.simulated"))
        self.mac = "52:54:" + number.to_bytes(4, "big").hex(":")
        self.around, self.faults, self.history = around, faults, history
        self.power = OFF
        self.boot = Boot()
        self.media: dict[str, str | None] = {"Cd": None, "Usb": None}
        self.image: str | None = None
        self.secure_boot = False
        self.firmware = "1.0"
        self.bios: dict[str, Any] = {"Cores": 4, "Turbo": True, "Mode": "A"}
        self.pending_bios: dict[str, Any] = {}
        self.version = 1  # of all that its BMC shows; an ETag is made of it
        self.running: Software | None = None
        self._changing: asyncio.Task[None] | None = None
        self._kind = ""  # of the reset that goes on
        self._told = ""
        self._booting: asyncio.Task[None] | None = None

    def changed(self) -> None:
        """Let the BMC's resources have other ETags from now on."""
        self.version += 1

    def reset(self, kind: str) -> None:
        """Do what a ResetType asks for, after the time that power takes."""
        self.history.add("reset", kind=kind, power=self.power)
        if kind == "Nmi":
            return
        if self._changing is not None and not self._changing.done():
            if kind != self._kind and not {kind, self._kind} <= set(_CUTS):
                self.history.add("overlap", request=kind, other=self._kind)
            self._changing.cancel()
        self._kind = kind
        self._changing = self.around.start(self._change(kind))

    def tell_power(self) -> None:
        """Note that the BMC shows the power state, where it showed another one before."""
        if self._told != self.power:
            self._told = self.power
            self.history.add("power told", state=self.power)

    async def _change(self, kind: str) -> None:
        names = ("power-slow", "vmedia-ejected-under-running-ramdisk")
        late = self.faults.strikes(*names) if kind in _CUTS else None
        if late is not None:
            self.history.add("fault", fault=late.rule.fault)
        await asyncio.sleep(late.seconds if late else self.around.options.power)
        if kind in _CUTS and self.power == ON:
            if self.faults.strikes("power-stays-on"):
                self.history.add("fault", fault="power-stays-on")
                return
            self.switch_off()
        if kind in _STARTS and self.power == OFF:
            if kind in _CUTS:
                await asyncio.sleep(self.around.options.power)
            self.switch_on()

    def switch_off(self) -> None:
        """Be off now."""
        self._stop()
        self.power = OFF
        self.changed()
        self.history.add("power", state=OFF)

    def switch_on(self) -> None:
        """Be on now, and boot."""
        self.power = ON
        self.changed()
        self.history.add("power", state=ON)
        self._booting = self.around.start(self._boot())

    def restart(self) -> None:
        """Boot again without losing power."""
        self._stop()
        self.history.add("restart")
        self._booting = self.around.start(self._boot())

    def _stop(self) -> None:
        if self._booting is not None:
            self._booting.cancel()
            self._booting = None
        if self.running is not None:
            self.running.end()
            self.running = None

    def insert(self, drive: str, url: str) -> None:
        """Put a medium into a drive."""
        self.media[drive] = url
        self.changed()
        self.history.add("inserted", drive=drive, url=url, power=self.power)

    def eject(self, drive: str) -> None:
        """Take the medium out of a drive, if there is one."""
        if self.media[drive] is None:
            return
        if self.faults.strikes("media-stays"):
            self.history.add("fault", fault="media-stays")
            return
        self.history.add("ejected", drive=drive, url=self.media[drive], power=self.power)
        self.media[drive] = None
        self.changed()

    async def _boot(self) -> None:
        await asyncio.sleep(self.around.options.boot)
        if self.pending_bios:
            good = {name: value for name, value in self.pending_bios.items() if _is_possible(name, value)}
            self.bios, self.pending_bios = {**self.bios, **good}, {}
        target = self.boot.take()
        self.changed()
        if self.faults.strikes("boot-fails"):
            self._booted("nothing", "boot-fails")
            return
        if self.faults.strikes(_IGNORED):
            self.history.add("fault", fault=_IGNORED)
            target = "Hdd"
        try:
            await self._start(target)
        except (LabError, aiohttp.ClientError, TimeoutError) as error:
            self._booted("nothing", str(error) or type(error).__name__)

    async def _start(self, target: str) -> None:
        client, script = self.around.client, self.around.options.network_boot
        drives = {"Cd": self.media["Cd"], "Usb": self.media["Usb"], "UefiHttp": self.boot.uri}
        if url := drives.get(target):
            parameters = await _persistently(partial(disc_parameters, client, url))
            self._booted("disc", url)
        elif target == "Pxe" and script:
            parameters = await _persistently(partial(script_parameters, client, script))
            self._booted("network", script)
        else:
            self._booted("image" if self.image else "nothing", self.image or "the disk is empty")
            return
        self.running = self.around.boot_agent(self, parameters)

    def _booted(self, source: str, what: str) -> None:
        media = [url for url in self.media.values() if url]
        self.history.add("boots", **{"from": source, "found": what, "media": media})


_CUTS = ("ForceOff", "GracefulShutdown", "ForceRestart", "GracefulRestart", "PowerCycle", "PushPowerButton")
_STARTS = ("On", "ForceOn", "ForceRestart", "GracefulRestart", "PowerCycle")


async def _persistently(read: Callable[[], Awaitable[Mapping[str, str]]]) -> Mapping[str, str]:
    """Read over the network, again and again for a while when nobody listens at the other end."""
    for _attempt in range(_TRIES - 1):
        try:
            return await read()
        except aiohttp.ClientConnectionError:
            await asyncio.sleep(_REST)
    return await read()


def _is_possible(name: str, value: Any) -> bool:
    match name:
        case "Cores":
            return 1 <= int(value) <= 64
        case "Mode":
            return value in ("A", "B")
        case _:
            return True
