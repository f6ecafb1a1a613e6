"""Steps as YAML, and back::

    format: 1
    steps:
    - {at: 0ms, do: nack, publish: 2, struck: true}
    - {at: 10s, do: cancel_consumers, queue: "orders", found: 1}
    - {at: 1m, do: advance}

Each error is one line with the file and the line in it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import format_duration, parse_duration
from mqkit.testing.scenario.step import STEPS_MAX, Step
from mqkit.testing.scenario.verbs import VERBS, Argument, Seen
from mqkit.topology.file.document import (
    MAX_DOCUMENT_BYTES,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    parse_document,
)

FORMAT = 1
"""The only one so far. A file of another is refused, and not guessed at."""

_HEAD = """\
# The faults of a broker in a test, at their moments of the test's clock, as they were recorded.
# Again: await broker.replay("{name}")
"""


def text_of(steps: Sequence[Step], name: str) -> str:
    """The text of a file of that name."""
    return "".join(
        (_HEAD.format(name=name), f"format: {FORMAT}\n")
        + (("steps:\n", *map(_line_of, steps)) if steps else ("steps: []\n",))
    )


def _line_of(step: Step) -> str:
    parts: dict[str, object] = {**step.arguments, "found": step.found, "struck": step.struck}
    said = "".join(
        f", {name}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in parts.items()
        if value is not None
    )
    return f"- {{at: {format_duration(step.at_ms)}, do: {step.verb}{said}}}\n"


def read(path: Path) -> list[Step]:
    """The steps of a file. Raises :exc:`~mqkit.errors.ConfigurationError`."""
    try:
        with path.open("rb") as file:
            octets = file.read(MAX_DOCUMENT_BYTES + 1)
        text = octets.decode()
    except OSError as error:
        raise ConfigurationError(f"{path} can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is no text in UTF-8") from None
    return _Reader(path).steps(text)


class _Reader:
    """Reads one file, and knows its name for errors."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def steps(self, text: str) -> list[Step]:
        """Raises :exc:`~mqkit.errors.ConfigurationError`."""
        root, faults = parse_document(text if text.strip() else "{}")
        if faults:
            self._refuse(faults[0].line, faults[0].message)
        parts = self._mapping(root, 1, "a scenario")
        form = parts.pop("format", None)
        if form is None:
            self._refuse(1, f"no scenario: it has no format (expected format: {FORMAT})")
        number = self._number(form, "format", 1)
        if number != FORMAT:
            self._refuse(
                form.line, f"format {number} is newer than this mqkit, which reads {FORMAT}"
            )
        listed = parts.pop("steps", None)
        for name, node in parts.items():
            self._refuse(node.line, f"{name!r} is no part of a scenario (format, steps)")
        if not isinstance(listed, SequenceNode):
            self._refuse(form.line, "expected a list of steps: after the format")
        if len(listed.items) > STEPS_MAX:
            self._refuse(listed.line, f"a scenario has at most {STEPS_MAX} steps")
        steps: list[Step] = []
        for node in listed.items:
            steps.append(self._step(node, steps[-1].at_ms if steps else 0))
        return steps

    def _step(self, node: Node, not_before_ms: int) -> Step:
        parts = self._mapping(node, node.line, "a step")
        verb = self._text(parts.pop("do", None), "do", node.line)
        if verb not in VERBS:
            self._refuse(node.line, f"there is no verb {verb!r} (there are {', '.join(VERBS)})")
        at_ms = self._moment(parts.pop("at", None), node.line)
        if at_ms < not_before_ms:
            before = format_duration(not_before_ms)
            self._refuse(node.line, f"it is before the step above it, which is at {before}")
        known = VERBS[verb]
        arguments = {
            name: value
            for name, argument in known.arguments.items()
            if (value := self._argument(parts.pop(name, None), name, argument, node.line))
            is not None
        }
        found = struck = None
        if known.seen is not None and (seen := parts.pop(known.seen.value, None)) is not None:
            if known.seen is Seen.FOUND:
                found = self._number(seen, known.seen, 0)
            else:
                struck = self._flag(seen, known.seen)
        for name, wrong in parts.items():
            takes = ", ".join(["at", *known.arguments, *([known.seen] if known.seen else [])])
            self._refuse(wrong.line, f"{verb} takes no {name!r} (it takes {takes})")
        return Step(at_ms, verb, arguments, found, struck)

    def _argument(
        self, node: Node | None, name: str, argument: Argument, line: int
    ) -> int | str | None:
        if argument.least is None:
            return self._text(node, name, line)
        return argument.default if node is None else self._number(node, name, argument.least)

    # -- values ------------------------------------------------------------------------------

    def _mapping(self, node: Node | None, line: int, what: str) -> dict[str, Node]:
        if not isinstance(node, MappingNode):
            self._refuse(line, f"{what} is a mapping")
        return {entry.key: entry.value for entry in node.entries}

    def _moment(self, node: Node | None, line: int) -> int:
        text = self._text(node, "at", line)
        try:
            return parse_duration(text)
        except ConfigurationError as error:
            self._refuse(line, f"at: {error}")

    def _text(self, node: Node | None, name: str, line: int) -> str:
        if not isinstance(node, ScalarNode) or not node.text:
            self._refuse(line, f"expected {name}: and a text")
        return node.text

    def _number(self, node: Node, name: str, least: int) -> int:
        value = node.value if isinstance(node, ScalarNode) else None
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            self._refuse(node.line, f"{name}: expected a whole number from {least} on")
        return value

    def _flag(self, node: Node, name: str) -> bool:
        value = node.value if isinstance(node, ScalarNode) else None
        if not isinstance(value, bool):
            self._refuse(node.line, f"{name}: expected true or false")
        return value

    def _refuse(self, line: int, message: str) -> NoReturn:
        raise ConfigurationError(f"{self._path}:{line}: {message}")


def write(path: Path, steps: Sequence[Step]) -> None:
    """Write a new file. Raises :exc:`~mqkit.errors.ConfigurationError` where there is one."""
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text_of(steps, path.name))
    except FileExistsError:
        raise ConfigurationError(taken(path)) from None
    except OSError as error:
        raise ConfigurationError(f"{path} can't be written: {error.strerror}") from None


def taken(path: Path) -> str:
    """The words for a file that is there already."""
    return f"{path} is there already, and no recording is replaced: delete it, or take another name"
