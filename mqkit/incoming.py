"""The body of a delivery as a Python value, of the type that somebody asks for.

Delivery          the delivery itself, whichever kind of delivery it is
bytes             as it is
str               UTF-8
any other type    what pydantic makes of it as JSON
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from mqkit.errors import MqkitError
from mqkit.message import Delivery

Decode: TypeAlias = Callable[[Delivery], Any]


class BodyMisfit(MqkitError):
    """A body does not fit the type that is asked for. Trying again can't help, so a handler's
    message is parked."""


def decoder_of(annotation: Any, asker: str) -> Decode:
    """A decoder from a delivery to a value of the type. The decoder raises :exc:`BodyMisfit`.

    Raises :exc:`~mqkit.errors.ConfigurationError`, in which ``asker`` asks for the type, for one
    that JSON has no way to.
    """
    if isinstance(annotation, type) and issubclass(annotation, Delivery):
        return lambda delivery: delivery
    if annotation is bytes:
        return lambda delivery: delivery.body
    if annotation is str:
        return _text
    from mqkit.json_body.decoder import json_decoder  # which brings pydantic

    return json_decoder(annotation, asker)


def _text(delivery: Delivery) -> str:
    try:
        return delivery.body.decode()
    except UnicodeDecodeError as error:
        raise BodyMisfit(f"not UTF-8 text: {error.reason} at byte {error.start}") from None
