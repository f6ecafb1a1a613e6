"""A watch: a stream of one member of etcd, until it ends, is closed, or is silent for too long."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from functools import partial

from reference_broker.cluster.coordinator import News, WatchEnded
from reference_broker.runtime.etcd.client import EtcdClient
from reference_broker.runtime.etcd.config import Endpoint
from reference_broker.runtime.etcd.failures import Fate, GatewayFailure
from reference_broker.runtime.etcd.fields import BadAnswer, header_revision
from reference_broker.runtime.etcd.inputs import Inputs
from reference_broker.runtime.etcd.json_lines import JsonLines, TooLong
from reference_broker.runtime.etcd.pages import revision_request
from reference_broker.runtime.etcd.watch_messages import WatchMessages, watch_request
from reference_broker.runtime.etcd.watch_silence import PATIENCE, WatchSilence

OPEN_TIMEOUT_S = 3.0
"""Seconds until etcd says that it watches; it reads nothing before that."""

COMPARE_TIMEOUT_S = 2.0
"""Seconds for the read that a watch is compared with; one that fails decides nothing."""

TURN_NEWS_MAX = 100
"""News handed over in one turn of the loop: a watch that was away gets thousands at once."""

_log = logging.getLogger(__name__)


class EtcdWatch:
    """One watch, which begins at once in the running loop. Whoever has it is told of its end, and
    watches again."""

    def __init__(
        self,
        client: EtcdClient,
        inputs: Inputs,
        prefix: str,
        after: int,
        tell: Callable[[News], None],
        compare_every_s: float,
    ) -> None:
        self._client = client
        self._inputs = inputs
        self._prefix = prefix
        self._after = after
        self._tell = tell
        self._compare_every_s = compare_every_s
        self._messages = WatchMessages(after)
        self._closed = False
        self.task = asyncio.create_task(self._run(), name=f"watch of {prefix}")

    def close(self) -> None:
        """Be told nothing more. Idempotent."""
        self._closed = True
        self.task.cancel()

    def _hand_over(self, news: News) -> None:
        self._inputs.give(partial(self._tell_unless_closed, news))

    def _tell_unless_closed(self, news: News) -> None:
        if not self._closed:
            self._tell(news)

    async def _run(self) -> None:
        try:
            ended = await self._until_its_end()
        except Exception:  # noqa: BLE001 - whoever watches hears of it, whatever it is
            _log.exception("a watch is over")
            ended = WatchEnded("an error of the client of etcd; see the log")
        self._hand_over(ended)

    async def _until_its_end(self) -> WatchEnded:
        reasons = []
        for endpoint in self._client.endpoints.in_turn():
            try:
                return await self._at(endpoint)
            except TooLong as error:
                # It would come again: only reading anew leads past it.
                return WatchEnded(f"etcd at {endpoint}: {error}", compacted=True)
            except BadAnswer as error:
                reasons.append(f"etcd at {endpoint}: {error}")
            except GatewayFailure as failure:
                reasons.append(failure.reason)
            self._client.endpoints.failed(endpoint)
            if self._messages.is_open:
                break
        return WatchEnded("; ".join(reasons))

    async def _at(self, endpoint: Endpoint) -> WatchEnded:
        """Watch at one member. Raises :exc:`GatewayFailure` and :exc:`BadAnswer`."""
        both = (
            asyncio.create_task(self._read(endpoint)),
            asyncio.create_task(self._compare(endpoint)),
        )
        try:
            ended, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            return ended.pop().result()
        finally:
            for each in both:
                each.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def _read(self, endpoint: Endpoint) -> WatchEnded:
        request = watch_request(self._prefix, self._after)
        lines = JsonLines()
        try:
            async with (
                asyncio.timeout(OPEN_TIMEOUT_S) as opening,
                self._client.stream(endpoint, "/v3/watch", request) as chunks,
                aclosing(chunks),
            ):
                async for chunk in chunks:
                    for message in lines.feed(chunk):
                        ended = await self._hand_over_all(self._messages.news(message))
                        if ended is not None:
                            return ended._replace(reason=f"etcd at {endpoint}: {ended.reason}")
                        if self._messages.is_open:
                            opening.reschedule(None)
        except TimeoutError:
            reason = f"etcd at {endpoint}: no watch within {OPEN_TIMEOUT_S:g} s"
            raise GatewayFailure(reason, Fate.UNKNOWN) from None
        raise GatewayFailure(f"etcd at {endpoint}: it ended the watch", Fate.UNKNOWN)

    async def _hand_over_all(self, news: list[News]) -> WatchEnded | None:
        """Hand over what is told, in portions, up to the end of the watch."""
        for number, each in enumerate(news, 1):
            if isinstance(each, WatchEnded):
                return each
            self._hand_over(each)
            if number % TURN_NEWS_MAX == 0:
                await asyncio.sleep(0)
        return None

    async def _compare(self, endpoint: Endpoint) -> WatchEnded:
        """Return when the watch is dead, or is one of a store that lacks what was told."""
        now = asyncio.get_running_loop().time
        silence = WatchSilence(PATIENCE * self._compare_every_s)
        while True:
            told = self._messages.told
            store = await self._store_revision(endpoint)
            if store is not None and store < told:
                reason = f"etcd at {endpoint}: its revision has gone back from {told} to {store}"
                return WatchEnded(reason, compacted=True)
            if store is not None and silence.is_dead(now(), store, self._messages.told):
                self._client.endpoints.failed(endpoint)
                return WatchEnded(
                    f"etcd at {endpoint} is silent at revision {self._messages.told}, and the store"
                    f" was at {store}"
                )
            await asyncio.sleep(self._compare_every_s)

    async def _store_revision(self, endpoint: Endpoint) -> int | None:
        """The revision at another member; ``None`` while nobody knows better."""
        request = revision_request(self._prefix)
        try:
            answer = await self._client.ask(
                "/v3/kv/range", request, COMPARE_TIMEOUT_S, avoid=endpoint
            )
            return header_revision(answer)
        except (GatewayFailure, BadAnswer):
            return None
