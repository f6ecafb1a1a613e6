"""The notification service on the virtual clock: nine minutes of retries in a moment."""

import pytest

from mqkit.testing import assert_published

pytestmark = [pytest.mark.anyio, pytest.mark.mqkit_app("service:app")]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_what_has_no_address_is_parked(mqkit_app, mqkit_broker, mqkit_clock):
    await mqkit_app.publish("", "email-queue", {"to": "nobody"})
    await mqkit_clock.advance(519)
    assert await mqkit_broker.queue("email-dlq").depth() == 0
    await mqkit_clock.advance("1s")
    parked = await mqkit_broker.queue("email-dlq").one()
    assert_published(parked, {"to": "nobody"}, headers={"x-mqkit-attempt": 6})
