"""The task that reads every counter each five seconds, so that rates can be told.

A round goes over the objects in slices, and the loop gets its turn between them: ten thousand
queues take it about 60 ms in all, of every five seconds. Objects beyond :data:`HISTORIES_MAX` have
a rate and no history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.http.request.host import Host
from reference_broker.http.rows import measures
from reference_broker.http.rows.series import BASIC, GLOBAL, RATE_ONLY, STEP_MS, Level, Series
from reference_broker.http.rows.totals import Totals

HISTORIES_MAX = 500
"""Objects with a history, of those that there are most of (queues, exchanges, connections and
channels): one in which everything moves all the time takes 110 KB."""

HISTORY_BYTES = 12_000
"""Accounted for each object with a history: one of the many in which little moves at a time."""

RATE_BYTES = 1_500
"""Accounted for each object without one: its last samples."""

SLICE_OBJECTS = 250
"""Objects that are read before the loop has its turn: about 2 ms of queues."""

SUM_OBJECTS = 500
"""Objects that are added up, or forgotten, before the loop has its turn."""

NODE = "node"
"""The key of the series of the process as a whole."""


class Sampler:
    """The series of all objects. ``run`` it as a task, or call ``round``."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._series: dict[object, Series] = {}
        self._round = 0
        self._at_ms = 0

    @property
    def held_bytes(self) -> int:
        """Accounted bytes of the samples."""
        histories = min(len(self._series), HISTORIES_MAX)
        return histories * HISTORY_BYTES + (len(self._series) - histories) * RATE_BYTES

    def series_of(self, subject: object) -> Series | None:
        """The history of a queue, exchange, connection, channel, virtual host, or of the broker;
        ``None`` before its first sample."""
        return self._series.get(subject)

    def forget(self) -> None:
        """Forget all samples: rates begin anew."""
        self._series.clear()

    async def run(self) -> None:
        """A round at every multiple of five seconds, until cancelled."""
        while True:
            _, wall_ms = self._host.now()
            await asyncio.sleep((STEP_MS - wall_ms % STEP_MS) / 1000)
            await self.round()

    async def round(self) -> None:
        """Take a sample of every object, and forget objects that are gone. Does nothing when the
        last round is not five seconds old."""
        _, wall_ms = self._host.now()
        at_ms = wall_ms // STEP_MS * STEP_MS
        if at_ms <= self._at_ms:
            return
        self._at_ms = at_ms
        self._round += 1
        totals = Totals(self._host.broker)
        await _in_slices(totals.read(), SUM_OBJECTS)
        for number, (subject, values, levels) in enumerate(self._measured(totals)):
            if number % SLICE_OBJECTS == SLICE_OBJECTS - 1:
                await asyncio.sleep(0)
            series = self._series.get(subject)
            if series is None:
                full = len(self._series) >= HISTORIES_MAX and levels is BASIC
                series = self._series[subject] = Series(RATE_ONLY if full else levels)
            series.round = self._round
            series.add(at_ms, values)
        await _in_slices(self._forget_gone(), SUM_OBJECTS)

    def _forget_gone(self) -> Iterator[None]:
        """Forget what this round has not seen."""
        for subject, series in list(self._series.items()):
            if series.round != self._round and self._series.get(subject) is series:
                del self._series[subject]
            yield

    def _measured(
        self, totals: Totals
    ) -> Iterator[tuple[object, measures.Values, tuple[Level, ...]]]:
        """Every object with its counters. The few that everybody looks at come first; the others
        are listed at once for each virtual host, and read when their turn comes."""
        broker = self._host.broker
        yield broker, measures.measured_broker(broker, totals), GLOBAL
        yield NODE, measures.measured_node(broker, self._host.node()), GLOBAL
        for vhost in list(broker.vhosts.values()):
            if vhost.name in totals.by_vhost:
                yield vhost, measures.measured_totals(totals.by_vhost[vhost.name]), GLOBAL
        for vhost in list(broker.vhosts.values()):
            for exchange in list(vhost.exchanges.values()):
                yield exchange, measures.measured_exchange(exchange), BASIC
            for queue in list(vhost.queues.values()):
                if not queue.is_elsewhere:
                    yield queue, measures.measured_queue(queue), BASIC
        for connection in list(broker.connections.values()):
            if connection.vhost is None:
                continue
            yield connection, measures.measured_connection(connection), BASIC
            for channel in list(connection.channels.values()):
                if channel.state is not ChannelState.CLOSED:
                    yield channel, measures.measured_channel(channel), BASIC


async def _in_slices(steps: Iterator[None], size: int) -> None:
    """Take all of the steps, ``size`` in each turn of the loop."""
    for number, _ in enumerate(steps, 1):
        if number % size == 0:
            await asyncio.sleep(0)
