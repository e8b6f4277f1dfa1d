# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""References to data in the texts of inspection rules: ``{node.uuid}``, ``{inventory[cpu][count]}``, ``{item}``.

A reference is looked up in plain data, step by step; nothing is called, and what is put in is never looked at again.
The notation is that of format strings of Python, without format specifications. Source: ``contract/engine.md``
section 9.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rackwright.store.sealing import is_sealed, is_secret, mask_urls

_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_REFERENCE = re.compile(r"[A-Za-z_]\w*((\.[^.\[\]]+)|(\[[^\[\]]+\]))*")
_STEP = re.compile(r"\[([^\[\]]+)\]|([^.\[\]]+)")
_LONGEST = 64 * 1024
_MASK = "***"


class NoSuchData(Exception):
    """A reference leads nowhere."""


class TextTooLong(Exception):
    """A text became longer than 64 KiB when its references were replaced."""


@dataclass(frozen=True, slots=True)
class Words:
    """The data that references may name, and who may see its secrets.

    ``opened`` opens sealed secrets; None hides each text whose key speaks of a secret, and passwords in URLs.
    """

    data: Mapping[str, Any]
    opened: Callable[[dict[str, Any]], dict[str, Any]] | None = None

    def fill(self, value: Any, *, quote: Callable[[str], str] = str) -> Any:
        """Return the value with all references in its texts replaced, on every level; raise TextTooLong.

        A text with a reference that leads nowhere stays as it is. ``quote`` is applied to what is put in.
        """
        if isinstance(value, str):
            try:
                return self._filled(value, quote)
            except NoSuchData:
                return value
        if isinstance(value, list):
            return [self.fill(each, quote=quote) for each in value]
        if isinstance(value, dict):
            return {self.fill(key): self.fill(each, quote=quote) for key, each in value.items()}
        return value

    def whole(self, text: str) -> Any:
        """Return the data itself that a text with nothing but one reference names; raise NoSuchData."""
        if not is_whole(text):
            raise NoSuchData
        return self._lookup(text.strip()[1:-1])

    def _filled(self, text: str, quote: Callable[[str], str]) -> str:
        parts, end = [], 0
        for found in _PART.finditer(text):
            parts.append(text[end : found.start()])
            end = found.end()
            if found[0] in ("{{", "}}"):
                parts.append(found[0][0])
            elif found[1] is None:
                raise NoSuchData
            else:
                parts.append(quote(str(self._lookup(found[1]))))
        filled = "".join([*parts, text[end:]])
        if len(filled) > max(_LONGEST, len(text)):
            raise TextTooLong
        return filled

    def _lookup(self, reference: str) -> Any:
        if not _REFERENCE.fullmatch(reference):
            raise NoSuchData
        value, name = self.data, ""
        for found in _STEP.finditer(reference):
            name = found[1] or found[2]
            value = _child(value, name)
        return self._shown(value, name)

    def _shown(self, value: Any, name: str) -> Any:
        if is_sealed(value):
            return _MASK if self.opened is None else self.opened({name: value})[name]
        if isinstance(value, dict):
            return {key: self._shown(each, key) for key, each in value.items()}
        if isinstance(value, list):
            return [self._shown(each, name) for each in value]
        if self.opened is None and isinstance(value, str):
            return _MASK if is_secret(name) else mask_urls(value)
        return value


def is_whole(text: str) -> bool:
    """Return whether a text is nothing but one reference."""
    found = _PART.fullmatch(text.strip())
    return found is not None and found[1] is not None


def _child(value: Any, name: str) -> Any:
    if isinstance(value, Mapping) and name in value and not is_sealed(value):
        return value[name]
    if isinstance(value, list) and name.isascii() and name.isdigit() and int(name[:9]) < len(value):
        return value[int(name[:9])]
    raise NoSuchData
