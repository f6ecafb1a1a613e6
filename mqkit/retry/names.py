"""The names of the queues that a retry policy adds, and how to know them again.

``delays``            the queue that the application consumes
``delays.retry.5s``   one per tier: waits five seconds, then goes back to ``delays``
``delays.parked``     the parking lot of ``delays``

The duration is in the tier's name, so that a changed policy makes new queues and never collides
with the immutable TTL of an old one: what waits in an old tier still goes back to its queue.
"""

from __future__ import annotations

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import format_duration, parse_duration

PARKED = ".parked"
RETRY = ".retry."


def tier_name(queue: str, after_ms: int) -> str:
    """The queue in which a failed message of ``queue`` waits ``after_ms`` milliseconds."""
    return f"{queue}{RETRY}{format_duration(after_ms)}"


def parking_lot_name(queue: str) -> str:
    """The parking lot of ``queue``."""
    return f"{queue}{PARKED}"


def is_parking_lot(name: str) -> bool:
    """True if ``name`` has the form of a parking lot's name."""
    return name.endswith(PARKED) and len(name) > len(PARKED)


def owner_of_parking_lot(name: str) -> str | None:
    """The queue whose parking lot ``name`` is, or ``None`` if it has not the form of one."""
    return name.removesuffix(PARKED) if is_parking_lot(name) else None


def owner_of_tier(name: str) -> tuple[str, int] | None:
    """The queue and the milliseconds of a tier's name, or ``None`` if it has not the form of
    one."""
    queue, separator, duration = name.rpartition(RETRY)
    if not separator or not queue:
        return None
    try:
        after_ms = parse_duration(duration)
    except ConfigurationError:
        return None
    return (queue, after_ms) if tier_name(queue, after_ms) == name else None
