# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The error in which every operation of this collection ends when it fails."""

from __future__ import annotations


class OperationError(Exception):
    """An operation failed: what was attempted, why it failed, and what to do next.

    ``attempted`` is a phrase that goes on from "Failed to"; ``cause`` and ``action`` are sentences. None of them may
    hold a secret: they go into logs, events and the API. ``kind`` says in a word what kind of error of a BMC it is, for
    counting: it is empty for all other errors.
    """

    def __init__(self, attempted: str, cause: str, action: str, *, kind: str = "") -> None:
        self.attempted = attempted
        self.cause = cause
        self.action = action
        self.kind = kind
        super().__init__(f"Failed to {attempted}: {_sentence(cause)} {_sentence(action)}")


class NotOfferedError(OperationError):
    """The machine or its BMC does not offer what was asked for: the request is wrong, and repeating it is of no use."""


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."
