"""The body of a delivery as a Python value, of the type that somebody asks for.

Delivery          the delivery itself, whichever kind of delivery it is
bytes             as it is
str               UTF-8
any other type    what pydantic makes of it as JSON
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from mqkit.errors import ConfigurationError, MqkitError
from mqkit.message import Delivery

Decode: TypeAlias = Callable[[Delivery], Any]

_FAULTS_SHOWN = 5
"""Faults of a body that an error names: the first few tell what is wrong with it."""


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
    try:
        adapter = TypeAdapter(annotation)
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise ConfigurationError(
            f"{asker} asks for {annotation!r}, which can't be made from JSON:"
            f" {str(error).splitlines()[0]}"
        ) from None
    return lambda delivery: _validated(adapter, delivery)


def _text(delivery: Delivery) -> str:
    try:
        return delivery.body.decode()
    except UnicodeDecodeError as error:
        raise BodyMisfit(f"not UTF-8 text: {error.reason} at byte {error.start}") from None


def _validated(adapter: TypeAdapter[Any], delivery: Delivery) -> Any:
    try:
        return adapter.validate_json(delivery.body)
    except ValidationError as error:
        # Without the input: this goes into logs, and the body may be nobody's business there.
        faults = error.errors(include_input=False, include_url=False, include_context=False)
        shown = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'body'}: {fault['msg']}"
            for fault in faults[:_FAULTS_SHOWN]
        )
        more = f"; and {len(faults) - _FAULTS_SHOWN} more" if len(faults) > _FAULTS_SHOWN else ""
        raise BodyMisfit(shown + more) from None
