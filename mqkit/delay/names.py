"""The names of what a delay of an exchange adds, and how to know them again.

``orders``            the exchange that the application publishes to
``orders.delay.5m``   a fanout exchange, and the queue behind it: waits five minutes, then goes on
                      to ``orders``
"""

from __future__ import annotations

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import format_duration, parse_duration

DELAY = ".delay."


def delay_name(exchange: str, delay_ms: int) -> str:
    """The fanout exchange, and the queue, of a message for ``exchange`` that waits ``delay_ms``
    milliseconds."""
    return f"{exchange}{DELAY}{format_duration(delay_ms)}"


def owner_of_delay(name: str) -> tuple[str, int] | None:
    """The exchange and the milliseconds of such a name, or ``None`` if it has not the form of
    one."""
    exchange, separator, duration = name.rpartition(DELAY)
    if not separator or not exchange:
        return None
    try:
        delay_ms = parse_duration(duration)
    except ConfigurationError:
        return None
    return (exchange, delay_ms) if delay_name(exchange, delay_ms) == name else None
