"""A question and its answer, as octets of a link.

question   a JSON object: {"kind": ..., "arguments": {...}}
answer     a JSON object on one line, and then octets of whatever the kind has
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from reference_broker.cluster.link.asks import ASK_BYTES_MAX
from reference_broker.cluster.link.frame import Buffer
from reference_broker.cluster.link.lane import MESSAGE_BYTES_MAX, Lane
from reference_broker.errors import Corrupt

HEAD_BYTES_MAX = 64 * 1024
"""Octets of an answer's first line."""

BODY_BYTES_MAX = MESSAGE_BYTES_MAX[Lane.ASK] - 2 * HEAD_BYTES_MAX
"""Octets that may follow it."""


class Question(NamedTuple):
    """A question. ``arguments`` are what JSON can say."""

    kind: str
    arguments: dict[str, Any]


class Answer(NamedTuple):
    """An answer. ``head`` is what JSON can say."""

    head: dict[str, Any]
    body: bytes


class TooLong(Exception):
    """The question, or the answer, is more than goes over a link."""


def encode_question(question: Question) -> bytes:
    """The octets of a question. Raises :exc:`TooLong`."""
    octets = json.dumps(question._asdict(), separators=(",", ":")).encode()
    if len(octets) > ASK_BYTES_MAX:
        raise TooLong(f"a question of {len(octets)} octets")
    return octets


def decode_question(octets: memoryview) -> Question:
    """The question in these octets. Raises :exc:`Corrupt`."""
    found = _object(bytes(octets), "a question")
    kind, arguments = found.get("kind"), found.get("arguments")
    if not isinstance(kind, str) or not isinstance(arguments, dict):
        raise Corrupt("a question without its kind or arguments")
    return Question(kind, arguments)


def encode_answer(answer: Answer) -> Sequence[Buffer]:
    """The buffers of an answer. Raises :exc:`TooLong`."""
    head = json.dumps(answer.head, separators=(",", ":")).encode()
    if len(head) > HEAD_BYTES_MAX or len(answer.body) > BODY_BYTES_MAX:
        raise TooLong(f"an answer of {len(head)} and {len(answer.body)} octets")
    return (head + b"\n", answer.body)


def decode_answer(payload: memoryview) -> Answer:
    """The answer in a payload, which may be let go then. Raises :exc:`Corrupt`."""
    head, _, body = bytes(payload).partition(b"\n")
    return Answer(_object(head, "an answer"), body)


def _object(octets: bytes, what: str) -> dict[str, Any]:
    try:
        found = json.loads(octets)
    except (ValueError, RecursionError) as error:
        raise Corrupt(f"{what} that is no JSON: {error!r}") from error
    if not isinstance(found, dict):
        raise Corrupt(f"{what} that is no object")
    return found
