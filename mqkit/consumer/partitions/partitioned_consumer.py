"""Consuming with order by key: one message of a key at a time, and others at once.

A retry waits here, unsettled, and holds back its key; in a tier the message would come after its
successors. What can't wait here any longer gives up its key: it is parked, with all that stands
behind it, in order, or given back where the queue has no parking lot.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import anyio
from anyio.abc import TaskGroup

from mqkit.consumer.consume_options import ConsumeOptions
from mqkit.consumer.consumer import Consumer
from mqkit.consumer.handler import AnyHandler
from mqkit.consumer.observing.attempts import AroundAttempts
from mqkit.consumer.observing.log_fields import log_fields
from mqkit.consumer.partitions.key import KeyOf
from mqkit.consumer.partitions.partitions import KeyedArrival, Partitions
from mqkit.consumer.rate.pace import Pace
from mqkit.consumer.settlement import Destination, Hold, Republish, Requeue
from mqkit.consumer.settlement_steps import Arrival, Settler
from mqkit.consumer.subscription import Link
from mqkit.retry.signals import Park, Unavailable
from mqkit.timing.clock import Clock

SHARE_OF_TIMEOUT = 4
"""A message waits here for a quarter of the broker's consumer timeout at most: those behind it wait
as long, and then for their own handlers."""

_LOG = logging.getLogger(__name__)


class KeyGivenUp(Park):
    """A message is parked for its key's sake: itself, or one before it, could not be waited for."""


class PartitionedConsumer(Consumer):
    """A consumer whose handlers get the messages of one key in order."""

    def __init__(
        self,
        queue: str,
        handler: AnyHandler,
        settler: Settler,
        link: Link,
        *,
        options: ConsumeOptions,
        concurrency: int,
        key_of: KeyOf,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(
            queue, handler, settler, link, options=options, concurrency=concurrency, clock=clock
        )
        self._key_of = key_of
        self._clock = clock or settler.clock
        self._partitions = Partitions()
        self._patience_s = self._broker_timeout_s / SHARE_OF_TIMEOUT
        # One key that waits must leave room for the others: behind it may stand half of what the
        # broker sends.
        self._behind_max = max(1, options.prefetch // 2)
        self._waits: TaskGroup | None = None
        self._ended = asyncio.Event()
        self._take_by(self._arrived)

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            self._waits = tasks
            await super().run()
            tasks.cancel_scope.cancel()

    def limit(self, pace: Pace) -> None:
        self._pace = pace

    def surround_attempts(self, around: AroundAttempts) -> None:
        super().surround_attempts(around)
        self._handle = around.message(self._handle)  # type: ignore[assignment]

    async def stop(self) -> None:
        self._gives_back = True
        self._ended.set()
        for held in self._partitions.take_held():
            await self._settler.give_back(held)
            self._finish(held)
        await super().stop()

    @property
    def patience_s(self) -> float:
        return super().patience_s + self._patience_s

    async def attempt(self, arrival: Arrival) -> Unavailable | None:
        """A probe: it was taken outside of the order, so that a retry goes back to its queue."""
        raised = await self._outcome(arrival.delivery)
        if isinstance(raised, Unavailable):
            return raised
        if raised is not None and _is_retry(self._settler, arrival, raised):
            await self._settler.requeue([arrival])
        else:
            await self._settler.settle(arrival, raised)
        return None

    # -- in order ----------------------------------------------------------------------------

    def _arrived(self, arrival: Arrival) -> None:
        problem: Exception | None = None
        key = None
        try:
            key = self._key_of(arrival.delivery)
            hash(key)
        except Exception as error:  # noqa: BLE001 - it is the program's function
            key, problem = None, error
        keyed = KeyedArrival(
            arrival.channel,
            arrival.delivery,
            key=key,
            at_s=self._clock.monotonic_s(),
            problem=problem,
        )
        if self._partitions.arrive(keyed):
            self._inbox.put_nowait(keyed)
        elif self._partitions.behind(key) > self._behind_max:
            held = self._partitions.held_for(key)
            if held is not None and self._waits is not None and self._partitions.due(held):
                why = KeyGivenUp("it waited for a retry, and too many messages of its key with it")
                self._waits.start_soon(self._give_up, held, why)

    def _next_unbegun(self) -> Arrival | None:
        if (behind := self._partitions.take_behind()) is not None:
            return behind
        first = super()._next_unbegun()
        if isinstance(first, KeyedArrival):
            self._finish(first)
        return first

    def _finish(self, arrival: KeyedArrival) -> None:
        following = self._partitions.finish(arrival)
        if following is not None:
            self._inbox.put_nowait(following)

    async def _work(self, place: int) -> None:
        self._workers_at[place] = asyncio.current_task()
        while (arrival := await self._inbox.get()) is not None:
            assert isinstance(arrival, KeyedArrival)
            if self._pace is not None:
                await self._pace.turn(self._ended)
            if not arrival.channel.is_open:
                self._settler.stats.stale_deliveries += 1
            elif self._gives_back or self._is_paused:
                await self._settler.give_back(arrival)
            else:
                self._at_hand[place] = arrival
                said = await self._handle(arrival)
                if isinstance(said, Unavailable):
                    await self._breaker.trip(arrival, said)
                self._at_hand[place] = None
                if said is False:
                    continue
            self._finish(arrival)

    async def _handle(self, arrival: KeyedArrival) -> Unavailable | bool:
        """Handle one message, and settle it unless the handler said ``Unavailable``, which is
        returned. False if it is held: it has no end yet."""
        raised = arrival.problem or await self._outcome(arrival.delivery)
        if isinstance(raised, Unavailable):
            return raised
        if raised is None or arrival.key is None:
            await self._settler.settle(arrival, raised)
            return True
        return await self._failed(arrival, raised)

    # -- retries -----------------------------------------------------------------------------

    async def _failed(self, arrival: KeyedArrival, raised: Exception) -> bool:
        settler = self._settler
        wait_s, again = _again(settler, arrival, raised)
        if again is None:
            await settler.settle(arrival, raised)
            return True
        if self._gives_back:
            await settler.give_back(arrival)
            return True
        waited_s = self._clock.monotonic_s() - arrival.at_s
        if waited_s + wait_s > self._patience_s:
            why = f"a retry in {wait_s:g} s would hold back its key for too long"
            await self._give_up_of(arrival, _in_place_of(raised, why))
            return True
        if self._partitions.behind(arrival.key) > self._behind_max:
            why = "too many messages of its key would wait with it"
            await self._give_up_of(arrival, _in_place_of(raised, why))
            return True
        hold = Hold(wait_s)
        if await settler.told_to_hold(arrival.delivery, raised, hold) is not hold:
            again = arrival  # a hook has raised: the same attempt again
        settler.stats.held += 1
        self._partitions.hold(again)
        assert self._waits is not None
        self._waits.start_soon(self._wait, again, wait_s)
        return False

    async def _wait(self, arrival: KeyedArrival, wait_s: float) -> None:
        try:
            async with self._clock.timeout(wait_s):
                await self._ended.wait()
        except TimeoutError:
            pass
        if self._partitions.due(arrival):
            self._inbox.put_nowait(arrival)

    async def _give_up(self, arrival: KeyedArrival, error: Exception) -> None:
        await self._give_up_of(arrival, error)
        self._finish(arrival)

    async def _give_up_of(self, first: KeyedArrival, error: Exception) -> None:
        """Park ``first`` and what stands behind it, in order; or give all of it back."""
        settler = self._settler
        settler.stats.keys_given_up += 1
        policy = settler.rules.policy
        behind = self._partitions.take_line(first.key)
        _LOG.warning(
            "%s: a key is given up, with %d messages behind the one that failed: %s",
            settler.rules.queue,
            len(behind),
            error,
            extra=log_fields(first.delivery, settler.rules.queue),
        )
        if policy is None:
            for arrival in (first, *behind):
                await settler.give_back(arrival)
            return
        await settler.settle(first, error)
        for arrival in behind:
            if policy.parks:
                why = KeyGivenUp("an earlier message of its key failed, and was not waited for")
                await settler.settle(arrival, why)
            else:
                await settler.give_back(arrival)


def _is_retry(settler: Settler, arrival: Arrival, raised: Exception) -> bool:
    match settler.settlement_of(arrival.delivery, raised):
        case Republish(to=Destination.TIER) | Requeue():
            return True
    return False


def _again(
    settler: Settler, arrival: KeyedArrival, raised: Exception
) -> tuple[float, KeyedArrival | None]:
    """The seconds to wait, and the message of the next attempt; ``None`` where there is none."""
    match settler.settlement_of(arrival.delivery, raised):
        case Republish(to=Destination.TIER, message=message, after_ms=after_ms):
            delivery = arrival.delivery
            properties = replace(delivery.properties, headers=message.properties.headers)
            return after_ms / 1000, replace(
                arrival, delivery=replace(delivery, properties=properties)
            )
        case Requeue():
            return arrival.pause_s, replace(arrival, pauses=arrival.pauses + 1)
    return 0.0, None


def _in_place_of(raised: Exception, why: str) -> KeyGivenUp:
    return KeyGivenUp(f"{type(raised).__name__}: {raised}; {why}")
