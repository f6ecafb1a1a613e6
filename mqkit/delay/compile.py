"""One delay of an exchange as declarations: a fanout exchange, a queue with a fixed TTL, a binding.

Why a fanout exchange: the queue takes every message, whatever its routing key. Why the queue has no
dead-letter routing key: without one the broker routes the message on by the key that it came with,
so it reaches the queues that it would have reached at once. Why no length limit: what waits there
is a message that nobody else has.
"""

from __future__ import annotations

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.delay.names import delay_name


def compile_delay(exchange: str, delay_ms: int) -> tuple[Exchange, Queue, Binding]:
    """The objects in which a message for ``exchange`` waits ``delay_ms`` milliseconds."""
    name = delay_name(exchange, delay_ms)
    waits: dict[str, object] = {"x-message-ttl": delay_ms, "x-dead-letter-exchange": exchange}
    return Exchange(name, type="fanout"), Queue(name, arguments=waits), Binding(name, name)
