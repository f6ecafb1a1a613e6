"""Handlers of errands, one message at a time and in batches, and of questions."""

from __future__ import annotations

import asyncio
import time

import mqkit
from interop.chaos.application.errand import Deed, Errand
from interop.chaos.facts import FactsFile
from interop.chaos.layout import ASK, BATCHES, WORK
from interop.chaos.questions import Way, answer_of, complaint_of, way_of

CONCURRENCY = 4
TIMEOUT_S = 1.0
SLOW_S = 0.3
TOO_SLOW_S = 30.0
BATCH_SIZE = 20
BATCH_WITHIN_S = 0.05
QUESTIONS_AT_ONCE = 16
SLOW_ANSWER_S = 0.6


def register(app: mqkit.App, facts: FactsFile) -> None:
    """Register a consumer of each queue."""
    for queue in WORK:
        if queue in BATCHES:
            _register_batches(app, queue, facts)
        else:
            _register_errands(app, queue, facts)
    _register_questions(app, facts)


def _register_errands(app: mqkit.App, queue: str, facts: FactsFile) -> None:
    @app.consumer(queue, concurrency=CONCURRENCY, timeout=TIMEOUT_S)
    async def handle(errand: Errand, delivery: mqkit.Delivery) -> None:
        attempt = _attempt(delivery)
        facts.write("begin", id=errand.id, queue=queue, attempt=attempt)
        how = "cancelled"
        try:
            await _do(errand.deed, attempt)
            how = "done"
        except mqkit.Drop:
            how = "dropped"
            raise
        except Exception as error:
            how = f"raised {type(error).__name__}"
            raise
        finally:
            facts.write("end", id=errand.id, queue=queue, how=how)


async def _do(deed: Deed, attempt: int) -> None:
    is_first = attempt == 0
    match deed:
        case Deed.FAIL_ONCE if is_first:
            raise ValueError("not at the first attempt")
        case Deed.FAIL_ALWAYS:
            raise LookupError("never")
        case Deed.PARK:
            raise mqkit.Park("to be parked")
        case Deed.LATER if is_first:
            raise mqkit.RetryLater("100ms")
        case Deed.DROP:
            raise mqkit.Drop("to be dropped")
        case Deed.SLOW:
            await asyncio.sleep(SLOW_S)
        case Deed.TIME_OUT if is_first:
            await asyncio.sleep(TOO_SLOW_S)
        case Deed.CANCEL if is_first:
            waiting = asyncio.create_task(asyncio.sleep(TOO_SLOW_S))
            await asyncio.sleep(0)
            waiting.cancel()
            await waiting


def _register_batches(app: mqkit.App, queue: str, facts: FactsFile) -> None:
    @app.batch_consumer(queue, size=BATCH_SIZE, within=BATCH_WITHIN_S, timeout=TIMEOUT_S)
    async def handle(errands: mqkit.Batch[Errand]) -> None:
        entries = errands.entries
        attempts = [_attempt(entry.delivery) for entry in entries]
        for entry, attempt in zip(entries, attempts, strict=True):
            facts.write("begin", id=entry.value.id, queue=queue, attempt=attempt)
        if any(
            entry.value.deed is Deed.FAIL_ONCE and not attempt
            for entry, attempt in zip(entries, attempts, strict=True)
        ):
            for entry in entries:
                facts.write("end", id=entry.value.id, queue=queue, how="raised ValueError")
            raise ValueError("not at the first attempt: the whole batch")
        for entry, attempt in zip(entries, attempts, strict=True):
            match entry.value.deed:
                case Deed.PARK | Deed.FAIL_ALWAYS:
                    entry.park("to be parked")
                    how = "raised Park"
                case Deed.LATER if not attempt:
                    entry.retry("100ms")
                    how = "raised RetryLater"
                case Deed.DROP:
                    entry.drop("to be dropped")
                    how = "dropped"
                case _:
                    how = "done"
            facts.write("end", id=entry.value.id, queue=queue, how=how)


def _register_questions(app: mqkit.App, facts: FactsFile) -> None:
    @app.consumer(ASK, concurrency=QUESTIONS_AT_ONCE)
    async def handle(number: int, delivery: mqkit.Delivery) -> int:
        facts.write("question", number=number, wall_ms=time.time_ns() // 1_000_000)
        match way_of(number):
            case Way.RAISE:
                raise LookupError(complaint_of(number))
            case Way.PARK:
                raise mqkit.Park(complaint_of(number))
            case Way.LATER if not _attempt(delivery):
                raise mqkit.RetryLater("100ms")
            case Way.SLOW:
                await asyncio.sleep(SLOW_ANSWER_S)
        return answer_of(number)


def _attempt(delivery: mqkit.Delivery) -> int:
    attempt = delivery.headers.get("x-mqkit-attempt", 0)
    assert isinstance(attempt, int)
    return attempt
