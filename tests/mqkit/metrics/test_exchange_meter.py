"""The outcomes of publishes, by exchange."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import pytest

from mqkit.errors import Closed
from mqkit.message import Message
from mqkit.metrics.exchange_meter import MeasuredPublisher, exchange_cells
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit.pool.publisher import OnOutcome

pytestmark = pytest.mark.anyio


class Scripted:
    """A publisher whose messages say what becomes of them, by their routing key."""

    OUTCOMES: dict[str, Outcome] = {  # noqa: RUF012 - never changed
        "ok": Confirmed(),
        "nowhere": Rejected(RejectReason.UNROUTABLE),
        "full": Rejected(RejectReason.NACKED),
        "lost": Unknown("the connection is lost"),
    }

    def tell(self, on_outcome: OnOutcome) -> None:
        self._on_outcome = on_outcome

    async def publish(self, message: Message, *terms: Any) -> Outcome:
        if message.routing_key == "closed":
            raise Closed("it is closed")
        outcome = self.OUTCOMES[message.routing_key]
        self._on_outcome(message, outcome, perf_counter())
        return outcome

    async def publish_batch(self, messages: Sequence[Message], *terms: Any) -> list[Outcome]:
        return [self.OUTCOMES[message.routing_key] for message in messages]


def messages(*places: tuple[str, str]) -> list[Message]:
    return [Message(exchange, key, b"") for exchange, key in places]


async def counted(together: bool, *places: tuple[str, str]) -> dict[str, tuple[int, ...]]:
    """Confirmed, unroutable, nacked, unknown, by exchange."""
    cells = exchange_cells()
    publisher = MeasuredPublisher(Scripted(), cells)
    if together:
        await publisher.publish_batch(messages(*places))
    else:
        for message in messages(*places):
            await publisher.publish(message)
    found: dict[str, tuple[int, ...]] = {}
    for name, cell in cells.items():
        values = cell.values(name)
        assert values.confirm_latency.count == values.confirmed
        assert sum(values.rejected.values()) == (
            values.rejected[RejectReason.UNROUTABLE] + values.rejected[RejectReason.NACKED]
        )
        found[name] = (
            values.confirmed,
            values.rejected[RejectReason.UNROUTABLE],
            values.rejected[RejectReason.NACKED],
            values.unknown,
        )
    return found


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "in a batch"])
async def test_outcomes_are_counted_by_exchange(together: bool) -> None:
    places = [
        *(("orders", "ok"), ("orders", "nowhere"), ("", "ok"), ("orders", "lost")),
        *(("orders", "ok"), ("", "full")),
    ]
    assert await counted(together, *places) == {"orders": (2, 1, 0, 1), "": (1, 0, 1, 0)}


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "in a batch"])
async def test_of_one_exchange_all_confirmed(together: bool) -> None:
    assert await counted(together, *[("orders", "ok")] * 7) == {"orders": (7, 0, 0, 0)}


async def test_an_empty_batch_counts_nothing() -> None:
    assert await counted(True) == {}


async def test_a_publish_that_raises_has_no_outcome() -> None:
    cells = exchange_cells()
    with pytest.raises(Closed):
        await MeasuredPublisher(Scripted(), cells).publish(Message("orders", "closed", b""))
    assert not cells
