"""A long outage behind a proxy, by a clock that is handed in: attempts stay frequent, and the
client is ready again at the first one after its end."""

from __future__ import annotations

import asyncio

import pytest

from mqkit.settings import Settings
from mqkit.supervision.pauses import UNANSWERED_MAX_S
from mqkit.supervision.states import State
from mqkit.supervision.supervisor import Supervisor
from mqkit.testing.clock import FakeClock
from mqkit.testing.proxy import FaultyProxy
from mqkit.transport.choice import TRANSPORTS, chosen

pytestmark = pytest.mark.anyio

WAIT_S = 20.0
ATTEMPTS = 60


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_however_long_it_was_the_next_attempt_after_its_end_is_within_a_second(
    proxy: FaultyProxy, transport: str
) -> None:
    clock, settings = FakeClock(), Settings.load(urls=proxy.url)
    async with Supervisor(
        chosen(transport), settings.endpoints, settings, clock=clock, rng=lambda: 1.0
    ) as supervisor:
        async with asyncio.timeout(WAIT_S):
            await supervisor.wait_ready()
            proxy.refuse()
            proxy.cut()
            for attempt in range(ATTEMPTS):
                await clock.until_waiting(2)  # the next attempt, and the next reminder
                assert proxy.accepted == 2 + attempt
                clock.advance(UNANSWERED_MAX_S)
            await clock.until_waiting(2)
            assert supervisor.state is State.CONNECTING
            proxy.accept()
            clock.advance(UNANSWERED_MAX_S)
            await supervisor.wait_ready()
