"""The retry policies that the queues of a live broker may come from. Pure.

A broker knows tiers and lots by their names alone: those of old, and those that a file gives. A
policy that parks nowhere is never guessed, for it loses what has used up its retries: only a file
says ``then: drop``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mqkit.declaration import Queue
from mqkit.errors import ConfigurationError
from mqkit.retry.names import BY_FORM, RetryNames
from mqkit.retry.policy import MAX_TIERS, RetryPolicy
from mqkit.retry.then import Then


def live_policies(
    queue: str, live: Mapping[str, Queue], said: RetryPolicy | None
) -> Iterator[RetryPolicy]:
    """The policies that ``queue`` may have by the names of ``live`` queues, the likeliest first.

    ``said`` is what a file says of it, if there is one. Each has to be proved by compiling it.
    """
    if said is not None:
        yield said
        yield from _by_names(queue, live, said.names, said.then)
    if said is None or said.names != BY_FORM:
        yield from _by_names(queue, live, BY_FORM, Then.PARK)


def _by_names(
    queue: str, live: Mapping[str, Queue], names: RetryNames, then: Then
) -> Iterator[RetryPolicy]:
    found = {_waiting_time(queue, name, live[name], names) for name in live}
    after = sorted(after_ms for after_ms in found if after_ms is not None)
    if not 1 <= len(after) <= MAX_TIERS or (then is Then.PARK and names.lot(queue) not in live):
        return
    try:
        yield RetryPolicy(tuple(after), then, names=names)
    except ConfigurationError:  # names that speak of no policy that anybody can have
        return


def _waiting_time(queue: str, name: str, found: Queue, names: RetryNames) -> int | None:
    """The waiting time of the queue ``name`` as a tier of ``queue``; ``None`` if it is none."""
    if names.tiers != name:
        return names.after_of(queue, name)
    ttl = found.arguments.get("x-message-ttl")
    return ttl if isinstance(ttl, int) and not isinstance(ttl, bool) else None
