"""``TracedApp``: the tracing of one app (:class:`mqkit.middleware.Tracing`)."""

from __future__ import annotations

from mqkit.consumer.observing.attempts import AroundAttempts
from mqkit.middleware.surrounded_publisher import Publishes
from mqkit.middleware.tracing import Broker, Call
from mqkit.otel.attempts import TracedAttempts
from mqkit.otel.operations import Beginnings
from mqkit.otel.sending import SendSpans, TracedCall, TracedPublisher
from mqkit.otel.tracing import Tracing


class TracedApp:
    """By ``tracing``, each time that the app is entered."""

    def __init__(self, tracing: Tracing) -> None:
        self._tracing = tracing

    def around_publisher(self, publisher: Publishes, broker: Broker) -> Publishes:
        """See :class:`mqkit.middleware.Tracing`."""
        return TracedPublisher(publisher, SendSpans(self._tracing, broker))

    def around_call(self, call: Call, broker: Broker) -> Call:
        """See :class:`mqkit.middleware.Tracing`."""
        return TracedCall(call, SendSpans(self._tracing, broker))

    def around_attempts(
        self, queue: str, broker: Broker, *, is_temporary: bool = False
    ) -> AroundAttempts:
        """See :class:`mqkit.middleware.Tracing`."""
        return TracedAttempts(self._tracing, Beginnings(broker), queue, is_temporary=is_temporary)
