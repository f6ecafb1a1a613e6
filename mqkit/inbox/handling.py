"""Handlers with an inbox around them: one of messages, and one of batches.

=====================================  ============================================================
the message                            its handler
=====================================  ============================================================
has a key that is not there            is called; key and work are committed together
has a key that is there                is not called: the message is acked, and counted
has a key that another delivery has    waits for that one's end (SQLite waits for a while, and then
in an open transaction                 the message is handled later)
has no key                             is not called and the message is parked, or is called all the
                                       same, as the inbox says
=====================================  ============================================================

A handler that raises takes its key along: the retry finds none. Of a batch, that goes for each
message which has an outcome of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from mqkit.consumer.batches.batch import Batch
from mqkit.consumer.batches.batch_handler import AnyBatchHandler
from mqkit.consumer.handler import AnyHandler
from mqkit.inbox.key import inbox_key
from mqkit.inbox.sessions import AnySession, at_the_database, run_in, transaction
from mqkit.inbox.taking import give_back, take
from mqkit.message import Delivery
from mqkit.retry.signals import Drop, Park

if TYPE_CHECKING:
    from mqkit.inbox.inbox import Inbox

NO_KEY = "no idempotency key and no message id, which the inbox knows a message by"
ANSWERED = "this question was handled before, and its answer is not kept"


class InboxHandler:
    """Takes the place of ``handler``, which is one of messages of ``consumer``."""

    takes_delivery = True

    def __init__(self, handler: AnyHandler, inbox: Inbox[Any], consumer: str) -> None:
        self._handler = handler
        self.name = handler.name
        self._inbox = inbox
        self._consumer = consumer

    @property
    def timeout_s(self) -> float | None:
        return self._handler.timeout_s

    def arguments(self, delivery: Delivery) -> tuple[Any, ...]:
        return (delivery, self._handler.arguments(delivery))

    async def __call__(self, *arguments: Any) -> object:
        delivery, own = arguments
        key = inbox_key(delivery)
        counts = self._inbox.counts
        if key is None:
            if self._inbox.parks_unkeyed:
                counts.refused += 1
                raise Park(NO_KEY)
            counts.unkeyed += 1
        async with self._inbox.turn(), transaction(self._inbox.sessions) as session:
            if key is not None and not await _taken(self._inbox, session, self._consumer, [key]):
                counts.known += 1
                if delivery.properties.reply_to is not None:
                    raise Drop(ANSWERED)
                return None
            with self._inbox.given(session):
                result = await self._handler(*own)
        counts.handled += key is not None
        await self._inbox.clean_if_due()
        return result


class InboxBatchHandler:
    """Takes the place of ``handler``, which is one of batches of ``consumer``."""

    def __init__(self, handler: AnyBatchHandler, inbox: Inbox[Any], consumer: str) -> None:
        self._handler = handler
        self.name = handler.name
        self._inbox = inbox
        self._consumer = consumer
        self.decode: Callable[[Delivery], Any] = handler.decode
        self.takes_deliveries = handler.takes_deliveries

    @property
    def timeout_s(self) -> float | None:
        return self._handler.timeout_s

    async def __call__(self, *arguments: Any) -> object:
        (batch,) = arguments
        keys = [inbox_key(delivery) for delivery in batch.deliveries]
        self._refuse(batch, keys)
        counts = self._inbox.counts
        async with self._inbox.turn(), transaction(self._inbox.sessions) as session:
            named = [key for key in keys if key is not None]
            taken = await _taken(self._inbox, session, self._consumer, named)
            places = _first_places(keys, taken, lets_through=not self._inbox.parks_unkeyed)
            if places:
                await self._handle(batch, places, keys, session)
        done = sum(keys[place] is not None and batch.raised[place] is None for place in places)
        counts.handled += done
        counts.known += len(named) - sum(keys[place] is not None for place in places)
        counts.unkeyed += sum(keys[place] is None for place in places)
        await self._inbox.clean_if_due()
        return None

    def _refuse(self, batch: Batch[Any], keys: Sequence[str | None]) -> None:
        if not self._inbox.parks_unkeyed:
            return
        for place, key in enumerate(keys):
            if key is None:
                self._inbox.counts.refused += 1
                batch.entries[place].park(NO_KEY)

    async def _handle(
        self,
        batch: Batch[Any],
        places: Sequence[int],
        keys: Sequence[str | None],
        session: AnySession,
    ) -> None:
        """Call the handler for the messages in ``places``, and give back the keys of those that it
        did not handle."""
        fresh = batch
        if len(places) < len(batch):
            of_these = [batch.deliveries[place] for place in places]
            fresh = Batch([batch[place] for place in places], of_these)
        with self._inbox.given(session):
            await self._handler(fresh)
        back: list[str] = []
        for place, raised in zip(places, fresh.raised, strict=True):
            if raised is None:
                continue
            if fresh is not batch:
                batch.entries[place].fail(raised)
            if (key := keys[place]) is not None:
                back.append(key)
        if back:
            await at_the_database(
                run_in(session, partial(give_back, consumer=self._consumer, keys=back))
            )


async def _taken(
    inbox: Inbox[Any], session: AnySession, consumer: str, keys: Sequence[str]
) -> set[str]:
    work = partial(take, consumer=consumer, keys=keys, now=inbox.now())
    return await at_the_database(run_in(session, work))


def _first_places(keys: Sequence[str | None], taken: set[str], *, lets_through: bool) -> list[int]:
    """The places of the messages to handle: of those with one key the first."""
    places: list[int] = []
    left = set(taken)
    for place, key in enumerate(keys):
        if key is None:
            if lets_through:
                places.append(place)
        elif key in left:
            left.remove(key)
            places.append(place)
    return places
