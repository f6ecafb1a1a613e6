"""Handlers of one queue that carries several types of messages.

The type of a message is its ``type`` property, or a field of its JSON body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from mqkit.consumer.handler import AnyHandler
from mqkit.errors import ConfigurationError
from mqkit.message import Delivery
from mqkit.retry.signals import Park

NO_HANDLER = "no handler"
"""The reason with which a message that fits no handler is parked."""

TypeOf: TypeAlias = Callable[[Delivery], str | None]


class HandlersByType:
    """Takes the place of a :class:`~mqkit.consumer.handler.MessageHandler`.

    ``field`` is the field of the body that names the type; without it the property does.
    ``timeout_s`` is the time that each of the handlers has.
    """

    name = "by type"
    """One name for all of them: their messages are counted before their types are known."""
    takes_delivery = True
    """As far as is known: handlers come and go."""

    def __init__(
        self, queue: str, field: str | None = None, timeout_s: float | None = None
    ) -> None:
        self.timeout_s = timeout_s
        self._queue = queue
        self._type_of: TypeOf = _property if field is None else lambda d: _field(d, field)
        self._handlers: dict[str, AnyHandler] = {}

    def add(self, name: str, handler: AnyHandler) -> None:
        """Have ``handler`` called for the type ``name``. Raises
        :exc:`~mqkit.errors.ConfigurationError` for a type that has one."""
        if name in self._handlers:
            raise ConfigurationError(f"{self._queue} has a handler for the type {name!r} already")
        self._handlers[name] = handler

    def arguments(self, delivery: Delivery) -> tuple[object, ...]:
        """The handler to call, and its arguments. Raises :exc:`~mqkit.incoming.BodyMisfit`, and
        :exc:`~mqkit.retry.Park` where there is no handler for the type."""
        handler = self._handlers.get(self._type_of(delivery) or "")
        if handler is None:
            raise Park(NO_HANDLER)
        return (handler, *handler.arguments(delivery))

    async def __call__(self, *arguments: Any) -> object:
        """Call what :meth:`arguments` has given; see :meth:`MessageHandler.__call__`."""
        handler, *its_arguments = arguments
        return await handler(*its_arguments)


def _property(delivery: Delivery) -> str | None:
    return delivery.properties.type


def _field(delivery: Delivery, field: str) -> str | None:
    from mqkit.json_body.field import field_of

    value = field_of(delivery.body, field)
    return value if isinstance(value, str) else None
