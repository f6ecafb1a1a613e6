"""Consuming with handlers that settle their messages themselves."""

from __future__ import annotations

from functools import partial

from mqkit.consumer.acks.manual_delivery import (
    ManualDelivery,
    abandon,
    is_settled,
    settle_as,
    withdraw,
)
from mqkit.consumer.consumer import Consumer
from mqkit.consumer.settlement_steps import Arrival
from mqkit.errors import MqkitError, StaleDelivery
from mqkit.retry.signals import Unavailable


class NotSettled(MqkitError):
    """A handler returned without having settled its message. Counts as a failure like any other."""


class ManualConsumer(Consumer):
    """A consumer whose handlers take a :class:`~mqkit.ManualDelivery`."""

    async def attempt(self, arrival: Arrival) -> Unavailable | None:
        settler = self._settler
        delivery = ManualDelivery.of(arrival.delivery, partial(self._settle, arrival))
        try:
            raised = await self._outcome(delivery)
            if not await is_settled(delivery):
                if isinstance(raised, Unavailable):
                    withdraw(delivery)
                    return raised
                await settle_as(
                    delivery,
                    raised or NotSettled("the handler returned, and had not settled its message"),
                )
            elif raised is not None:
                settler.failed_too_late(delivery, raised)
        except StaleDelivery:
            return None  # counted where it was found out
        except BaseException:
            abandon(delivery)
            raise
        return None

    async def _settle(self, arrival: Arrival, raised: Exception | None) -> bool:
        if not arrival.channel.is_open:  # known before anything is published for it
            self._settler.stats.stale_acks += 1
            return False
        return await self._settler.settle(arrival, raised)
