"""A small script of events, to tell a checker what happened."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reference_broker.simulation.checkers import Checker
from reference_broker.simulation.events import Delivery, Message, Settlement


class Script:
    """Tells a checker of events, with the stamps and counts that a run would give them."""

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self.stamp = 0
        self._settled: dict[int, int] = {}

    def publish(
        self, number: int, *queues: str, session: int = 1, persistent: bool = True
    ) -> Message:
        settled = self._settled.get(session, 0)
        message = Message(number, session, queues or ("q",), persistent, settled)
        self.checker.published(message)
        return message

    def confirm(self, number: int, *queues: str, session: int = 1, persistent: bool = True) -> None:
        message = self.publish(number, *queues, session=session, persistent=persistent)
        self.checker.confirmed(message)

    def deliver(
        self,
        number: int,
        queue: str = "q",
        *,
        session: int = 1,
        redelivered: bool = False,
        alone: bool = False,
        prefetch: int = 0,
        sent: int | None = None,
    ) -> Delivery:
        self.stamp += 1
        stamp = self.stamp if sent is None else sent
        delivery = Delivery(number, queue, session, stamp, redelivered, alone, prefetch)
        self.checker.delivered(delivery)
        return delivery

    def settle(self, delivery: Delivery, how: Settlement = Settlement.ACK) -> None:
        self._settled[delivery.session] = self._settled.get(delivery.session, 0) + 1
        self.checker.settled(delivery, how)


@pytest.fixture
def script() -> Callable[[Checker], Script]:
    return Script
