# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The tree of errors: drawn as it is, each class with a message that its facts fill."""

import inspect
import re
import string
from collections.abc import Iterator

import pytest

from rackwright.domain import errors
from rackwright.domain.errors import Invalid, NodeLocked, NotFound, RackwrightError


def family(root: type[RackwrightError]) -> Iterator[type[RackwrightError]]:
    """Yield the classes of this room; others have children of their own."""
    yield root
    for child in root.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from family(child)


@pytest.mark.parametrize("kind", list(family(RackwrightError)), ids=lambda kind: kind.__name__)
def test_each_default_message_is_filled_from_the_facts(kind: type[RackwrightError]) -> None:
    template = inspect.getdoc(kind) or ""
    names = {name for _, name, _, _ in string.Formatter().parse(template) if name}
    error = kind(**{name: f"<{name}>" for name in names})
    assert str(error) == error.message == re.sub(r"{(\w+)}", r"<\1>", template)
    assert error.facts == {name: f"<{name}>" for name in names}
    assert ("\n" not in error.message and error.message[0].isupper()) or error.message.startswith("<")


def test_a_ready_message_is_taken_as_it_is() -> None:
    assert str(Invalid("{braces} of a user stay")) == "{braces} of a user stay"


def test_facts_of_a_user_are_never_templates() -> None:
    assert str(NotFound(what="Node", ident="{what}")) == "Node {what} could not be found."


def test_a_missing_fact_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(KeyError):
        NodeLocked(node="n1")


def test_the_drawing_shows_each_class_below_its_base() -> None:
    drawn: dict[str, str] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"    ([│├└─ ]*)(\w+)", line):
            depth = len(found[1]) // 4
            path[depth:] = [found[2]]
            if depth and found[2] != "one":
                drawn[found[2]] = path[depth - 1]
    real = {kind.__name__: kind.__base__.__name__ for kind in family(RackwrightError) if kind.__base__}
    resources = {kind.__name__ for kind in family(NotFound)} - {"NotFound"}
    expected = {name: base for name, base in real.items() if name not in resources | {"RackwrightError"}}
    assert drawn == expected
