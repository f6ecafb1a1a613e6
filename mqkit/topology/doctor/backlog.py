"""Queues of a live broker that fill up: at their limit, or with nobody who takes messages out."""

from __future__ import annotations

from collections.abc import Iterator

from mqkit.declaration import Queue
from mqkit.retry.names import parking_lot_name
from mqkit.topology.doctor.finding import Check, Finding, Kind, Mend
from mqkit.topology.doctor.mending import Mending
from mqkit.topology.wiring.arguments import target_of
from mqkit.topology.wiring.counts import counted
from mqkit.topology.wiring.wiring import Wiring

LIMIT_KEYS = ("max_length", "overflow", "arguments")
DROP_HEAD = "drop-head"


def check_backlog(wiring: Wiring, mending: Mending) -> Iterator[Finding]:
    """Says nothing about a queue whose counts the broker has not gathered yet."""
    for queue in wiring.queues.values():
        yield from _full(queue, wiring, mending)
        yield from _unconsumed(queue, wiring, mending)


def _full(queue: Queue, wiring: Wiring, mending: Mending) -> Iterator[Finding]:
    limit = queue.arguments.get("x-max-length")
    messages = wiring.messages_in(queue.name)
    drops = queue.arguments.get("x-overflow", DROP_HEAD) == DROP_HEAD
    if not isinstance(limit, int) or messages is None or messages < limit or not drops:
        return
    if target_of(queue.arguments) is not None:
        return
    why = f"it is at its limit of {limit}: each new message drops the oldest, for good"
    lot = parking_lot_name(queue.name)
    definition = {"dead-letter-exchange": "", "dead-letter-routing-key": lot}
    mend = Mend(mending.declare(Queue(lot), policy=("queues", queue.name, definition)))
    yield _finding(Check.QUEUE_FULL, queue, why, mend, LIMIT_KEYS, messages)


def _unconsumed(queue: Queue, wiring: Wiring, mending: Mending) -> Iterator[Finding]:
    """Parts wait without a consumer by design, and so does a queue whose TTL ends in a dead
    letter. A stream keeps what it has."""
    arguments = queue.arguments
    messages = wiring.messages_in(queue.name)
    waits = "x-message-ttl" in arguments and target_of(arguments) is not None
    if (
        not messages
        or wiring.consumers_of(queue.name) != 0
        or queue.name in wiring.parts
        or waits
        or arguments.get("x-queue-type") == "stream"
    ):
        return
    why = f"{counted(messages, 'message')}, and no consumer: start what should take them"
    mend = Mend(mending.peek(queue.name))
    yield _finding(Check.QUEUE_UNCONSUMED, queue, why, mend, (), messages)


def _finding(
    check: Check, queue: Queue, why: str, mend: Mend, keys: tuple[str, ...], messages: int
) -> Finding:
    return Finding(check, Kind.QUEUE, queue.name, why, mend, keys, messages)
