"""The order in which rows are published, and what ends a chain."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mqkit.errors import Closed, ConfigurationError
from mqkit.message import Message
from mqkit.outbox.sending import send_rows
from mqkit.outbox.stored import columns_of
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown

pytestmark = pytest.mark.anyio


def row(number: int, key: str | None, **columns: Any) -> dict[str, Any]:
    message = Message("", "orders", str(number).encode())
    return {"id": number, **columns_of(message, key), **columns}


class Broker:
    """Confirms what it is told to, when it is told to."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.answers: dict[int, Outcome | Exception] = {}
        self.gates: dict[int, asyncio.Event] = {}
        self.four = asyncio.Event()

    async def send(self, message: Message, *, deadline: Any = None) -> Outcome:
        number = int(message.body)
        self.sent.append(number)
        if len(self.sent) == 4:
            self.four.set()
        if number in self.gates:
            await self.gates[number].wait()
        answer = self.answers.get(number, Confirmed())
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_a_message_goes_when_the_one_before_it_of_its_key_is_confirmed() -> None:
    broker = Broker()
    broker.gates[1] = asyncio.Event()
    rows = [row(1, "a"), row(2, "a"), row(3, "b"), row(4, None), row(5, None)]
    sending = asyncio.create_task(send_rows(broker, rows, 5.0))
    await broker.four.wait()
    assert sorted(broker.sent) == [1, 3, 4, 5]
    broker.gates[1].set()
    assert set(await sending) == {1, 2, 3, 4, 5}
    assert broker.sent[-1] == 2


@pytest.mark.parametrize(
    "answer", [Rejected(RejectReason.UNROUTABLE), Rejected(RejectReason.NACKED), Unknown("late")]
)
async def test_what_is_not_confirmed_ends_its_chain_and_no_other(answer: Outcome) -> None:
    broker = Broker()
    broker.answers[1] = answer
    outcomes = await send_rows(broker, [row(1, "a"), row(2, "a"), row(3, "b"), row(4, None)], 5.0)
    assert outcomes == {1: answer, 3: Confirmed(), 4: Confirmed()}


async def test_errors_are_outcomes_but_for_the_end_of_the_app() -> None:
    broker = Broker()
    broker.answers = {1: ConfigurationError("no such header"), 2: RuntimeError("middleware")}
    rows = [row(1, "a"), row(2, "b"), row(3, "c", properties={"colour": "red"})]
    outcomes = await send_rows(broker, rows, 5.0)
    first, second, third = (outcomes[number] for number in (1, 2, 3))
    assert isinstance(first, Rejected)
    assert first.reason is RejectReason.REFUSED
    assert isinstance(second, Unknown)
    assert isinstance(third, Rejected)
    assert "colour" in third.detail
    broker.answers = {1: Closed("over")}
    with pytest.raises(Closed):
        await send_rows(broker, rows, 5.0)
