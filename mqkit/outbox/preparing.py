"""A step before a message becomes a row, for all messages of this process: for tracing, which puts
the context of the caller into their headers (:func:`mqkit.otel.instrument_outbox`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from mqkit.errors import ConfigurationError
from mqkit.message import Message

Prepare: TypeAlias = Callable[[Message], Message]
"""Makes the message to write. Called on the thread of the caller; must not block or raise."""

_prepare: Prepare | None = None


def prepare_by(prepare: Prepare) -> Callable[[], None]:
    """Have every message prepared so, by all sessions of this process, until the returned function
    is called. Raises :exc:`~mqkit.errors.ConfigurationError` for a second one."""
    global _prepare
    if _prepare is not None:
        raise ConfigurationError("the outbox of this process is traced already")
    _prepare = prepare

    def undo() -> None:
        global _prepare
        if _prepare is prepare:
            _prepare = None

    return undo


def prepared(message: Message) -> Message:
    """The message to write."""
    return message if _prepare is None else _prepare(message)
