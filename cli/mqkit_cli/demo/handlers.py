"""The demo's handlers: they fail as the plan says, and write down what they see."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from mqkit.message import Delivery
from mqkit.retry.headers import REPLAYS, count_of, failures_of
from mqkit.topology import QueueModel
from mqkit_cli.demo.faults import Faults, Verdict
from mqkit_cli.demo.journal import Event, Journal

Handler = Callable[[Delivery], Awaitable[None]]


class TransientFault(Exception):
    """Fails now, and will not when it is tried again."""


class BugInTheHandler(Exception):
    """Fails at every attempt, until somebody fixes the handler."""


@dataclass(slots=True)
class Bug:
    """The bug that some messages meet."""

    is_fixed: bool = False


def failing_handler(
    queue: QueueModel, numbers: Mapping[str, int], journal: Journal, bug: Bug
) -> Handler:
    """The handler of ``queue``: journal first, then return or raise.

    A message whose id the demo did not give is processed and written down like any other.
    """
    faults = Faults(queue.retry)

    async def handle(delivery: Delivery) -> None:
        identity = delivery.message_id or ""
        failures = failures_of(delivery.headers, queue.name)
        if count_of(delivery.headers, REPLAYS) and not failures:
            journal.write(Event.REPLAYED, queue.name, identity)
        number = numbers.get(identity)
        verdict = Verdict.PROCESS
        if number is not None:
            verdict = faults.judge(number, failures, bug_is_fixed=bug.is_fixed)
        match verdict:
            case Verdict.PROCESS:
                journal.write(Event.PROCESSED, queue.name, identity)
            case Verdict.FAIL_AND_RETRY:
                journal.write(Event.RETRIED, queue.name, identity)
                raise _fault(faults, number)
            case Verdict.FAIL_AND_PARK:
                journal.write(Event.PARKED, queue.name, identity)
                raise _fault(faults, number)

    return handle


def storing_handler(queue: str, journal: Journal) -> Handler:
    """The handler of the queue that the Spark job fills."""

    async def handle(delivery: Delivery) -> None:
        journal.write(Event.STORED, queue, delivery.message_id or "")

    return handle


def _fault(faults: Faults, number: int | None) -> Exception:
    if number is not None and faults.fails_for_ever(number):
        return BugInTheHandler(f"record {number} meets the demo's bug")
    return TransientFault(f"record {number} fails now and then")
