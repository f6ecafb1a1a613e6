"""The client of a whole etcd: its members in turn, and a login."""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from reference_broker.runtime.etcd.config import Endpoint, EtcdConfig
from reference_broker.runtime.etcd.endpoints import Endpoints
from reference_broker.runtime.etcd.failures import Fate, GatewayFailure
from reference_broker.runtime.etcd.fields import Message
from reference_broker.runtime.etcd.gateway import Gateway
from reference_broker.runtime.etcd.login import Login
from reference_broker.runtime.etcd.request_counts import RequestCounts

_OF_ETCD = (Fate.REFUSED, Fate.FULL, Fate.COMPACTED)
"""Every member would say the same."""


class EtcdClient:
    """Asks whichever member answers. For one event loop; :meth:`close` it in the end. ``clock`` is
    the one by which requests are timed, in seconds."""

    def __init__(
        self,
        config: EtcdConfig,
        tls: ssl.SSLContext | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.counts = RequestCounts()
        """Of all requests but logins. Read only."""
        self._clock = clock
        self._gateway = Gateway(tls)
        self._login = Login(config, self._gateway)
        self.endpoints = Endpoints(config.endpoints)

    @property
    def ahead_s(self) -> float:
        """The clock of the member that answered last, less this machine's, in seconds: give or take
        one, and 0 where nobody knows."""
        return self._gateway.ahead_s

    async def ask(
        self,
        path: str,
        body: Mapping[str, Any],
        within_s: float,
        *,
        repeatable: bool = True,
        avoid: Endpoint | None = None,
    ) -> Message:
        """The answer of the first member that gives one; each has ``within_s`` seconds. Raises
        :exc:`GatewayFailure` if there is none.

        A request that may be carried out once only is not ``repeatable``: no other member gets it
        unless it certainly was not carried out. ``avoid`` is asked last.
        """
        began = self._clock()
        try:
            answer = await self._ask(path, body, within_s, repeatable=repeatable, avoid=avoid)
        except GatewayFailure:
            self.counts.add(path, self._clock() - began, failed=True)
            raise
        self.counts.add(path, self._clock() - began, failed=False)
        return answer

    async def _ask(
        self,
        path: str,
        body: Mapping[str, Any],
        within_s: float,
        *,
        repeatable: bool,
        avoid: Endpoint | None,
    ) -> Message:
        reasons = []
        for endpoint in self.endpoints.in_turn(avoid):
            try:
                answer = await self._ask_with_token(endpoint, path, body, within_s)
            except GatewayFailure as failure:
                if failure.fate in _OF_ETCD:
                    raise
                self.endpoints.failed(endpoint)
                reasons.append(failure.reason)
                if failure.fate is Fate.UNKNOWN and not repeatable:
                    raise GatewayFailure("; ".join(reasons), Fate.UNKNOWN) from None
                continue
            if avoid is None:
                self.endpoints.answered(endpoint)
            return answer
        raise GatewayFailure("; ".join(reasons), Fate.ELSEWHERE)

    @asynccontextmanager
    async def stream(
        self, endpoint: Endpoint, path: str, body: Mapping[str, Any]
    ) -> AsyncIterator[AsyncGenerator[bytes, None]]:
        """The chunks of a member's answer without an end, for the time of the block. Raises
        :exc:`GatewayFailure`; whatever goes wrong, the next stream logs in anew."""
        token = await self._login.token(endpoint)
        failed, began = True, self._clock()
        try:
            async with self._gateway.stream(endpoint, path, body, token) as chunks:
                yield chunks
            failed = False
        finally:
            self.counts.add(path, self._clock() - began, failed=failed)
            # A stream ends seldom, and some versions say "permission denied" of an old token.
            self._login.refused(token)

    async def close(self) -> None:
        """Close the connections. Idempotent."""
        await self._gateway.close()

    async def _ask_with_token(
        self, endpoint: Endpoint, path: str, body: Mapping[str, Any], within_s: float
    ) -> Message:
        token = await self._login.token(endpoint)
        try:
            return await self._gateway.ask(endpoint, path, body, token, within_s)
        except GatewayFailure as failure:
            if failure.fate is not Fate.TOKEN:
                raise
            self._login.refused(token)
        token = await self._login.token(endpoint)
        try:
            return await self._gateway.ask(endpoint, path, body, token, within_s)
        except GatewayFailure as failure:
            if failure.fate is not Fate.TOKEN:
                raise
            words = failure.reason if token else f"{failure.reason}: it wants a user and a password"
            raise GatewayFailure(words, Fate.REFUSED) from None
