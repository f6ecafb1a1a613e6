"""A target of a synchronous app: an exchange and a routing key, and the type of what goes there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from mqkit.outcome import Outcome
from mqkit.pool.terms import WhenBlocked
from mqkit.publishing.message_options import MessageOptions
from mqkit.publishing.target import Place
from mqkit.timing.seconds import Span

if TYPE_CHECKING:
    from mqkit.sync.app import App

ValueT = TypeVar("ValueT", contravariant=True)


class Target(Place[ValueT]):
    """Get one from :meth:`mqkit.sync.App.to <mqkit.sync.app.App.to>`. Raises as
    :class:`~mqkit.Target`."""

    def __init__(
        self,
        app: App,
        exchange: str,
        routing_key: str,
        model: type[Any] | None,
        name: str | None,
    ) -> None:
        super().__init__(exchange, routing_key, model, name)
        self._app = app

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
    ) -> Outcome:
        """Publish one value, and return what came of it. As the app's own ``publish``; raises as
        that, and :exc:`~mqkit.errors.ConfigurationError` for a value that is no instance of the
        target's model: nothing was sent."""
        return self._app.publish(
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
