"""Answers as messages: of a handler's value, of its error; and what a caller reads from one. Pure.

An answer is published without ``mandatory``: RabbitMQ returns a mandatory one that it has delivered
over direct reply-to. It is transient, for its caller's address ends with the caller's channel.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from mqkit.errors import RemoteError
from mqkit.incoming import Decode, decoder_of
from mqkit.message import Delivery, Message, Properties
from mqkit.publishing.outgoing import TEXT, encode
from mqkit.retry.headers import error_text, error_type
from mqkit.rpc.headers import ERROR_TYPE


def answer_to(question: Delivery, value: object) -> Message:
    """The answer ``value``. Raises :exc:`~mqkit.errors.ConfigurationError` for a value that can't
    be published (see :func:`mqkit.publishing.outgoing.encode`)."""
    body, content_type = encode(value)
    return _answer(question, body, content_type, {})


def failure_answer(question: Delivery, error: BaseException) -> Message:
    """The answer that ``error`` was raised: its type and text, at most 1 KiB, no traceback."""
    headers: dict[str, object] = {ERROR_TYPE: error_type(error)}
    return _answer(question, error_text(error).encode(), TEXT, headers)


def value_of(answer: Delivery, decode: Decode) -> Any:
    """The value that a handler returned. Raises :exc:`~mqkit.errors.RemoteError` for what it
    raised, and :exc:`~mqkit.incoming.BodyMisfit` where the value is not of the type asked for."""
    kind = answer.headers.get(ERROR_TYPE)
    if kind is not None:
        raise RemoteError(str(kind), answer.body.decode("utf-8", "replace"))
    return decode(answer)


def reply_decoder(reply: Any) -> Decode:
    """The decoder of answers that are to be a ``reply``, remembered for the next call. Raises
    :exc:`~mqkit.errors.ConfigurationError` for a type that can't be made from JSON."""
    try:
        return _remembered(reply)
    except TypeError:  # a type that can't be a key: Annotated, with something in it that can't
        return decoder_of(reply, "the call")


@lru_cache(maxsize=256)
def _remembered(reply: Any) -> Decode:
    return decoder_of(reply, "the call")


def _answer(
    question: Delivery, body: bytes, content_type: str, headers: dict[str, object]
) -> Message:
    asked = question.properties
    properties = Properties(
        content_type=content_type,
        headers=headers,
        persistent=False,
        correlation_id=asked.correlation_id,
        message_id=asked.message_id,
    )
    return Message("", asked.reply_to or "", body, properties, mandatory=False)
