"""``ManualDelivery``, the argument of a handler that settles its message itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any, TypeAlias

from mqkit.errors import ConfigurationError, StaleDelivery
from mqkit.message import Delivery
from mqkit.retry.duration import DurationText
from mqkit.retry.signals import Drop, Park, RetryLater

Settle: TypeAlias = Callable[[Exception | None], Coroutine[Any, Any, bool]]
"""Settles a message as if its handler had raised this (``None``: had returned). False if the
channel was gone, and the broker was told nothing."""


class ManualDelivery(Delivery):
    """A delivery that its handler settles: by one of :meth:`ack`, :meth:`retry`, :meth:`park` and
    :meth:`drop`, once.

    Each returns when it is done: a message that is retried or parked is confirmed in its new place
    and acked then. Each raises :exc:`~mqkit.errors.ConfigurationError`, and does nothing, if the
    message is settled already, and :exc:`~mqkit.errors.StaleDelivery` if the channel of the
    delivery is gone: the broker delivers the message again. A handler that is cancelled while it
    waits for one of them (for its timeout) has settled its message all the same.

    A handler that returns without any of them has failed, and its message is settled as for any
    other failure. What a handler raises when it has settled is logged and counted, no more.
    """

    __slots__ = ("_settle", "_settling")

    _settle: Settle
    _settling: asyncio.Future[bool] | None

    @classmethod
    def of(cls, delivery: Delivery, settle: Settle) -> ManualDelivery:
        """``delivery``, settled by ``settle``."""
        made = cls(
            delivery.exchange,
            delivery.routing_key,
            delivery.body,
            delivery.properties,
            delivery.delivery_tag,
            delivery.redelivered,
            delivery.consumer_tag,
        )
        object.__setattr__(made, "_settle", settle)
        object.__setattr__(made, "_settling", None)
        return made

    async def ack(self) -> None:
        """It is handled: the broker may forget it."""
        await settle_as(self, None)

    async def retry(
        self, after: DurationText | timedelta | None = None, reason: object = ""
    ) -> None:
        """Have it delivered again, as ``raise RetryLater(after, reason)`` would."""
        await settle_as(self, RetryLater(after, reason))

    async def park(self, reason: object = "") -> None:
        """Put it into the parking lot, as ``raise Park(reason)`` would."""
        await settle_as(self, Park(reason))

    async def drop(self, reason: object = "") -> None:
        """Ack it and keep nothing, as ``raise Drop(reason)`` would."""
        await settle_as(self, Drop(reason))


async def settle_as(delivery: ManualDelivery, raised: Exception | None) -> None:
    """Settle as if the handler had raised this. Raises as the methods of the delivery."""
    if delivery._settling is not None:
        raise ConfigurationError(
            f"message {delivery.message_id} is settled already: one of ack, retry, park and drop,"
            " once, and before its handler returns"
        )
    # A task of its own: a handler that is cancelled must not leave a message half settled.
    settling = asyncio.ensure_future(delivery._settle(raised))
    object.__setattr__(delivery, "_settling", settling)
    if not await asyncio.shield(settling):
        raise StaleDelivery(
            f"the channel of message {delivery.message_id} is gone;"
            " the broker will deliver it again"
        )


async def is_settled(delivery: ManualDelivery) -> bool:
    """True if the handler has settled it; returns when that is carried out."""
    if delivery._settling is None:
        return False
    await delivery._settling
    return True


def withdraw(delivery: ManualDelivery) -> None:
    """Its handler has ended without a word: whoever keeps it can't settle it any more."""
    withdrawn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    withdrawn.set_result(True)
    object.__setattr__(delivery, "_settling", withdrawn)


def abandon(delivery: ManualDelivery) -> None:
    """Break off a settling that is under way: the program ends without waiting for it."""
    if delivery._settling is not None:
        delivery._settling.cancel()
