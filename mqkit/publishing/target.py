"""A target: an exchange and a routing key, and the type of what a program sends there.

    orders = app.to("orders", "order.paid", model=OrderPaid)

    await orders.publish(OrderPaid(id=7))                # any other type: an error, before it runs
    batch = [orders.message(paid) for paid in many]      # for app.publish_batch

It is made before the app runs, or while it does, and kept as long as the app.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any, Generic, Protocol, TypeVar, Unpack

from mqkit.errors import ConfigurationError
from mqkit.message import Message
from mqkit.outcome import Outcome
from mqkit.pool import WhenBlocked
from mqkit.publishing.message_options import MessageOptions, short_string
from mqkit.publishing.outgoing import outgoing
from mqkit.timing.seconds import Span

ValueT = TypeVar("ValueT", contravariant=True)


class Publish(Protocol):
    """See :meth:`mqkit.App.publish`."""

    def __call__(
        self,
        exchange: str,
        routing_key: str,
        body: object,
        *,
        message_id: str | None = None,
        headers: Mapping[str, Any] | None = None,
        deadline: Span | None = None,
        resend: bool = True,
        on_blocked: WhenBlocked | None = None,
        **options: Unpack[MessageOptions],
    ) -> Coroutine[Any, Any, Outcome]: ...


class Place(Generic[ValueT]):
    """An exchange and a routing key, for values of one type: what targets have in common.

    Raises :exc:`~mqkit.errors.ConfigurationError` for names that are no short strings, and for a
    ``model`` that is no class whose instances Python knows.
    """

    def __init__(
        self, exchange: str, routing_key: str, model: type[Any] | None, name: str | None
    ) -> None:
        self.exchange = _name("exchange", exchange)
        self.routing_key = _name("routing_key", routing_key)
        self._model: type[Any] = object if model is None else _checkable(model)
        """The class of all values: ``object`` is every value's."""
        if name is None and model is not None:
            name = model.__name__
        self.type = short_string("name", name)
        """The ``type`` property of messages that go there, if they get one."""

    def message(
        self,
        value: ValueT,
        *,
        message_id: str | None = None,
        headers: Mapping[str, Any] | None = None,
        **options: Unpack[MessageOptions],
    ) -> Message:
        """The message that a target's ``publish`` would publish of the same arguments, for
        :meth:`mqkit.App.publish_batch`.

        Raises :exc:`~mqkit.errors.ConfigurationError` for a value that is no instance of the model,
        and as :meth:`mqkit.App.publish`.
        """
        return outgoing(
            self.exchange,
            self.routing_key,
            self._checked(value),
            message_id=message_id,
            headers=headers,
            **self._typed(options),
        )

    def _checked(self, value: object) -> object:
        if not isinstance(value, self._model):
            raise ConfigurationError(
                f"the target {self.exchange!r}, {self.routing_key!r} takes"
                f" {self._model.__name__}, not {type(value).__name__}"
            )
        return value

    def _typed(self, options: MessageOptions) -> MessageOptions:
        """The options, with the target's type where the call gives none."""
        if self.type is not None and options.get("type") is None:
            options["type"] = self.type
        return options


class Target(Place[ValueT]):
    """Get one from :meth:`mqkit.App.to`. Raises as :class:`Place`."""

    def __init__(
        self,
        publish: Publish,
        exchange: str,
        routing_key: str,
        model: type[Any] | None,
        name: str | None,
    ) -> None:
        super().__init__(exchange, routing_key, model, name)
        self._publish = publish

    def publish(
        self,
        value: ValueT,
        *,
        message_id: str | None = None,
        headers: Mapping[str, Any] | None = None,
        deadline: Span | None = None,
        resend: bool = True,
        on_blocked: WhenBlocked | None = None,
        **options: Unpack[MessageOptions],
    ) -> Coroutine[Any, Any, Outcome]:
        """Publish one value: await it for the outcome. See :meth:`mqkit.App.publish`.

        Raises as that, and :exc:`~mqkit.errors.ConfigurationError` for a value that is no instance
        of the target's model: nothing was sent.
        """
        return self._publish(
            self.exchange,
            self.routing_key,
            self._checked(value),
            message_id=message_id,
            headers=headers,
            deadline=deadline,
            resend=resend,
            on_blocked=on_blocked,
            **self._typed(options),
        )


def _name(what: str, name: str) -> str:
    if not isinstance(name, str):
        raise ConfigurationError(f"{what}={name!r:.80}: expected a text")
    short_string(what, name)
    return name


def _checkable(model: type[Any]) -> type[Any]:
    try:
        isinstance(None, model)
    except TypeError:
        checkable = False
    else:
        checkable = isinstance(model, type)
    if not checkable:
        raise ConfigurationError(
            f"model={model!r:.80}: expected a class (leave it out where any value may go)"
        )
    return model
