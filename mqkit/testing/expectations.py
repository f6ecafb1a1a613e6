"""Messages as they should be, beside those that were there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from mqkit.errors import ConfigurationError
from mqkit.message import Delivery, Properties
from mqkit.publishing.outgoing import encode
from mqkit.testing.shown import SHOWN_MAX, line_of

VALUE_CHARACTERS_MAX = 200
"""Of a value that is told."""

PLACES = ("exchange", "routing_key")
"""The place that a message was published to: its original one, after retries too."""

_PROPERTIES = {each.name for each in fields(Properties)} - {"headers"}
_ANY: Any = object()


def assert_published(
    found: Delivery | Sequence[Delivery],
    body: object = _ANY,
    *,
    headers: Mapping[str, object] | None = None,
    **expected: object,
) -> Delivery:
    """Return the first of the messages that is as it should be, or raise ``AssertionError``, which
    tells of each of them what is different.

    Only what is given is compared. ``body``: bytes as they are, text, or what JSON can carry, with
    a pydantic model for its JSON. ``headers``: these, whatever others there are. ``expected``:
    ``exchange`` and ``routing_key``, and properties by their names (``type``, ``priority``). Raises
    :exc:`~mqkit.errors.ConfigurationError` for others.
    """
    if unknown := sorted(expected.keys() - _PROPERTIES - {*PLACES}):
        known = ", ".join(sorted({*PLACES, *_PROPERTIES}))
        raise ConfigurationError(f"{unknown[0]!r} is nothing that a message has (known: {known})")
    deliveries = [found] if isinstance(found, Delivery) else list(found)
    told: list[str] = []
    for each in deliveries:
        differences = list(_differences(each, body, headers or {}, expected))
        if not differences:
            return each
        told += ["\n  ", line_of(each), *(f"\n    {line}" for line in differences)]
        if len(told) > SHOWN_MAX * 10:
            told.append("\n  and so on")
            break
    there = f"of {len(deliveries)} messages none is" if deliveries else "there is no message"
    raise AssertionError(f"{there} as it should be{':' if told else ''}{''.join(told)}")


def _differences(
    delivery: Delivery, body: object, headers: Mapping[str, object], expected: Mapping[str, object]
) -> Iterator[str]:
    if body is not _ANY:
        yield from _compared("body", *_bodies(delivery, body))
    for name, value in headers.items():
        if name not in delivery.headers:
            yield f"header {name}: not there, {_short(value)} should be"
        else:
            yield from _compared(f"header {name}", delivery.headers[name], value)
    for name, value in expected.items():
        source = delivery if name in PLACES else delivery.properties
        yield from _compared(
            name, getattr(source, f"original_{name}" if name in PLACES else name), value
        )


def _bodies(delivery: Delivery, expected: object) -> tuple[object, object]:
    """The body that was there and the one that should be, as values that can be compared."""
    octets, _ = encode(expected)
    if isinstance(expected, (bytes, bytearray, memoryview)):
        return delivery.body, octets
    try:
        text = delivery.body.decode()
        if isinstance(expected, str):
            return text, expected
        return json.loads(text), json.loads(octets)
    except ValueError:
        return delivery.body, octets


def _compared(what: str, there: object, expected: object) -> Iterator[str]:
    if there != expected:
        yield f"{what}: {_short(there)}, {_short(expected)} should be"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= VALUE_CHARACTERS_MAX else f"{text[:VALUE_CHARACTERS_MAX]}..."
