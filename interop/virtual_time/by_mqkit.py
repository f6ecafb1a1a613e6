"""A round by mqkit: its retry tiers, its timeout of handlers, its delays."""

from __future__ import annotations

import asyncio

import mqkit
from interop.virtual_time import plot
from mqkit import Delivery
from mqkit.testing.application import running
from mqkit.testing.in_process.vhost import ReferenceBroker
from mqkit.topology import Topology, loads

TOPOLOGY = f"""
exchanges:
  {plot.LATER}: {{type: {plot.EXCHANGE_TYPE}, arguments: {{x-delayed-type: direct}}}}
queues:
  {plot.WORK}:
    retry: {{after: [{", ".join(f"{each}s" for each in plot.TIERS_S)}], park: {plot.PARKED}}}
  {plot.PARKED}: {{}}
  {plot.SLOW}:
    retry: {{after: [1d], park: {plot.SLOW}.parked}}
  {plot.SLOW}.parked: {{}}
  {plot.SHORT}: {{dead_letter: {{exchange: "", key: {plot.EXPIRED}}}}}
  {plot.EXPIRED}: {{}}
  {plot.DELAYED}:
    bind: [{{from: {plot.LATER}, key: {plot.DELAYED}}}]
"""


def round_by_mqkit(broker: ReferenceBroker, transport: str = "native") -> tuple[plot.Happened, ...]:
    """Play one round on an empty virtual host."""
    return asyncio.run(_round(broker, loads(TOPOLOGY), transport))


async def _round(
    broker: ReferenceBroker, topology: Topology, transport: str
) -> tuple[plot.Happened, ...]:
    clock = broker.clock
    notes = plot.Notes(clock.monotonic_s)
    app = mqkit.App(topology=topology, clock=clock, transport=transport)
    slow = app.queue(plot.SLOW)

    @app.consumer(plot.WORK)
    async def fail(delivery: Delivery) -> None:
        notes.note("attempt")
        raise ValueError("always")

    @app.consumer(plot.SLOW, timeout=plot.LIMIT_S)
    async def hang(delivery: Delivery) -> None:
        notes.note("slow begins")
        await asyncio.Event().wait()

    @slow.on_retry
    async def gave_up(delivery: Delivery, error: BaseException) -> None:
        assert isinstance(error, TimeoutError)
        notes.note("slow is given up")

    for queue, name in ((plot.PARKED, "parked"), (plot.EXPIRED, "expired"), (plot.DELAYED,) * 2):
        _note(app, notes, queue, name)
    async with running(app, broker):
        await app.publish("", plot.WORK, "x")
        await app.publish("", plot.SLOW, "x")
        await app.publish("", plot.SHORT, "x", expiration=plot.EXPIRES_S)
        await app.publish(plot.LATER, plot.DELAYED, "x", delay=plot.DELAY_S)
        await clock.advance(plot.FIRST_PART_S, holding=1)
        await clock.advance(plot.SECOND_PART_S, holding=1)
    return notes.in_order()


def _note(app: mqkit.App, notes: plot.Notes, queue: str, name: str) -> None:
    @app.consumer(queue)
    async def note(delivery: Delivery) -> None:
        notes.note(name)
