"""``Tracing``, by which spans are put around what an app does."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeAlias

from mqkit.consumer.observing.attempts import AroundAttempts
from mqkit.message import Message
from mqkit.middleware.surrounded_publisher import Publishes
from mqkit.transport.seam import Endpoint

Broker: TypeAlias = Callable[[], Endpoint | None]
"""The broker that a client is connected to; ``None`` while there is none."""

Call: TypeAlias = Callable[[Message, Any, float], Coroutine[Any, Any, Any]]
"""See :meth:`mqkit.rpc.caller.Caller.call`."""


class Tracing(Protocol):
    """Puts spans around publishes, calls and attempts: outside of all middleware. See
    :func:`mqkit.otel.instrument`."""

    def around_publisher(self, publisher: Publishes, broker: Broker) -> Publishes:
        """``publisher``, traced."""
        ...

    def around_call(self, call: Call, broker: Broker) -> Call:
        """``call``, traced."""
        ...

    def around_attempts(
        self, queue: str, broker: Broker, *, is_temporary: bool = False
    ) -> AroundAttempts:
        """Traces the attempts of one consumer of ``queue``."""
        ...
